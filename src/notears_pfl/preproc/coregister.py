"""Registration of BOLD to T1w: the rigid motion under which tissues best predict the mean BOLD.

Minimises Σ_x (E(Q x) - Σ_k β_k P_k(x))² over Q and β: E is the mean BOLD image, P_k are a constant
and the probabilities of cerebrospinal fluid, grey and white matter, all equally blurred. The
intensities β of the tissues are free, so any contrast will do; this maximises the correlation
ratio. Gauss-Newton in Q, from coarse to fine blur, from two starting points: the scanner's
coordinates, and aligned centres of mass.
"""

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter, map_coordinates, spline_filter

from notears_pfl.errors import SignalError
from notears_pfl.geometry import FWHM_PER_SIGMA, Floats, about, rigid_matrix, transform
from notears_pfl.preproc.resample import Grid

# Smallest blurred brain probability at the points that are matched: coarse level, finer levels.
NEAR_BRAIN, WITHIN_BRAIN = 0.05, 0.6


@dataclass(frozen=True)
class CoregisterOptions:
    """How BOLD is registered to T1w; not in the configuration.

    ``blur_mm`` lists the widths (FWHM) from coarse to fine; no blur is finer than a BOLD voxel.
    """

    blur_mm: tuple[float, ...] = (12.0, 7.0, 4.0)
    separation_mm: float = 6.0
    max_iterations: int = 40
    tolerance_mm: float = 1e-3


@dataclass(frozen=True)
class Coregistration:
    """Matrix (4, 4) from T1w to BOLD coordinates, and how well it fits.

    ``explained`` is the share of the BOLD image's variance that the tissues explain; None if
    another program found the matrix.
    """

    matrix: Floats
    explained: float | None
    converged: bool


@dataclass(frozen=True)
class _Tissues:
    """Points (3, n), the regressors there (n, k) and their derivatives by motion (n, k, 6)."""

    points: Floats
    centre: Floats
    regressors: Floats
    derivatives: Floats


def coregister(
    mean_bold: Floats,
    bold_affine: Floats,
    probabilities: Floats,
    grid: Grid,
    options: CoregisterOptions,
) -> Coregistration:
    """Register ``mean_bold`` (x, y, z) to the T1w image.

    ``probabilities`` (3, x, y, z) of cerebrospinal fluid, grey and white matter are on ``grid``.
    """
    bold_mm = np.linalg.norm(bold_affine[:3, :3], axis=0)
    brain = probabilities.sum(axis=0)
    shift = _centre(brain, grid.affine) - _centre(_bright(mean_bold), bold_affine)
    by_centre = np.eye(4)
    by_centre[:3, 3] = -shift
    candidates = [
        Coregistration(start, -np.inf, converged=False) for start in (np.eye(4), by_centre)
    ]
    # The whole head guides the coarse level; finer levels use the tissues within the brain.
    levels = dict.fromkeys(max(blur_mm, float(bold_mm.max())) for blur_mm in options.blur_mm)
    for level, blur_mm in enumerate(levels):
        least = NEAR_BRAIN if level == 0 else WITHIN_BRAIN
        sigma = np.sqrt(blur_mm**2 - bold_mm**2) / FWHM_PER_SIGMA / bold_mm
        coefficients = spline_filter(gaussian_filter(mean_bold.astype(np.float32), sigma))
        tissues = _tissues(probabilities, grid, blur_mm, least, options)
        candidates = [
            _match(coefficients, bold_affine, tissues, candidate.matrix, options)
            for candidate in candidates
        ]
        # The coarsest level decides which starting point leads to the better minimum.
        candidates = [max(candidates, key=lambda candidate: candidate.explained or -np.inf)]
    return candidates[0]


def _bright(volume: Floats) -> Floats:
    return np.asarray(volume * (volume > 0.3 * np.percentile(volume, 98)))


def _centre(volume: Floats, affine: Floats) -> Floats:
    total = volume.sum(dtype=float)
    voxel = [
        float(
            np.sum(volume.sum(axis=tuple({0, 1, 2} - {axis}), dtype=float) * np.arange(n)) / total
        )
        for axis, n in enumerate(volume.shape)
    ]
    return transform(affine, np.array(voxel)[:, None])[:, 0]


def _tissues(
    probabilities: Floats, grid: Grid, blur_mm: float, least: float, options: CoregisterOptions
) -> _Tissues:
    """Blur the tissues and sample them where the brain probability exceeds ``least``."""
    sigma = blur_mm / FWHM_PER_SIGMA / grid.voxel_mm
    blurred = [gaussian_filter(p.astype(np.float32), sigma) for p in probabilities]
    steps = np.maximum(np.round(options.separation_mm / grid.voxel_mm), 1).astype(int)
    near = np.zeros(grid.shape, dtype=bool)
    every = tuple(slice(1, -1, step) for step in steps)
    near[every] = np.sum(blurred, axis=0)[every] > least
    voxels = np.array(np.nonzero(near), dtype=float)
    points = transform(grid.affine, voxels)
    centre = points.mean(axis=1, keepdims=True)
    x, y, z = points - centre
    to_world = np.linalg.inv(grid.affine[:3, :3]).T
    regressors, derivatives = [np.ones(voxels.shape[1])], [np.zeros((voxels.shape[1], 6))]
    for tissue in blurred:
        regressors.append(tissue[near].astype(float))
        gx, gy, gz = to_world @ np.stack([g[near] for g in np.gradient(tissue)])
        rotations = [gy * z - gz * y, gx * z - gz * x, gx * y - gy * x]
        derivatives.append(np.stack([gx, gy, gz, *rotations], axis=1))
    return _Tissues(points, centre, np.stack(regressors, 1), np.stack(derivatives, 1))


def _match(
    coefficients: Floats,
    bold_affine: Floats,
    tissues: _Tissues,
    matrix: Floats,
    options: CoregisterOptions,
) -> Coregistration:
    to_voxel = np.linalg.inv(bold_affine)
    upper = np.array(coefficients.shape)[:, None] - 1.0
    radius_mm, explained = 50.0, -np.inf
    for _ in range(options.max_iterations):
        voxels = transform(to_voxel @ matrix, tissues.points)
        inside = np.all((voxels >= 0) & (voxels <= upper), axis=0)
        if np.count_nonzero(inside) < 100:
            return Coregistration(matrix, -np.inf, converged=False)
        values = map_coordinates(coefficients, voxels[:, inside], prefilter=False, mode="mirror")
        regressors = tissues.regressors[inside]
        intensities = np.linalg.lstsq(regressors, values, rcond=None)[0]
        residual = values - regressors @ intensities
        explained = 1 - float(np.sum(residual**2) / np.sum((values - values.mean()) ** 2))
        derivatives = np.tensordot(tissues.derivatives[inside], intensities, axes=(1, 0))
        # The intensities adapt to the motion: project them out of the derivatives.
        derivatives -= regressors @ np.linalg.lstsq(regressors, derivatives, rcond=None)[0]
        step = np.linalg.lstsq(derivatives, -residual, rcond=None)[0]
        matrix = matrix @ about(tissues.centre, rigid_matrix(step))
        if np.abs(step * [1, 1, 1, radius_mm, radius_mm, radius_mm]).max() < options.tolerance_mm:
            return Coregistration(matrix, explained, converged=True)
    return Coregistration(matrix, explained, converged=False)


def check_agreement(coregistration: Coregistration) -> None:
    """Refuse a registration in which BOLD and T1w have too little brain in common."""
    agreement = coregistration.explained
    if agreement is not None and not np.isfinite(agreement):
        msg = (
            "The mean BOLD image cannot be registered to the T1w image: where they overlap, too "
            f"few voxels are brain, or all are alike (agreement {agreement}). Look at both "
            "images, or leave this subject out."
        )
        raise SignalError(msg)


def coregister_sentence(program: str | None = None) -> str:
    """Methods: how BOLD was registered to T1w."""
    by = f" by {program}" if program else ""
    return f"The mean BOLD image was registered rigidly to the T1w image's tissues{by}."
