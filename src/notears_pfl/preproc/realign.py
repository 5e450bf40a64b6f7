"""Head motion: rigid realignment by least squares, as in SPM, and framewise displacement.

Realignment minimises Σ (g(x) G(x) - F(M⁻¹ x))² over the rigid motion M. G is the reference and F a
volume, both smoothed; x runs over jittered points that carry most of the information on motion.
SPM matches the mean intensity; here the gain g is linear in x, so that intensity changes on one
side of the head are not mistaken for motion. Gauss-Newton with the gradient of the reference,
first to the first volume, then to the mean of the realigned volumes.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, map_coordinates, spline_filter

from notears_pfl.errors import SignalError
from notears_pfl.geometry import (
    FWHM_PER_SIGMA,
    Floats,
    about,
    rigid_matrix,
    rigid_parameters,
    transform,
)

# Order of the interpolating spline; SPM's default for estimation.
SPLINE = 2
# Less blur than this, in voxels, leaves interpolation error in the estimate.
FWHM_VOXELS = 1.4
# One radian is this many mm, at the distance of the cortex from the centre.
RADIUS_MM = 50.0
# Radii of the spheres on which framewise displacement is measured.
POWER_RADIUS_MM, JENKINSON_RADIUS_MM = 50.0, 80.0


@dataclass(frozen=True)
class RealignOptions:
    """How motion is estimated; not in the configuration.

    The blur is at least 1.4 voxels and points are at least one voxel apart, whatever the values
    here. ``quality`` is the share of the information on motion kept when points are left out.
    """

    fwhm_mm: float = 6.0
    separation_mm: float = 4.0
    quality: float = 0.98
    register_to_mean: bool = True
    max_iterations: int = 32
    tolerance_mm: float = 3e-3


@dataclass(frozen=True)
class Motion:
    """Motion of every volume relative to the first: parameters (volumes, 6), and convergence."""

    parameters: Floats
    converged: NDArray[np.bool_]


@dataclass(frozen=True)
class _Target:
    """The reference: world points (3, n), its values (n,) and their derivatives (n, 6).

    Values that are not known are NaN.
    """

    points: Floats
    centre: Floats
    values: Floats
    derivatives: Floats

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        return np.isfinite(self.values)

    @cached_property
    def design(self) -> Floats:
        """Derivatives by motion and by the four numbers of the gain (n, 10); zero if not known."""
        gain = np.vstack([np.ones(self.values.size), (self.points - self.centre) / RADIUS_MM]).T
        whole = np.hstack([self.derivatives, self.values[:, None] * gain])
        return np.where(self.known[:, None], whole, 0)

    @cached_property
    def normal(self) -> Floats:
        """Normal matrix (10, 10) over all points."""
        return np.asarray(self.design.T @ self.design)


def estimate_motion(bold: Floats, affine: Floats, options: RealignOptions) -> Motion:
    """Estimate the motion of every volume of ``bold`` (x, y, z, volumes) relative to the first."""
    voxel_mm = np.linalg.norm(affine[:3, :3], axis=0)
    fwhm_mm = max(options.fwhm_mm, FWHM_VOXELS * float(np.prod(voxel_mm) ** (1 / 3)))
    sigma = fwhm_mm / FWHM_PER_SIGMA / voxel_mm
    n_volumes = bold.shape[3]
    volumes = [
        spline_filter(
            gaussian_filter(bold[..., t].astype(np.float32), sigma), SPLINE, output=np.float32
        )
        for t in range(n_volumes)
    ]
    target = _target(volumes[0], affine, options)
    to_voxel = np.linalg.inv(affine)

    pullbacks = np.broadcast_to(np.eye(4), (n_volumes, 4, 4)).copy()
    aligned = np.empty((n_volumes, target.values.size), dtype=np.float32)
    converged = np.ones(n_volumes, dtype=bool)
    aligned[0] = target.values
    for t in range(1, n_volumes):
        # Heads drift: the motion of the previous volume is the best starting point.
        pullbacks[t], aligned[t], converged[t] = _match(
            volumes[t], to_voxel, target, pullbacks[t - 1], options
        )
    if options.register_to_mean:
        mean = _Target(target.points, target.centre, _mean(aligned), target.derivatives)
        for t in range(n_volumes):
            pullbacks[t], _, converged[t] = _match(
                volumes[t], to_voxel, mean, pullbacks[t], options
            )
    # A pullback maps reference to volume; motion maps each volume to the first.
    motion = pullbacks[0] @ np.linalg.inv(pullbacks)
    return Motion(rigid_parameters(motion), converged)


def _mean(aligned: Floats) -> Floats:
    inside = np.isfinite(aligned)
    total = np.where(inside, aligned, 0).sum(axis=0, dtype=float)
    return np.where(inside.any(axis=0), total / np.maximum(inside.sum(axis=0), 1), np.nan)


def _target(coefficients: Floats, affine: Floats, options: RealignOptions) -> _Target:
    """Choose the points of the reference, and differentiate its values by motion there."""
    voxel_mm = np.linalg.norm(affine[:3, :3], axis=0)
    shape = np.array(coefficients.shape)
    axes = [
        np.arange(1.0, n - 2, max(options.separation_mm / mm, 1.0))
        for n, mm in zip(shape, voxel_mm, strict=True)
    ]
    voxels = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")])
    # A grid aligned with the voxels favours whole-voxel motion; the R3 sequence jitters it.
    steps = 1.2207440846057596 ** -np.arange(1.0, 4)
    voxels = voxels + (steps[:, None] * np.arange(voxels.shape[1]) % 1.0) * 0.999

    points = transform(affine, voxels)
    gradient: Floats = np.stack(
        [
            _sample(coefficients, voxels + step) - _sample(coefficients, voxels - step)
            for step in 0.5 * np.eye(3)[:, :, None]
        ]
    )
    gradient = np.linalg.solve(affine[:3, :3].T, gradient)
    derivatives, centre = _derivatives(points, gradient)
    keep = _informative(derivatives, options.quality)
    values = _sample(coefficients, voxels[:, keep])
    return _Target(points[:, keep], centre, values, derivatives[keep])


def _sample(coefficients: Floats, voxels: Floats) -> NDArray[np.float64]:
    sampled: NDArray[np.float64] = map_coordinates(
        coefficients, voxels, output=np.float64, order=SPLINE, prefilter=False, mode="mirror"
    )
    return sampled


def _derivatives(points: Floats, gradient: Floats) -> tuple[Floats, Floats]:
    """Differentiate by motion (n, 6) about the centre of the squared gradient; also return it."""
    weight = np.sum(gradient**2, axis=0)
    centre = (points @ weight / weight.sum())[:, None]
    x, y, z = points - centre
    gx, gy, gz = gradient
    rotations = [gy * z - gz * y, gx * z - gz * x, gx * y - gy * x]
    return np.stack([gx, gy, gz, *rotations], axis=1), centre


def _informative(derivatives: Floats, quality: float) -> NDArray[np.intp]:
    """Points of largest leverage that together make up ``quality`` of its sum."""
    q, _ = np.linalg.qr(derivatives)
    leverage = np.sum(q**2, axis=1)
    order = np.argsort(-leverage, kind="stable")
    n_kept = int(np.searchsorted(np.cumsum(leverage[order]), quality * leverage.sum())) + 1
    return np.sort(order[:n_kept])


def _match(
    coefficients: Floats,
    to_voxel: Floats,
    target: _Target,
    pullback: Floats,
    options: RealignOptions,
) -> tuple[Floats, Floats, bool]:
    """Gauss-Newton for one volume: its pullback, its values at the target's points, success."""
    upper = np.array(coefficients.shape)[:, None] - 1.0
    aligned = np.full(target.values.size, np.nan)
    for _ in range(options.max_iterations):
        voxels = transform(to_voxel @ pullback, target.points)
        inside = np.all((voxels >= 0) & (voxels <= upper), axis=0) & target.known
        sampled = _sample(coefficients, voxels[:, inside])
        values = target.values[inside]
        scaled = sampled * (values.sum() / sampled.sum())
        aligned = np.full(target.values.size, np.nan)
        aligned[inside] = scaled
        # Few points are outside: take these away from the sums over all.
        outside = target.design[~inside]
        normal = target.normal - outside.T @ outside
        scale = np.sqrt(np.diag(normal))
        residual = np.zeros(target.values.size)
        residual[inside] = values - scaled
        moments = target.design.T @ residual / scale
        solution = np.linalg.solve(normal / np.outer(scale, scale), moments) / scale
        step = solution[:6]
        pullback = pullback @ about(target.centre, rigid_matrix(step))
        arc = np.array([1, 1, 1, RADIUS_MM, RADIUS_MM, RADIUS_MM])
        if np.abs(step * arc).max() < options.tolerance_mm:
            return pullback, aligned, True
    return pullback, aligned, False


def check_motion(motion: Motion, shape: tuple[int, ...]) -> None:
    """Refuse a run in which the motion of some volumes could not be estimated."""
    n_lost = np.count_nonzero(~np.isfinite(motion.parameters).all(axis=1))
    if n_lost:
        msg = (
            f"Head motion cannot be estimated in {n_lost} of {len(motion.parameters)} "
            f"volumes: a head of at least four slices was needed, the run of shape {shape} has no "
            "structure to match. Convert it again, or leave this subject out."
        )
        raise SignalError(msg)


def displacement_power(motion: Floats) -> Floats:
    """Framewise displacement of Power et al. 2012 in mm; zero for the first volume.

    Sum of absolute changes of the six parameters, rotations as arcs on a sphere of 50 mm.
    """
    millimetres = motion * ([1.0] * 3 + [POWER_RADIUS_MM] * 3)
    return np.concatenate([[0.0], np.abs(np.diff(millimetres, axis=0)).sum(axis=1)])


def displacement_jenkinson(motion: Floats, centre_mm: Floats) -> Floats:
    """Framewise displacement of Jenkinson et al. 2002 in mm; zero for the first volume.

    Root mean square over a sphere of 80 mm about ``centre_mm`` of the relative motion
    D - I = [A b]: sqrt(R²/5 · tr(AᵀA) + |b + A c|²).
    """
    matrices = rigid_matrix(motion)
    relative = matrices[1:] @ np.linalg.inv(matrices[:-1]) - np.eye(4)
    rotation, shift = relative[:, :3, :3], relative[:, :3, 3]
    at_centre = shift + rotation @ np.asarray(centre_mm)
    variance = JENKINSON_RADIUS_MM**2 / 5 * np.sum(rotation**2, axis=(1, 2))
    return np.concatenate([[0.0], np.sqrt(variance + np.sum(at_centre**2, axis=1))])


def realign_sentence(on_slice_timed: bool, program: str | None = None) -> str:
    """Methods: the volumes on which motion was estimated, and how."""
    volumes = "the slice-timed volumes" if on_slice_timed else "the volumes as acquired"
    own = "rigid least squares, first to the first volume and then to the mean"
    return f"Head motion was estimated on {volumes} by {program or own}."
