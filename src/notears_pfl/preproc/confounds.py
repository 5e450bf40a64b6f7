"""Nuisance regressors built from the six parameters of head motion."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from notears_pfl.errors import SignalError
from notears_pfl.preproc.options import FRISTON_24, MOTION
from notears_pfl.preproc.rigid import Floats


def friston24(motion: Floats) -> Floats:
    """[R_t, R_{t-1}, R_t², R_{t-1}²] of ``motion`` (volumes, 6); Friston et al. 1996.

    The lag of the first volume, which has no predecessor, is zero, as in DPARSF.
    """
    lagged = np.vstack([np.zeros((1, motion.shape[1])), motion[:-1]])
    return np.hstack([motion, lagged, motion**2, lagged**2])


def confound_design(
    motion: pd.DataFrame, others: pd.DataFrame, model: str, tissues: Sequence[str]
) -> pd.DataFrame:
    """Regressors (volumes, p) of a named motion model and of mean tissue signals.

    Parameters
    ----------
    motion : DataFrame of shape (volumes, 6)
        Columns ``MOTION``.
    others : DataFrame
        Columns with mean tissue signals.
    model : {"friston24", "six", "none"}
    tissues : sequence of str
        Columns of ``others`` to regress as well.
    """
    six = motion[list(MOTION)]
    if model == "friston24":
        design = pd.DataFrame(friston24(six.to_numpy()), columns=list(FRISTON_24))
    else:
        design = six.copy() if model == "six" else six.iloc[:, :0].copy()
    absent = [name for name in tissues if name not in others or others[name].isna().any()]
    if absent:
        msg = (
            f"No mean signal of {', '.join(absent)}: the subject has no pure voxels of it. "
            "Take it out of preproc.clean.tissues or leave this subject out."
        )
        raise SignalError(msg)
    return design.join(others[list(tissues)])
