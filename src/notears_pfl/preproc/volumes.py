"""The volumes of a run: what can be used, and the first ones left out."""

import numpy as np

from notears_pfl.errors import SignalError
from notears_pfl.preproc.rigid import Floats


def check_volumes(bold: Floats, tr: float) -> None:
    """Refuse what is not a series of finite volumes ``tr`` seconds apart."""
    if bold.ndim != 4 or bold.shape[3] < 2:
        msg = f"A run needs several volumes; its shape is {bold.shape}. Give the 4D BOLD image."
        raise SignalError(msg)
    if not np.isfinite(tr) or not 0 < tr < 20:
        msg = f"RepetitionTime is {tr:g}; it must be seconds above 0. Correct the sidecar."
        raise SignalError(msg)
    # A sum is finite only if all its terms are, and costs no second array.
    bad = [t for t in range(bold.shape[3]) if not np.isfinite(bold[..., t].sum(dtype=float))]
    if bad:
        msg = f"Volumes {bad} hold values that are not finite. Convert the run again."
        raise SignalError(msg)
    empty = [t for t in range(bold.shape[3]) if not bold[..., t].any()]
    if empty:
        msg = f"Volumes {empty} are zero throughout. Convert the run again, or leave it out."
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
