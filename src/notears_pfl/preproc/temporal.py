"""Detrending, regression and ideal band-pass of signals (volumes, n)."""

import numpy as np
from numpy.fft import irfft, rfft
from numpy.typing import NDArray

from notears_pfl.errors import SignalError
from notears_pfl.preproc.rigid import Floats


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
        msg = f"The band {low_hz:g} to {high_hz:g} Hz is empty. Set preproc.clean.band_hz anew."
        raise SignalError(msg)
    if high_hz >= nyquist:
        msg = (
            f"The upper cut-off {high_hz:g} Hz is not below the Nyquist frequency {nyquist:g} Hz "
            f"of a repetition time of {tr:g} s. Lower preproc.clean.band_hz."
        )
        raise SignalError(msg)


def in_band(n_samples: int, low_hz: float, high_hz: float, tr: float) -> NDArray[np.bool_]:
    """Tell which bins k of a real transform satisfy lo·N·TR ≤ k ≤ hi·N·TR."""
    bins = np.arange(n_samples // 2 + 1)
    duration = n_samples * tr
    # Cut-offs such as 0.08 Hz are inexact in binary: half a millionth of a bin is forgiven.
    return (bins >= low_hz * duration - 5e-7) & (bins <= high_hz * duration + 5e-7)


def band_pass(signals: Floats, tr: float, low_hz: float, high_hz: float) -> Floats:
    """Ideal band-pass as in DPARSF: demean, zero-pad to a power of two, keep the band's bins."""
    check_band(low_hz, high_hz, tr)
    n_volumes = len(signals)
    n_padded = 1 << (n_volumes - 1).bit_length()
    spectrum = rfft(signals - signals.mean(axis=0), n_padded, axis=0)
    spectrum[~in_band(n_padded, low_hz, high_hz, tr)] = 0
    return np.asarray(irfft(spectrum, n_padded, axis=0)[:n_volumes])


def out_of_band_design(n_volumes: int, tr: float, low_hz: float, high_hz: float) -> Floats:
    """Sines and cosines of every frequency outside the band, the constant among them."""
    check_band(low_hz, high_hz, tr)
    outside = np.flatnonzero(~in_band(n_volumes, low_hz, high_hz, tr))
    angles = 2 * np.pi * np.outer(np.arange(n_volumes), outside) / n_volumes
    waves = np.hstack([np.cos(angles), np.sin(angles)])
    return waves[:, np.linalg.norm(waves, axis=0) > 1e-6]
