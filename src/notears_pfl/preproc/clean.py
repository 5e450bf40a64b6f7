"""Cleaning of signals (volumes, n): nuisance regressors, linear trend and frequency band.

The order is named: the paper's (DPARSF's), or all in one regression. This module needs numpy and
pandas alone, so that the cleaning of ROI signals neither loads nor depends on voxel code.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.fft import irfft, rfft
from numpy.typing import NDArray

from notears_pfl.errors import SignalError
from notears_pfl.preproc.nuisance import Nuisance, nuisance_regressors
from notears_pfl.preproc.scrubbing import (
    NO_SCRUBBING,
    Mask,
    Scrub,
    bridge_gaps,
    kept_volumes,
    scrub_options,
    scrub_sentence,
)
from notears_pfl.preproc.style import styled

Floats = NDArray[np.floating]


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
    scrub: Scrub = NO_SCRUBBING
    min_degrees_of_freedom: float = 1


def clean_options(settings: Mapping[str, Any]) -> CleanOptions:
    """Options of cleaning from the settings under ``preproc``."""
    section = settings["clean"]
    low_hz, high_hz = section["band_hz"]
    return CleanOptions(
        styled(settings, section["order"], "order"),
        low_hz,
        high_hz,
        scrub_options(section["scrub"]),
        section["min_degrees_of_freedom"],
    )


@dataclass(frozen=True)
class Cleaning:
    """The cleaning of one run: its regressors, the volumes (volumes,) kept, and the options.

    ``left`` are the degrees of freedom that it leaves in a series, ``in_band`` those that
    detrending and filtering alone would leave.
    """

    nuisance: Nuisance
    kept: Mask
    tr: float
    options: CleanOptions
    left: float
    in_band: float

    def apply(self, signals: Floats) -> Floats:
        """Clean ``signals`` (volumes, n); censored volumes are gone from the result (kept, n)."""
        confounds = self.nuisance.table.to_numpy()
        return clean_signals(signals, confounds, self.tr, self.options, self.kept)

    def figures(self) -> dict[str, Any]:
        """Figures of the run after cleaning; positions of censored volumes count from 0."""
        return {
            "n_volumes": int(self.kept.sum()),
            "n_censored": int((~self.kept).sum()),
            "censored_volumes": np.flatnonzero(~self.kept).tolist(),
            "degrees_of_freedom": self.left,
            "degrees_of_freedom_in_band": self.in_band,
            "n_regressors": self.nuisance.table.shape[1] + 2,
        }

    def methods(self) -> dict[str, str]:
        """Methods: the sentences on cleaning, in its order."""
        return clean_methods(self.options, self.nuisance)


def plan_cleaning(
    motion: pd.DataFrame,
    confounds: pd.DataFrame,
    tr: float,
    settings: Mapping[str, Any],
    chosen: Mapping[str, Mapping[str, Any]],
) -> Cleaning:
    """Plan the cleaning of one run; refuse one that leaves too few degrees of freedom.

    Parameters
    ----------
    motion, confounds : DataFrame
        Head motion and confounds, a row per volume.
    settings : mapping
        The settings under ``preproc``: ``style`` and ``clean``.
    chosen : mapping
        Sets of confounds that were chosen for the run (:func:`nuisance_regressors`).
    """
    options = clean_options(settings)
    nuisance = nuisance_regressors(motion, confounds, settings["clean"], chosen)
    kept = kept_volumes(confounds, options.scrub, nuisance.censored)
    design = nuisance.table.to_numpy()
    left = check_degrees_of_freedom(design, tr, options, kept)
    in_band = degrees_of_freedom(design[:, :0], tr, options)
    return Cleaning(nuisance, kept, tr, options, left, in_band)


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


def clean_signals(
    signals: Floats,
    confounds: Floats,
    tr: float,
    options: CleanOptions,
    kept: Mask | None = None,
) -> Floats:
    """Clean ``signals`` (volumes, n) of ``confounds`` (volumes, p); mean zero, within the band.

    Where only some volumes are ``kept`` (volumes,), regressions are fitted to these alone.
    ``dparsf`` bridges the others for the filter, then removes them; ``simultaneous`` needs no
    bridge, but a degree of freedom for each of them. The result (kept, n) then has a mean near 0.
    """
    trend = trend_design(len(signals))
    if kept is not None and not kept.all():
        return _clean_kept(signals, np.hstack([trend, confounds]), tr, options, kept)
    if options.order == "dparsf":
        residuals = regress_out(detrend(signals), np.hstack([trend, confounds]))
        return band_pass(residuals, tr, options.low_hz, options.high_hz)
    waves = out_of_band_design(len(signals), tr, options.low_hz, options.high_hz)
    return regress_out(signals, np.hstack([trend, confounds, waves]))


def _clean_kept(
    signals: Floats, design: Floats, tr: float, options: CleanOptions, kept: Mask
) -> Floats:
    if options.order == "dparsf":
        residuals = bridge_gaps(regress_out(signals[kept], design[kept]), kept)
        return band_pass(residuals, tr, options.low_hz, options.high_hz)[kept]
    waves = out_of_band_design(len(signals), tr, options.low_hz, options.high_hz)
    return regress_out(signals[kept], np.hstack([design, waves])[kept])


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


def degrees_of_freedom(
    confounds: Floats, tr: float, options: CleanOptions, kept: Mask | None = None
) -> float:
    """Degrees of freedom that cleaning leaves in a series: ||L||² of its linear operator L.

    L is the result of cleaning the identity; for a projection, ||L||² is its rank.
    """
    operator = clean_signals(np.eye(len(confounds)), confounds, tr, options, kept)
    return float(np.sum(operator**2))


def check_degrees_of_freedom(
    confounds: Floats, tr: float, options: CleanOptions, kept: Mask | None = None
) -> float:
    """Degrees of freedom left; refuse a run that has fewer than the options ask for."""
    n_volumes, n_confounds = confounds.shape
    n_kept = n_volumes if kept is None else int(kept.sum())
    needed = n_confounds + 2
    volumes = f"{n_volumes} volumes" + ("" if n_kept == n_volumes else f", {n_kept} of them kept,")
    if n_kept <= needed:
        msg = (
            f"{volumes} cannot carry {needed} regressors ({n_confounds} confounds, constant and "
            "trend). Use a longer run, drop or censor fewer volumes, or use fewer confounds."
        )
        raise SignalError(msg)
    left, least = degrees_of_freedom(confounds, tr, options, kept), options.min_degrees_of_freedom
    if left < least:
        found = f"{left:.1f} degrees" if left >= 1 else "No degree"
        msg = (
            f"{found} of freedom {'are' if left >= 1 else 'is'} left between {options.low_hz:g} "
            f"and {options.high_hz:g} Hz, but {least:g} were needed "
            f"(preproc.clean.min_degrees_of_freedom): {volumes} of {tr:g} s against {n_confounds} "
            "confounds. Widen the band, use fewer confounds or leave this run out."
        )
        raise SignalError(msg)
    return left


def clean_methods(options: CleanOptions, nuisance: Nuisance) -> dict[str, str]:
    """Methods: the sentences on cleaning, in its order."""
    named = f"{nuisance.table.shape[1]} nuisance regressors ({nuisance.words})"
    band = f"{options.low_hz:g} to {options.high_hz:g} Hz"
    scrubbed = options.scrub.censors or nuisance.censors
    fitted = ", fitted to the other volumes" if scrubbed else ""
    steps = {}
    if scrubbed:
        steps["censor"] = scrub_sentence(options.scrub, nuisance.censors)
    if options.order == "simultaneous":
        gone = "; censored volumes were removed" if scrubbed else ""
        steps["clean"] = (
            f"The linear trend, {named} and all frequencies outside {band} were removed in "
            f"one regression{fitted}{gone}."
        )
        return steps
    if not scrubbed:
        steps["detrend"] = "The linear trend of each series was removed."
    steps["regress"] = (
        f"Each series was regressed on {named}, a constant and a linear trend{fitted}, and the "
        "residuals were kept."
    )
    if scrubbed:
        steps["bridge"] = "Censored volumes were replaced by linear interpolation for the filter."
    steps["filter"] = f"Residuals were band-pass filtered ({band}) with the ideal filter of DPARSF."
    if scrubbed:
        steps["remove"] = "Censored volumes were then removed."
    return steps
