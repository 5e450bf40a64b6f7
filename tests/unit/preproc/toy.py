"""A toy head: an ellipsoidal brain of known tissues inside fluid, skull and scalp."""

from pathlib import Path

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.special import expit

from notears_pfl.geometry import centred_affine, grid_points

ROOT = Path(__file__).parents[3]
RADII_MM = np.array([62.0, 80.0, 60.0])
CENTRE_MM = np.array([0.0, -18.0, 8.0])


def toy_tissues(points):
    """Shares of fluid, grey and white matter (3, …) of a brain at world ``points`` (3, …)."""
    x, y, z = points - CENTRE_MM.reshape(-1, *[1] * (points.ndim - 1))
    folds = 0.2 * (np.cos(x / 7) + np.cos(y / 8 + z / 11) + np.cos(z / 7 - x / 13))
    radius = np.sqrt((x / RADII_MM[0]) ** 2 + (y / RADII_MM[1]) ** 2 + (z / RADII_MM[2]) ** 2)
    white = expit((0.72 - radius - folds) / 0.03)
    brain = expit((1 - radius) / 0.01)
    depth = ((np.abs(x) - 20) / 14) ** 2 + (y / 45) ** 2 + (z / 18) ** 2
    ventricle = expit((1 - depth) / 0.05)
    fluid = brain * ventricle
    white = white * brain * (1 - ventricle)
    return np.stack([fluid, brain - fluid - white, white])


def toy_brain_radius(points):
    """Ellipsoidal distance from the centre: the brain ends at 1."""
    return np.sqrt(
        sum(((p - c) / r) ** 2 for p, c, r in zip(points, CENTRE_MM, RADII_MM, strict=True))
    )


def toy_texture(points):
    """Give a brain with structure everywhere, for what tissues alone leave undetermined."""
    x, y, z = points
    waves = np.cos(x / 6 + y / 9) + np.cos(y / 7 - z / 11) + np.cos(z / 6 + x / 13) + np.cos(y / 5)
    return np.where(toy_brain_radius(points) < 1, 600 + 100 * waves, 0)


def toy_head(voxel_mm=3.0, points=None, shape=(62, 76, 66)):
    """T1w image (x, y, z) of a toy head, its affine, brain mask and tissues.

    ``points`` (3, x, y, z), where given, are the head's coordinates of each voxel.
    """
    affine = centred_affine(shape, np.full(3, voxel_mm), CENTRE_MM)
    if points is None:
        points = grid_points(shape, affine)
    tissues, radius = toy_tissues(points), toy_brain_radius(points)
    t1w = 300 * tissues[0] + 650 * tissues[1] + 1000 * tissues[2]
    t1w += np.where((radius > 1) & (radius < 1.06), 250, 0)
    t1w += np.where((radius > 1.18) & (radius < 1.3), 900, 0)
    return gaussian_filter(t1w, 0.4), affine, radius < 1, tissues


def left_handed(image, affine):
    """Store an image (x, y, z, …) from the other side, as most scanners do; it lies as before."""
    turn = np.diag([-1.0, 1.0, 1.0, 1.0])
    turn[0, 3] = image.shape[0] - 1
    return image[::-1], affine @ turn
