"""Cleaning of signals (volumes, n): nuisance regressors, linear trend and frequency band.

The order is named: the paper's (DPARSF's), or all in one regression. This module needs numpy and
pandas alone, so that the cleaning of ROI signals neither loads nor depends on voxel code.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.fft import irfft, rfft
from numpy.typing import NDArray

from notears_pfl.acquisition import MOTION
from notears_pfl.errors import SignalError
from notears_pfl.preproc.style import styled

Floats = NDArray[np.floating]

FRISTON_24 = tuple(
    f"{name}{suffix}" for suffix in ("", "_lag1", "_sq", "_lag1_sq") for name in MOTION
)
# How a motion model is described, by its number of regressors.
MOTION_MODELS = {
    0: [],
    len(MOTION): ["the six head-motion parameters"],
    len(FRISTON_24): ["the Friston 24-parameter model of head motion"],
}


@dataclass(frozen=True)
class CleanOptions:
    """How signals are cleaned; the fields are keys of ``preproc.clean``, the band in Hz.

    ``dparsf`` detrends, regresses out the confounds and then filters, each step on the result of
    the one before. ``simultaneous`` removes trend, confounds and all frequencies outside the
    band in one regression, so that no step reintroduces what another removed.
    """

    order: Literal["dparsf", "simultaneous"] = "dparsf"
    low_hz: float = 0.01
    high_hz: float = 0.08


def clean_options(settings: Mapping[str, Any]) -> CleanOptions:
    """Options of cleaning from the settings under ``preproc``."""
    section = settings["clean"]
    low_hz, high_hz = section["band_hz"]
    return CleanOptions(styled(settings, section["order"], "order"), low_hz, high_hz)


def check_coverage(coverage: Floats, names: list[str], minimum: float) -> None:
    """Refuse a subject with ROIs out of view or without signal, naming all of them."""
    low = [
        f"{name} {share:.0%}"
        for name, share in zip(names, coverage, strict=True)
        if share < minimum or share == 0
    ]
    if low:
        msg = (
            f"{len(low)} of {len(names)} ROIs have less than {minimum:.0%} of their voxels in the "
            f"field of view and with signal: {', '.join(low)}. Lower rois.min_coverage, deselect "
            "these ROIs or leave this subject out."
        )
        raise SignalError(msg)


def check_variance(series: Floats, names: list[str]) -> None:
    """Refuse series (volumes, n_rois) that are constant or not finite, naming all of them."""
    deviation = series.std(axis=0)
    # A constant image varies by the rounding of 32-bit numbers, which depends on the processor.
    least = 1e-6 * np.maximum(np.abs(series).max(axis=0), 1.0)
    flat = [n for n, sd, limit in zip(names, deviation, least, strict=True) if not sd > limit]
    if flat:
        msg = (
            f"{len(flat)} of {len(names)} ROI series do not vary: {', '.join(flat)}. "
            "Look at the image there, deselect these ROIs or leave this subject out."
        )
        raise SignalError(msg)


def friston24(motion: Floats) -> Floats:
    """[R_t, R_{t-1}, R_t², R_{t-1}²] of ``motion`` (volumes, 6); Friston et al. 1996.

    The lag of the first volume, which has no predecessor, is zero, as in DPARSF.
    """
    lagged = np.vstack([np.zeros((1, motion.shape[1])), motion[:-1]])
    return np.hstack([motion, lagged, motion**2, lagged**2])


def confound_design(
    motion: pd.DataFrame, others: pd.DataFrame, model: str, tissues: Sequence[str]
) -> pd.DataFrame:
    """Nuisance regressors (volumes, p): a named motion model, and mean tissue signals.

    Parameters
    ----------
    motion : DataFrame of shape (volumes, 6)
        Columns ``MOTION``.
    others : DataFrame
        Columns with mean tissue signals.
    model : {"friston24", "six", "none"}
    tissues : sequence of str
        Columns of ``others`` to regress out as well.
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


def clean_signals(signals: Floats, confounds: Floats, tr: float, options: CleanOptions) -> Floats:
    """Clean ``signals`` (volumes, n) of ``confounds`` (volumes, p); mean zero, within the band."""
    trend = trend_design(len(signals))
    if options.order == "dparsf":
        residuals = regress_out(detrend(signals), np.hstack([trend, confounds]))
        return band_pass(residuals, tr, options.low_hz, options.high_hz)
    waves = out_of_band_design(len(signals), tr, options.low_hz, options.high_hz)
    return regress_out(signals, np.hstack([trend, confounds, waves]))


def trend_design(n_volumes: int) -> Floats:
    """Constant and linear trend, shape (volumes, 2)."""
    return np.column_stack([np.ones(n_volumes), np.linspace(-1, 1, n_volumes)])


def regress_out(signals: Floats, design: Floats) -> Floats:
    """Residuals of the least-squares fit of ``design`` (volumes, p) to ``signals``."""
    scale = np.linalg.norm(design, axis=0)
    columns = design[:, scale > 0] / scale[scale > 0]
    left, singular, _ = np.linalg.svd(columns, full_matrices=False)
    if not len(singular):
        return signals - 0.0
    tolerance = singular[0] * max(columns.shape) * np.finfo(float).eps
    basis = left[:, singular > tolerance]
    return np.asarray(signals - basis @ (basis.T @ signals))


def detrend(signals: Floats) -> Floats:
    """Remove the linear trend and keep the mean."""
    return np.asarray(regress_out(signals, trend_design(len(signals))) + signals.mean(axis=0))


def check_band(low_hz: float, high_hz: float, tr: float) -> None:
    """Refuse a band that is empty or reaches the Nyquist frequency."""
    nyquist = 0.5 / tr
    if not 0 <= low_hz < high_hz:
        msg = f"The band {low_hz:g} to {high_hz:g} Hz is empty. Correct preproc.clean.band_hz."
        raise SignalError(msg)
    if high_hz >= nyquist:
        msg = (
            f"The upper cut-off {high_hz:g} Hz is not below the Nyquist frequency {nyquist:g} Hz "
            f"of a repetition time of {tr:g} s. Lower preproc.clean.band_hz."
        )
        raise SignalError(msg)


def in_band(n_samples: int, low_hz: float, high_hz: float, tr: float) -> NDArray[np.bool_]:
    """Tell which bins k of a real Fourier transform satisfy lo·N·TR ≤ k ≤ hi·N·TR."""
    bins = np.arange(n_samples // 2 + 1)
    duration = n_samples * tr
    # Cut-offs such as 0.08 Hz are inexact in binary: tolerate half a millionth of a bin.
    return (bins >= low_hz * duration - 5e-7) & (bins <= high_hz * duration + 5e-7)


def band_pass(signals: Floats, tr: float, low_hz: float, high_hz: float) -> Floats:
    """Ideal band-pass as in DPARSF: demean, zero-pad to a power of two, keep the band's bins.

    This is the filter of the order ``dparsf``; ``simultaneous`` uses :func:`out_of_band_design`.
    """
    check_band(low_hz, high_hz, tr)
    n_volumes = len(signals)
    n_padded = 1 << (n_volumes - 1).bit_length()
    spectrum = rfft(signals - signals.mean(axis=0), n_padded, axis=0)
    spectrum[~in_band(n_padded, low_hz, high_hz, tr)] = 0
    return np.asarray(irfft(spectrum, n_padded, axis=0)[:n_volumes])


def out_of_band_design(n_volumes: int, tr: float, low_hz: float, high_hz: float) -> Floats:
    """Sines and cosines of every frequency outside the band, including the constant.

    Regressed out with the confounds, they are the band-pass of the order ``simultaneous``.
    """
    check_band(low_hz, high_hz, tr)
    outside = np.flatnonzero(~in_band(n_volumes, low_hz, high_hz, tr))
    angles = 2 * np.pi * np.outer(np.arange(n_volumes), outside) / n_volumes
    waves = np.hstack([np.cos(angles), np.sin(angles)])
    return waves[:, np.linalg.norm(waves, axis=0) > 1e-6]


def degrees_of_freedom(confounds: Floats, tr: float, options: CleanOptions) -> float:
    """Degrees of freedom that cleaning leaves in a series: ||L||² of its linear operator L.

    L is the result of cleaning the identity; for a projection, ||L||² is its rank.
    """
    operator = clean_signals(np.eye(len(confounds)), confounds, tr, options)
    return float(np.sum(operator**2))


def check_degrees_of_freedom(confounds: Floats, tr: float, options: CleanOptions) -> float:
    """Degrees of freedom left; refuse a run that has less than one."""
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


def clean_methods(options: CleanOptions, confounds: list[str]) -> dict[str, str]:
    """Methods: the sentences on cleaning, in its order."""
    motion = [name for name in FRISTON_24 if name in confounds]
    others = [name for name in confounds if name not in motion]
    listed = ", ".join([*MOTION_MODELS[len(motion)], *others]) or "none"
    named = f"{len(confounds)} nuisance regressors ({listed})"
    band = f"{options.low_hz:g} to {options.high_hz:g} Hz"
    if options.order == "simultaneous":
        return {
            "clean": (
                f"The linear trend, {named} and all frequencies outside {band} were removed in "
                "one regression."
            )
        }
    return {
        "detrend": "The linear trend of each series was removed.",
        "regress": f"Each series was regressed on {named}, a constant and a linear trend, and the "
        "residuals were kept.",
        "filter": f"Residuals were band-pass filtered ({band}) with the ideal filter of DPARSF.",
    }
