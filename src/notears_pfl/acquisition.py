"""Acquisition: plausible repetition times and slice times, BIDS fields, motion columns."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from notears_pfl.errors import SignalError

# Columns of a table of head motion, by fMRIPrep's names: mm and radians.
MOTION = ("trans_x", "trans_y", "trans_z", "rot_x", "rot_y", "rot_z")
# Plausible repetition times, in seconds; a value beyond them is in another unit.
SHORTEST_TR, LONGEST_TR = 0.05, 20.0
# Repetition times within this many seconds are the same: scanners round.
SAME_TR = 1e-3


def scanner_sidecar(site: Mapping[str, Any]) -> dict[str, Any]:
    """Sidecar fields that both images of a site share."""
    manufacturer, model = site["scanner"].split(" ", 1)
    return {
        "Manufacturer": manufacturer,
        "ManufacturersModelName": model,
        "MagneticFieldStrength": site["field_strength_t"],
        "InstitutionName": site["name"],
        "ReceiveCoilName": f"{site['channels']} channels",
    }


def slice_times(n_slices: int, repetition_time: float, order: str) -> np.ndarray:
    """Acquisition time of each slice, from the lowest, in seconds after the start of the volume."""
    acquired = np.arange(n_slices)
    if order == "descending":
        acquired = acquired[::-1]
    elif order == "interleaved":
        acquired = np.concatenate([acquired[::2], acquired[1::2]])
    times = np.empty(n_slices)
    times[acquired] = np.arange(n_slices) * repetition_time / n_slices
    return times


def is_repetition_time(seconds: float) -> bool:
    """Tell whether a repetition time is plausible."""
    return 0 < seconds < LONGEST_TR


def are_slice_times(seconds: np.ndarray, repetition_time: float) -> bool:
    """Tell whether all slice times lie within one repetition time."""
    return bool(np.all((seconds >= 0) & (seconds < repetition_time)))


def check_slice_times(slice_times: np.ndarray, n_slices: int, tr: float) -> None:
    """Refuse times that do not fit ``n_slices`` slices acquired within ``tr`` seconds."""
    if len(slice_times) != n_slices:
        msg = (
            f"SliceTiming lists {len(slice_times)} times for {n_slices} slices. "
            "Correct SliceTiming or SliceEncodingDirection in the sidecar."
        )
        raise SignalError(msg)
    if not are_slice_times(slice_times, tr):
        msg = (
            f"SliceTiming runs from {np.min(slice_times):g} to {np.max(slice_times):g} s, outside "
            f"0 to the repetition time of {tr:g} s. SliceTiming is in seconds: correct the sidecar."
        )
        raise SignalError(msg)


def same_repetition_time(one: float, other: float) -> bool:
    """Tell whether two repetition times, in seconds, differ only by rounding."""
    return round(abs(one - other), 6) <= SAME_TR
