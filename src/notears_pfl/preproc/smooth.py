"""Gaussian smoothing, with SPM's kernel or the plain one, by name.

SPM convolves the Gaussian with a linear B-spline: its "6 mm" has an effective width of
sqrt(6² + 8 ln2 · v²/6), 6.66 mm at voxels of 3 mm. nilearn samples the Gaussian itself.
"""

from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import correlate1d
from scipy.special import erf

from notears_pfl.preproc.options import Kernel, SmoothOptions
from notears_pfl.preproc.rigid import Floats

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


def smooth(volume: Floats, voxel_mm: Floats, fwhm_mm: float, kernel: Kernel) -> NDArray[np.float32]:
    """Smooth the first three axes of ``volume``; zero is assumed outside it.

    With zero outside, smoothing is its own adjoint: ⟨a, S b⟩ = ⟨S a, b⟩.
    """
    smoothed = np.asarray(volume, dtype=np.float32)
    for axis, width in enumerate(voxel_mm):
        weights = smoothing_kernel(fwhm_mm, float(width), kernel)
        smoothed = correlate1d(smoothed, weights, axis=axis, mode="constant")
    return smoothed


def smoother(options: SmoothOptions, voxel_mm: Floats) -> "partial[NDArray[np.float32]]":
    """Smoothing of volumes with voxels of this size; the identity for a width of 0."""
    if options.fwhm_mm == 0:
        return partial(np.asarray, dtype=np.float32)
    return partial(smooth, voxel_mm=voxel_mm, fwhm_mm=options.fwhm_mm, kernel=options.kernel)
