"""Gaussian smoothing, with SPM's kernel or the plain one, by name.

SPM convolves the Gaussian with a linear B-spline: its "6 mm" has an effective FWHM of
sqrt(6² + 8 ln2 · v²/6), 6.66 mm for voxels of 3 mm. nilearn samples the Gaussian itself.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import correlate1d
from scipy.special import erf

from notears_pfl.geometry import FWHM_PER_SIGMA, Floats
from notears_pfl.preproc.resample import Grid, sample_volume
from notears_pfl.preproc.style import styled

Kernel = Literal["spm", "gaussian"]


@dataclass(frozen=True)
class SmoothOptions:
    """Width and kind of the kernel; the fields are the keys of ``preproc.smooth``. 0 for none."""

    fwhm_mm: float = 6.0
    kernel: Kernel = "spm"

    def effective_fwhm_mm(self, voxel_mm: float) -> float:
        """Width of the Gaussian that the kernel amounts to."""
        if self.kernel == "gaussian":
            return self.fwhm_mm
        return math.sqrt(self.fwhm_mm**2 + 8 * math.log(2) * voxel_mm**2 / 6)


def smooth_options(settings: Mapping[str, Any]) -> SmoothOptions:
    """Options of smoothing from the settings under ``preproc``."""
    section = settings["smooth"]
    return SmoothOptions(*(styled(settings, section[key], key) for key in ("fwhm_mm", "kernel")))


def smoothing_kernel(fwhm_mm: float, voxel_mm: float, kernel: Kernel) -> Floats:
    """Weights of the kernel in one dimension: odd in number, with sum one."""
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
    """Gaussian convolved with a linear B-spline: second difference of its second integral."""

    def integral(y: Floats) -> Floats:
        cumulative = 0.5 * y * erf(y / (sigma * np.sqrt(2)))
        density = sigma / np.sqrt(2 * np.pi) * np.exp(-0.5 * (y / sigma) ** 2)
        return np.asarray(cumulative + density)

    return integral(x + 1) - 2 * integral(x) + integral(x - 1)


def smooth(volume: Floats, voxel_mm: Floats, fwhm_mm: float, kernel: Kernel) -> NDArray[np.float32]:
    """Smooth the first three axes of ``volume``, assuming zero outside it.

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


def brain_on(
    grid: Grid, brain: tuple[Floats, Floats]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Voxels of ``grid`` inside the brain mask (voxels, affine), and those near enough to smooth.

    Signals are kept near the brain too, so that smoothing does not darken its surface.
    """
    mask = sample_volume(brain[0].astype(float), brain[1], grid.points(), 1).reshape(grid.shape)
    return mask > 0.5, smooth(mask, grid.voxel_mm, 8.0, "gaussian") > 0.01


def smooth_sentence(options: SmoothOptions, voxel_mm: float) -> str:
    """Methods: width and kind of the kernel."""
    if options.fwhm_mm == 0:
        return "Data were not smoothed."
    return (
        f"Data were smoothed with a Gaussian of {options.fwhm_mm:g} mm FWHM "
        f"({options.kernel} kernel, effectively {options.effective_fwhm_mm(voxel_mm):.3g} mm)."
    )
