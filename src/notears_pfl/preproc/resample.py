"""Take volumes to points of another space in one interpolation."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, map_coordinates, spline_filter

from notears_pfl.geometry import rigid_matrix, transform
from notears_pfl.preproc.rigid import Floats
from notears_pfl.preproc.smooth import FWHM_PER_SIGMA


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


def mni_grid(voxel_mm: float) -> Grid:
    """DPARSF's bounding box in MNI space, −90 −126 −72 to 90 90 108 mm."""
    lower, upper = np.array([-90.0, -126, -72]), np.array([90.0, 90, 108])
    n_x, n_y, n_z = (int(n) + 1 for n in np.floor((upper - lower) / voxel_mm + 1e-9))
    affine = np.diag([voxel_mm, voxel_mm, voxel_mm, 1.0])
    affine[:3, 3] = lower
    return Grid((n_x, n_y, n_z), affine)


def downsample(volume: Floats, affine: Floats, voxel_mm: float) -> tuple[NDArray[np.float32], Grid]:
    """Blur and resample ``volume`` to cubic voxels of at least ``voxel_mm``, same field of view.

    Axes whose voxels are as large already keep them.
    """
    own_mm = np.linalg.norm(affine[:3, :3], axis=0)
    factors = np.maximum(voxel_mm / own_mm, 1.0)
    # Blur to the width of the new voxels, less what the old ones have already.
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


def inside_volume(voxels: Floats, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Tell which ``voxels`` (3, n) lie within half a voxel of the centres of a volume."""
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
        Motion against the first volume (see ``rigid``).
    points : ndarray of shape (3, n)
        World coordinates in the space of the first volume.
    order : int
        Of the interpolating spline: 1 linear, 3 cubic.

    Returns
    -------
    series : ndarray of shape (volumes, n)
    covered : ndarray of shape (n,)
        Points that stayed within the field of view in every volume.
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


def _coefficients(volume: Floats, order: int) -> Floats:
    contiguous = np.ascontiguousarray(volume, dtype=np.float32)
    if order < 2:
        return contiguous
    return np.asarray(spline_filter(contiguous, order=order, mode="nearest", output=np.float32))
