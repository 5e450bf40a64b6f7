"""Slice timing: every slice is shifted in time to one reference, as in SPM.

A slice acquired s repetition times after the reference holds x(n + s); the Fourier
coefficients of its series times exp(-2πi f s) give x(n).
"""

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, rfft

from notears_pfl.acquisition import check_slice_times
from notears_pfl.geometry import Floats


def middle_slice_time(slice_times: Floats) -> float:
    """Time of the slice acquired midway, ``so[ceil(N/2)]``: DPARSF's reference."""
    ordered = np.sort(slice_times)
    return float(ordered[(len(ordered) + 1) // 2 - 1])


def correct_slice_timing(
    bold: Floats, slice_times: Floats, tr: float, reference_time: float
) -> NDArray[np.float32]:
    """Shift every slice of ``bold`` (x, y, z, volumes) to ``reference_time`` seconds.

    Slices lie along the third axis. As in SPM, series are padded to the next power of two above
    the number of volumes, on a straight line from the last value back to the first.
    """
    check_slice_times(slice_times, bold.shape[2], tr)
    n_volumes = bold.shape[3]
    n_padded = 2 ** (int(np.log2(n_volumes)) + 1)
    ramp = np.linspace(0, 1, n_padded - n_volumes, dtype=np.float32)
    frequencies = np.arange(n_padded // 2 + 1) / n_padded

    shifted = np.empty(bold.shape, dtype=np.float32)
    for k, time in enumerate(slice_times):
        # A shift leaves the mean as it is; without the mean, single precision is enough.
        level = bold[:, :, k].mean(axis=-1, keepdims=True)
        series = (bold[:, :, k] - level).astype(np.float32)
        first, last = series[..., :1], series[..., -1:]
        padded = np.concatenate([series, last + (first - last) * ramp], axis=-1)
        phase = np.exp(-2j * np.pi * frequencies * (time - reference_time) / tr)
        spectrum = rfft(padded, axis=-1) * phase.astype(np.complex64)
        shifted[:, :, k] = level + irfft(spectrum, n_padded, axis=-1)[..., :n_volumes]
    return shifted


def slice_timing_sentence(reference_time: float | None, program: str | None = None) -> str:
    """Methods: the reference time in seconds (None where not corrected), and the method."""
    if reference_time is None:
        return "Slice timing was not corrected."
    return (
        "Slices were shifted in time to the slice acquired midway, "
        f"{reference_time:.4g} s after the start of each volume, by "
        f"{program or 'Fourier interpolation'}."
    )
