"""A site's protocol: its grid and timing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from notears_pfl.acquisition import slice_times


@dataclass(frozen=True)
class Protocol:
    """One site's BOLD and T1w acquisition, reduced in space."""

    repetition_time: float
    n_volumes: int
    slice_times: np.ndarray
    shape: tuple[int, int, int]
    voxel_mm: np.ndarray
    t1w_voxel_mm: np.ndarray
    reduction: float


def site_protocol(site: Mapping[str, Any], reduction: float) -> Protocol:
    """Read the protocol off a row of the sites table, voxels ``reduction`` times larger."""
    n_slices, in_plane = round(site["n_slices"] / reduction), round(site["matrix"] / reduction)
    spacing_mm = site["slice_thickness_mm"] + site["slice_gap_mm"]
    return Protocol(
        repetition_time=site["repetition_time"],
        n_volumes=site["n_volumes"],
        slice_times=slice_times(n_slices, site["repetition_time"], site["slice_order"]),
        shape=(in_plane, in_plane, n_slices),
        voxel_mm=np.array([site["in_plane_mm"], site["in_plane_mm"], spacing_mm]) * reduction,
        t1w_voxel_mm=np.array([site["t1_thickness_mm"], *[site["t1_in_plane_mm"]] * 2]) * reduction,
        reduction=reduction,
    )
