"""Noise of a run by nipype's own algorithms: CompCor, and volumes before the steady state.

Both work on arrays here. nipype's standardised DVARS does not serve: it reads files and needs
nitime, which is not installed with it.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from nipype.algorithms.confounds import compute_noise_components, is_outlier
from numpy.typing import NDArray

from notears_pfl.geometry import Floats
from notears_pfl.io.images import image_in_memory
from notears_pfl.preproc.nuisance import COMPONENTS

# The longest period of the cosines that are removed before, s: fMRIPrep's. Without, two of the
# first five components of a real run were drifts, which the filter removes anyway.
PERIOD_S = 128.0
# nipype's detector looks at this many volumes.
N_FIRST = 50


def compcor(tissues: Mapping[str, NDArray[np.float32]], tr: float) -> pd.DataFrame:
    """First principal components (volumes, 5 of each tissue) of voxels' signals; Behzadi 2007.

    ``tissues`` has the signals (volumes, n) of the voxels of each tissue. A tissue with fewer
    voxels than components gives NaN for all of them.
    """
    columns: dict[str, Floats] = {}
    for tissue, names in COMPONENTS.items():
        series = tissues[tissue]
        found = np.full((len(series), len(names)), np.nan)
        if min(series.shape) >= len(names):
            # nipype takes an image with a mask: a row of voxels, all of them in the mask.
            row = np.ascontiguousarray(series.T, dtype=float)[:, None, None]
            mask = image_in_memory(np.ones(row.shape[:3], dtype=np.uint8))
            found, _, _ = compute_noise_components(
                row, [mask], len(names), "cosine", period_cut=PERIOD_S, repetition_time=tr
            )
        columns |= dict(zip(names, found.T, strict=True))
    return pd.DataFrame(columns)


def count_non_steady(bold: Floats) -> int:
    """Count the volumes of ``bold`` (x, y, z, volumes) at its start that are unlike the others."""
    signal = np.array([volume.mean(dtype=float) for volume in np.moveaxis(bold, 3, 0)[:N_FIRST]])
    # nipype divides by the median deviation.
    return int(is_outlier(signal)) if np.median(np.abs(signal - np.median(signal))) else 0
