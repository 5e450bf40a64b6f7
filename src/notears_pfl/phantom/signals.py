"""ROI series of the linear structural equation model, band-limited like BOLD.

x(t) = x(t) W + e(t), hence x = e (I − W)⁻¹, with e white inside a band of frequencies and of
equal variance: at any time lag the regions' covariance is that of the model.
"""

from dataclasses import dataclass

import numpy as np

# Series are cut from a window this much longer, so that a scan's end does not wrap to its start.
WINDOW = 2


@dataclass(frozen=True)
class SignalOptions:
    """Size and band of the fluctuations; the settings of ``phantom.signal``."""

    amplitude_percent: float
    band_hz: tuple[float, float]


@dataclass(frozen=True)
class Series:
    """Band-limited series that can be read at any time within the scan.

    Parameters
    ----------
    spectrum : complex ndarray of shape (n_frequencies, n_rois)
        Of the long window, as by ``numpy.fft.rfft``.
    n_volumes : int
        Length of the scan.
    repetition_time : float
        Seconds between volumes.
    """

    spectrum: np.ndarray
    n_volumes: int
    repetition_time: float

    def at(self, delay: float) -> np.ndarray:
        """Values at ``delay`` seconds after the start of each volume, (n_volumes, n_rois)."""
        n_window = WINDOW * self.n_volumes
        cycles = np.fft.rfftfreq(n_window, self.repetition_time) * delay
        shifted = self.spectrum * np.exp(2j * np.pi * cycles)[:, None]
        return np.fft.irfft(shifted, n_window, axis=0)[: self.n_volumes]


def draw_series(
    rng: np.random.Generator, W: np.ndarray, n_volumes: int, repetition_time: float,
    options: SignalOptions,
) -> Series:  # fmt: skip
    """Draw the series of all regions; ``W`` of shape (d, d) has entry (i, j) for i → j.

    The innovations e have the standard deviation ``amplitude_percent`` / 100.
    """
    n_window = WINDOW * n_volumes
    frequencies = np.fft.rfftfreq(n_window, repetition_time)
    low, high = options.band_hz
    inside = (frequencies >= low) & (frequencies <= high)
    white = rng.standard_normal((2, inside.sum(), len(W)))
    e = np.zeros((len(frequencies), len(W)), dtype=complex)
    # A bin s (a + ib), with a and b standard normal, adds 4 s² / n² to the series' variance.
    scale = options.amplitude_percent / 100 * n_window / (2 * np.sqrt(inside.sum()))
    e[inside] = scale * (white[0] + 1j * white[1])
    x = np.linalg.solve((np.eye(len(W)) - W).T, e.T).T
    return Series(spectrum=x, n_volumes=n_volumes, repetition_time=repetition_time)
