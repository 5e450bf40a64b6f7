"""The volumes of a run: what can be used, and the first ones left out."""

import numpy as np

from notears_pfl.acquisition import is_repetition_time
from notears_pfl.errors import SignalError
from notears_pfl.preproc.rigid import Floats

# Least mean of a volume, as a share of its mean absolute value: 1 where no voxel is negative.
LEAST_MEAN = 0.5


def check_volumes(bold: Floats, tr: float) -> None:
    """Refuse what is not a series of finite volumes ``tr`` seconds apart, brighter than nothing.

    Messages count volumes from 1.
    """
    if bold.ndim != 4 or bold.shape[3] < 2:
        msg = f"A run needs several volumes; its shape is {bold.shape}. Give the 4D BOLD image."
        raise SignalError(msg)
    if not is_repetition_time(tr):
        msg = f"RepetitionTime is {tr:g}; it must be seconds above 0. Correct the sidecar."
        raise SignalError(msg)
    # A sum is finite only if all its terms are, and costs no second array.
    sums = np.array([volume.sum(dtype=float) for volume in np.moveaxis(bold, 3, 0)])
    bad = [t + 1 for t, total in enumerate(sums) if not np.isfinite(total)]
    if bad:
        msg = f"Volumes {_first(bad)} hold values that are not finite. Convert the run again."
        raise SignalError(msg)
    empty = [t + 1 for t, volume in enumerate(np.moveaxis(bold, 3, 0)) if not np.ptp(volume)]
    if empty:
        msg = (
            f"Volumes {_first(empty)} have one value throughout. Convert the run again, or leave "
            "it out."
        )
        raise SignalError(msg)
    sizes = np.array([np.abs(volume).sum(dtype=float) for volume in np.moveaxis(bold, 3, 0)])
    dark = int(np.count_nonzero(sums < LEAST_MEAN * sizes))
    if dark:
        msg = (
            f"The mean of a volume must be clearly positive; it is not in {dark} of {len(sums)} "
            "volumes: the run was demeaned or standardised. Give it as it was acquired."
        )
        raise SignalError(msg)


def drop_volumes(bold: Floats, n_dropped: int) -> Floats:
    """Leave out the first ``n_dropped`` volumes, recorded before the signal is steady."""
    if bold.shape[3] - n_dropped < 2:
        msg = (
            f"Dropping {n_dropped} of {bold.shape[3]} volumes leaves no series. "
            "Lower preproc.drop_volumes or leave this run out."
        )
        raise SignalError(msg)
    return bold[..., n_dropped:]


def _first(numbers: list[int], n_shown: int = 8) -> str:
    more = ", …" if len(numbers) > n_shown else ""
    return f"[{', '.join(map(str, numbers[:n_shown]))}{more}]"
