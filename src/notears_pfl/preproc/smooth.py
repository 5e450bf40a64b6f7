"""Gaussian smoothing, with SPM's kernel or the plain one, by name.

SPM convolves the Gaussian with a linear B-spline: its "6 mm" has an effective width of
sqrt(6² + 8 ln2 · v²/6), 6.66 mm at voxels of 3 mm. nilearn samples the Gaussian itself.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import correlate1d
from scipy.special import erf

from notears_pfl.preproc.rigid import Floats

Kernel = Literal["spm", "gaussian"]
FWHM_PER_SIGMA = float(np.sqrt(8 * np.log(2)))


def smoothing_kernel(fwhm_mm: float, voxel_mm: float, kernel: Kernel) -> Floats:
    """Weights of a one-dimensional smoothing kernel, sum one, odd length."""
    sigma = fwhm_mm / voxel_mm / FWHM_PER_SIGMA
    if kernel == "gaussian":
        radius = int(4 * sigma + 0.5)
        x = np.arange(-radius, radius + 1.0)
        weights = np.exp(-0.5 * (x / sigma) ** 2)
    else:
        radius = round(6 * sigma)
        x = np.arange(-radius, radius + 1.0)
        weights = _second_difference(x, sigma)
    weights = np.maximum(weights, 0)
    normalised: Floats = weights / weights.sum()
    return normalised


def _second_difference(x: Floats, sigma: float) -> Floats:
    """Gaussian times linear B-spline: second difference of the Gaussian's second integral."""

    def integral(y: Floats) -> Floats:
        cumulative = 0.5 * y * erf(y / (sigma * np.sqrt(2)))
        density = sigma / np.sqrt(2 * np.pi) * np.exp(-0.5 * (y / sigma) ** 2)
        return np.asarray(cumulative + density)

    return integral(x + 1) - 2 * integral(x) + integral(x - 1)


def effective_fwhm_mm(fwhm_mm: float, voxel_mm: float, kernel: Kernel) -> float:
    """Width of the Gaussian that the kernel amounts to."""
    if kernel == "gaussian":
        return fwhm_mm
    return float(np.sqrt(fwhm_mm**2 + 8 * np.log(2) * voxel_mm**2 / 6))


def smooth(volume: Floats, voxel_mm: Floats, fwhm_mm: float, kernel: Kernel) -> NDArray[np.float32]:
    """Smooth the first three axes of ``volume``; zero is assumed outside it.

    With zero outside, smoothing is its own adjoint: ⟨a, S b⟩ = ⟨S a, b⟩.
    """
    smoothed = np.asarray(volume, dtype=np.float32)
    for axis, width in enumerate(voxel_mm):
        weights = smoothing_kernel(fwhm_mm, float(width), kernel)
        smoothed = correlate1d(smoothed, weights, axis=axis, mode="constant")
    return smoothed
