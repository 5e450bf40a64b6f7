"""What an acquisition can be, and what the sites table says of one, as BIDS says it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

# Repetition times that a run can have, in seconds; beyond them another unit was meant.
SHORTEST_TR, LONGEST_TR = 0.05, 20.0
# Repetition times that differ by no more than this, in seconds, are the same: scanners round.
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
    """Seconds after the volume's start at which each slice, from the lowest, is acquired."""
    acquired = np.arange(n_slices)
    if order == "descending":
        acquired = acquired[::-1]
    elif order == "interleaved":
        acquired = np.concatenate([acquired[::2], acquired[1::2]])
    times = np.empty(n_slices)
    times[acquired] = np.arange(n_slices) * repetition_time / n_slices
    return times


def is_repetition_time(seconds: float) -> bool:
    """Tell whether a run can have this repetition time."""
    return 0 < seconds < LONGEST_TR


def are_slice_times(seconds: np.ndarray, repetition_time: float) -> bool:
    """Tell whether slices can be acquired at these times after the start of their volume."""
    return bool(np.all((seconds >= 0) & (seconds < repetition_time)))


def same_repetition_time(one: float, other: float) -> bool:
    """Tell whether two repetition times, in seconds, differ by rounding alone."""
    return round(abs(one - other), 6) <= SAME_TR
