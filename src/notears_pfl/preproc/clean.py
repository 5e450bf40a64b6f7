"""The order of cleaning, by name: the paper's, and the simultaneous one."""

import numpy as np

from notears_pfl.errors import SignalError
from notears_pfl.preproc.options import CleanOptions
from notears_pfl.preproc.rigid import Floats
from notears_pfl.preproc.temporal import (
    band_pass,
    detrend,
    out_of_band_design,
    regress_out,
    trend_design,
)


def clean_signals(signals: Floats, confounds: Floats, tr: float, options: CleanOptions) -> Floats:
    """Clean ``signals`` (volumes, n) of ``confounds`` (volumes, p); mean zero, in the band."""
    trend = trend_design(len(signals))
    if options.order == "dparsf":
        residuals = regress_out(detrend(signals), np.hstack([trend, confounds]))
        return band_pass(residuals, tr, options.low_hz, options.high_hz)
    waves = out_of_band_design(len(signals), tr, options.low_hz, options.high_hz)
    return regress_out(signals, np.hstack([trend, confounds, waves]))


def degrees_of_freedom(confounds: Floats, tr: float, options: CleanOptions) -> float:
    """Degrees of freedom that cleaning leaves in a series: ||L||² of its linear operator L.

    L is what cleaning does to the identity; for a projection this is its rank.
    """
    operator = clean_signals(np.eye(len(confounds)), confounds, tr, options)
    return float(np.sum(operator**2))


def check_degrees_of_freedom(confounds: Floats, tr: float, options: CleanOptions) -> float:
    """Return the degrees of freedom left, and refuse when there is not one."""
    n_volumes, n_confounds = confounds.shape
    needed = n_confounds + 2
    if n_volumes <= needed:
        msg = (
            f"{n_volumes} volumes cannot carry {needed} regressors ({n_confounds} confounds, "
            "constant and trend). Use a longer run, drop fewer volumes or fewer confounds."
        )
        raise SignalError(msg)
    left = degrees_of_freedom(confounds, tr, options)
    if left < 1:
        msg = (
            f"No degree of freedom is left between {options.low_hz:g} and {options.high_hz:g} Hz: "
            f"{n_volumes} volumes of {tr:g} s against {n_confounds} confounds. "
            "Widen the band, use fewer confounds or leave this run out."
        )
        raise SignalError(msg)
    return left
