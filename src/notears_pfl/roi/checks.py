"""What is asked of a subject's ROI series before they are used."""

import numpy as np
from numpy.typing import NDArray

from notears_pfl.errors import SignalError

Floats = NDArray[np.floating]


def check_coverage(coverage: Floats, names: list[str], minimum: float) -> None:
    """Refuse a subject with regions outside the field of view, naming all of them."""
    low = [
        f"{name} {share:.0%}"
        for name, share in zip(names, coverage, strict=True)
        if share < minimum or share == 0
    ]
    if low:
        msg = (
            f"{len(low)} of {len(names)} ROIs have less than {minimum:.0%} of their voxels in the "
            f"field of view: {', '.join(low)}. Lower rois.min_coverage, deselect these ROIs or "
            "leave this subject out."
        )
        raise SignalError(msg)


def check_variance(series: Floats, names: list[str]) -> None:
    """Refuse series (volumes, n_rois) that do not vary or are not finite, naming all of them."""
    deviation = series.std(axis=0)
    # A still image varies by the rounding of 32-bit numbers, which depends on the processor.
    least = 1e-6 * np.maximum(np.abs(series).max(axis=0), 1.0)
    flat = [n for n, sd, limit in zip(names, deviation, least, strict=True) if not sd > limit]
    if flat:
        msg = (
            f"{len(flat)} of {len(names)} ROI series do not vary: {', '.join(flat)}. "
            "Look at the image there, deselect these ROIs or leave this subject out."
        )
        raise SignalError(msg)
