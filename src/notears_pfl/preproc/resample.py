"""Sampling images in another space: voxel grids, the map to MNI space, one interpolation."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, map_coordinates, spline_filter

from notears_pfl.geometry import FWHM_PER_SIGMA, Floats, rigid_matrix, transform

# The grid in MNI space is no finer than this share of the mean edge of a BOLD voxel.
FINEST = 0.6


@dataclass(frozen=True)
class ResampleOptions:
    """Voxels in MNI space and order of the spline; the fields are keys of ``preproc.resample``."""

    voxel_mm: float = 3.0
    order: int = 2


@dataclass(frozen=True)
class Grid:
    """A regular grid of voxels in world space."""

    shape: tuple[int, int, int]
    affine: Floats

    @property
    def voxel_mm(self) -> Floats:
        """Edge lengths of a voxel."""
        return np.asarray(np.linalg.norm(self.affine[:3, :3], axis=0))

    def points(self) -> Floats:
        """World coordinates (3, n) of all voxels, in C order."""
        voxels = np.indices(self.shape, dtype=float).reshape(3, -1)
        return transform(self.affine, voxels)


@dataclass(frozen=True)
class Normalisation:
    """The map from template to T1w: p lies at p + v(p), all in RAS+ millimetres.

    ``displacement`` v (x, y, z, 3) is on a ``grid`` of the template; ``affine`` (4, 4) is the
    affine part of the map.
    """

    displacement: NDArray[np.float32]
    grid: Grid
    affine: Floats

    @classmethod
    def from_field(cls, field: Floats, field_affine: Floats, affine: Floats) -> "Normalisation":
        """Make the map from a stored ``field`` (x, y, z, 1, 3) of displacements."""
        n_x, n_y, n_z = field.shape[:3]
        displacement = np.asarray(field, dtype=np.float32).reshape(n_x, n_y, n_z, 3)
        return cls(displacement, Grid((n_x, n_y, n_z), field_affine), np.asarray(affine))

    @classmethod
    def from_displacement(cls, displacement: Floats, grid: Grid) -> "Normalisation":
        """Make the map from the displacement (n, 3) of every voxel of ``grid``, in C order.

        Its affine part is the nearest affine, over the voxels where the map is finite.
        """
        finite = np.isfinite(displacement).all(axis=1)
        points = grid.points().T[finite]
        design = np.column_stack([points, np.ones(len(points))])
        rows = np.linalg.lstsq(design, points + displacement[finite], rcond=None)[0].T
        affine = np.vstack([rows, [0, 0, 0, 1]])
        return cls(displacement.reshape(*grid.shape, 3).astype(np.float32), grid, affine)

    def affine_only(self) -> "Normalisation":
        """Keep only the affine part of the map."""
        points = self.grid.points()
        shift = transform(self.affine, points) - points
        displacement = shift.T.reshape(*self.grid.shape, 3).astype(np.float32)
        return Normalisation(displacement, self.grid, self.affine)

    def to_t1w(self, points: Floats) -> Floats:
        """T1w coordinates of template ``points`` (3, n)."""
        voxels = transform(np.linalg.inv(self.grid.affine), points)
        shift = [
            map_coordinates(self.displacement[..., axis], voxels, order=1, mode="nearest")
            for axis in range(3)
        ]
        return np.asarray(points + np.stack(shift))

    def to_template(self, points: Floats, n_iterations: int = 10) -> Floats:
        """Template coordinates of T1w ``points`` (3, n), by fixed-point iteration."""
        back = np.linalg.inv(self.affine)
        found = transform(back, points)
        for _ in range(n_iterations):
            found = found - back[:3, :3] @ (self.to_t1w(found) - points)
        return found

    def jacobian(self) -> Floats:
        """Jacobian determinant at each voxel: the change of volume, positive without folding."""
        by_voxel = np.stack([np.gradient(self.displacement, axis=a) for a in range(3)], axis=-1)
        derivative = np.eye(3) + by_voxel @ np.linalg.inv(self.grid.affine[:3, :3])
        return np.asarray(np.linalg.det(derivative))


def mni_grid(voxel_mm: float) -> Grid:
    """DPARSF's bounding box in MNI space, −90 −126 −72 to 90 90 108 mm."""
    lower, upper = np.array([-90.0, -126, -72]), np.array([90.0, 90, 108])
    n_x, n_y, n_z = (int(n) + 1 for n in np.floor((upper - lower) / voxel_mm + 1e-9))
    affine = np.diag([voxel_mm, voxel_mm, voxel_mm, 1.0])
    affine[:3, 3] = lower
    return Grid((n_x, n_y, n_z), affine)


def grid_for(bold_affine: Floats, options: ResampleOptions) -> Grid:
    """Grid in MNI space for a run: voxels as asked for, unless the BOLD voxels are much larger."""
    return mni_grid(max(options.voxel_mm, round(FINEST * mean_edge_mm(bold_affine), 1)))


def mean_edge_mm(affine: Floats) -> float:
    """Edge of a cube of a voxel's volume."""
    return float(abs(np.linalg.det(affine[:3, :3])) ** (1 / 3))


def downsample(volume: Floats, affine: Floats, voxel_mm: float) -> tuple[NDArray[np.float32], Grid]:
    """Blur and resample ``volume`` to voxels of at least ``voxel_mm``, same field of view.

    Axes whose voxels are already that large keep them.
    """
    own_mm = np.linalg.norm(affine[:3, :3], axis=0)
    factors = np.maximum(voxel_mm / own_mm, 1.0)
    # Blur to the width of the new voxels, minus the width of the old ones.
    sigma = np.sqrt(factors**2 - 1) / FWHM_PER_SIGMA
    n_x, n_y, n_z = (int(n) for n in np.ceil(np.array(volume.shape[:3]) / factors - 1e-6))
    scaling = np.diag([*factors, 1.0])
    scaling[:3, 3] = (factors - 1) / 2
    grid = Grid((n_x, n_y, n_z), affine @ scaling)
    blurred = gaussian_filter(np.asarray(volume, dtype=np.float32), sigma, mode="nearest")
    axes = [np.arange(n) * f + (f - 1) / 2 for n, f in zip(grid.shape, factors, strict=True)]
    voxels = np.stack(np.meshgrid(*axes, indexing="ij"))
    sampled = map_coordinates(blurred, voxels, order=1, mode="nearest")
    return sampled, grid


def cropped(volume: Floats, affine: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Crop ``volume`` (x, y, z) to voxels ``low`` to ``high`` (3,), both kept; also its affine.

    Voxels beyond the volume are left out; at least two along each axis are kept.
    """
    n = np.array(volume.shape)
    first = np.clip(np.floor(low), 0, n - 2).astype(int)
    end = np.clip(np.ceil(high) + 1, first + 2, n).astype(int)
    box = volume[tuple(slice(a, b) for a, b in zip(first, end, strict=True))]
    moved = affine.copy()
    moved[:3, 3:] = transform(affine, first[:, None].astype(float))
    return box, moved


def inside_volume(voxels: Floats, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Tell which ``voxels`` (3, n) lie within half a voxel of the voxel centres of a volume."""
    upper = np.array(shape[:3])[:, None] - 0.5
    return np.asarray(np.all((voxels > -0.5) & (voxels < upper), axis=0))


def sample_volume(volume: Floats, affine: Floats, points: Floats, order: int) -> Floats:
    """Interpolate ``volume`` at world ``points`` (3, n); zero outside."""
    voxels = transform(np.linalg.inv(affine), points)
    coefficients = _coefficients(volume, order)
    sampled = map_coordinates(coefficients, voxels, order=order, mode="nearest", prefilter=False)
    sampled[~inside_volume(voxels, volume.shape)] = 0
    return np.asarray(sampled)


def sample_moving_volumes(
    bold: Floats, affine: Floats, motion: Floats, points: Floats, order: int
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Interpolate every volume where its motion has carried ``points`` (3, n).

    Parameters
    ----------
    bold : ndarray of shape (x, y, z, volumes)
    affine : ndarray of shape (4, 4)
        Voxel to world, of all volumes.
    motion : ndarray of shape (volumes, 6)
        Motion relative to the first volume, as in ``geometry.rigid_matrix``.
    points : ndarray of shape (3, n)
        World coordinates in the space of the first volume.
    order : int
        Of the interpolating spline: 1 linear, 3 cubic.

    Returns
    -------
    series : ndarray of shape (volumes, n)
    covered : ndarray of shape (n,)
        Points within the field of view of every volume.
    """
    series = np.empty((bold.shape[3], points.shape[1]), dtype=np.float32)
    covered = np.ones(points.shape[1], dtype=bool)
    to_voxel = np.linalg.inv(affine)
    for t, matrix in enumerate(rigid_matrix(motion)):
        voxels = transform(to_voxel @ np.linalg.inv(matrix), points)
        covered &= inside_volume(voxels, bold.shape)
        map_coordinates(
            _coefficients(bold[..., t], order),
            voxels,
            output=series[t],
            order=order,
            mode="nearest",
            prefilter=False,
        )
    series[:, ~covered] = 0
    return series, covered


def resample_sentence(options: ResampleOptions, voxel_mm: float) -> str:
    """Methods: what was applied in the one interpolation, and the voxel size."""
    return (
        "Motion correction, registration and normalisation were applied in one interpolation "
        f"(B-spline of order {options.order}) at {voxel_mm:g} mm."
    )


def _coefficients(volume: Floats, order: int) -> Floats:
    contiguous = np.ascontiguousarray(volume, dtype=np.float32)
    if order < 2:
        return contiguous
    return np.asarray(spline_filter(contiguous, order=order, mode="nearest", output=np.float32))
