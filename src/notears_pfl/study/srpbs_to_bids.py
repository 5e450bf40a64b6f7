"""Convert the SRPBS release to BIDS: stack the volumes of a run, write sidecars."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from notears_pfl.acquisition import scanner_sidecar, slice_times
from notears_pfl.errors import SignalError

_VOLUME = re.compile(r"vol_?0*(\d+)(?:\.nii)?")


def ordered_volumes(names: Sequence[str]) -> list[str]:
    """Sort the files of a run, ``vol_1``, ``vol_2``, …, by number; reject gaps and duplicates."""
    numbered = [(int(m[1]), name) for name in names if (m := _VOLUME.fullmatch(name))]
    if not numbered:
        msg = f"No volumes vol_* among {len(names)} files. Copy the run again."
        raise SignalError(msg)
    found = sorted(numbered)
    numbers = [number for number, _ in found]
    missing = sorted(set(range(numbers[0], numbers[-1] + 1)) - set(numbers))
    if missing or len(set(numbers)) < len(numbers):
        what = f"volumes {missing} are missing" if missing else "some numbers occur twice"
        msg = f"Of the volumes {numbers[0]} to {numbers[-1]}, {what}. Copy the run again."
        raise SignalError(msg)
    return [name for _, name in found]


def stacked(volumes: Sequence[np.ndarray], affines: Sequence[np.ndarray]) -> np.ndarray:
    """Stack volumes (x, y, z) into a run (x, y, z, volumes); reject volumes on another grid."""
    shapes = [volume.shape for volume in volumes]
    other = [
        i + 1
        for i, (shape, affine) in enumerate(zip(shapes, affines, strict=True))
        if shape != shapes[0] or not np.allclose(affine, affines[0], atol=1e-3)
    ]
    if other or len(shapes[0]) != 3:
        msg = (
            f"Volumes {other or [1]} do not have the grid of the first, {shapes[0]}. Copy the run "
            "again."
        )
        raise SignalError(msg)
    run = np.stack(volumes, axis=-1)
    return run.astype(np.float32) if run.dtype == np.float64 else run


def height_of_slices(affine: np.ndarray) -> float:
    """Cosine between the third axis and the upward direction; refuse slices along another axis."""
    up = float(affine[2, 2] / np.linalg.norm(affine[:3, 2]))
    if abs(up) < np.sqrt(0.5):
        msg = (
            "The third axis of the run does not go from feet to head, so the slice order is "
            "unknown. Reorient the volumes, or exclude this subject."
        )
        raise SignalError(msg)
    return up


def run_sidecar(
    site: Mapping[str, Any], protocol: Mapping[str, float], n_slices: int, affine: np.ndarray
) -> dict[str, Any]:
    """Sidecar of a run: the protocol's fields, and slice times from the site's slice order.

    ``slice_order`` counts from the feet, so if the third axis points down, times are reversed.
    """
    up = height_of_slices(affine)
    times = slice_times(n_slices, protocol["RepetitionTime"], site["slice_order"])
    ordered = times if up > 0 else times[::-1]
    return {
        "TaskName": "rest",
        **protocol,
        "SliceTiming": [round(float(t), 6) for t in ordered],
        "SliceEncodingDirection": "k",
        **scanner_sidecar(site),
    }


def dataset_description(version: str) -> dict[str, Any]:
    """Content of dataset_description.json."""
    return {
        "Name": "SRPBS multi-disorder MRI dataset, converted",
        "BIDSVersion": "1.10.0",
        "DatasetType": "raw",
        "GeneratedBy": [{"Name": "notears-pfl", "Version": version}],
        "SourceDatasets": [{"URL": "https://bicr-resource.atr.jp/srpbsopen/"}],
    }


PARTICIPANTS_SIDECAR = {
    "site": {"Description": "Site at which the subject was scanned"},
    "group": {"Description": "Patients or controls"},
    "sex": {"Description": "Sex", "Levels": {"F": "female", "M": "male"}},
    "age": {"Description": "Age", "Units": "year"},
    "hand": {"Description": "Handedness", "Levels": {"R": "right", "L": "left", "A": "both"}},
}

README = """\
SRPBS, converted to BIDS
========================
Each run is stacked from the single volumes of the release, T1w images are compressed, and sidecars
are written from the release's table of protocols. The release does not give slice times: they are
derived from the site's slice order in the study's sites table. The release's terms of use apply.
"""
