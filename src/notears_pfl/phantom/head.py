"""The phantom's head in template space, and the deformation of each subject.

The brain is the MNI152 template; skull, scalp, face and neck are shells and an ellipsoid around
it, so that brain extraction has work to do. A subject's head coordinates h map to the template by
p = h + u(h), with u a smooth displacement on a coarse grid.
"""

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import (
    distance_transform_edt,
    gaussian_filter,
    map_coordinates,
    maximum_filter,
)
from scipy.spatial import KDTree

from notears_pfl.geometry import FWHM_PER_SIGMA, centred_affine, grid_points, transform

# Outer limits of the shells around the brain, mm from its surface.
CSF_MM, SKULL_MM, SCALP_MM = 2.5, 8.0, 14.0
# Face and neck: an ellipsoid in front of and below the brain (centre and radii, mm).
FACE_CENTRE_MM, FACE_RADII_MM = np.array([0, 10, -75]), np.array([62, 85, 62])
# Room below the template for the neck, mm.
NECK_MM = 40

# Intensities by tissue, relative to grey matter in BOLD and to bright white matter in T1w.
T1W_INTENSITY = {"csf": 0.25, "skull": 0.08, "scalp": 0.9, "face": 0.5}
BOLD_INTENSITY = {"grey": 1.0, "white": 0.85, "csf": 1.3, "skull": 0.1, "scalp": 0.4, "face": 0.5}

# Resolution at which the template is used.
TEMPLATE_MM = 2

# Grid of the deformation: much finer than its smoothness, and small on disk.
FIELD_VOXEL_MM = 8.0
FIELD_SHAPE = (32, 36, 34)
FIELD_CENTRE_MM = np.array([0.0, -18.0, 0.0])


@dataclass(frozen=True)
class Head:
    """Images of one head, all of shape (nx, ny, nz) on one grid, and the grid's affine."""

    t1w: np.ndarray
    bold: np.ndarray
    brain: np.ndarray
    labels: np.ndarray
    affine: np.ndarray


@dataclass(frozen=True)
class AnatomyOptions:
    """How subjects differ in shape and position; the settings of ``phantom.anatomy``."""

    deformation_mm: float
    deformation_fwhm_mm: float
    size_percent: float
    offset_mm: float
    offset_deg: float
    between_scans_mm: float
    between_scans_deg: float
    bias_percent: float


def template_head(
    t1w: np.ndarray, grey: np.ndarray, white: np.ndarray, brain: np.ndarray, affine: np.ndarray,
    coordinates: np.ndarray, max_distance_mm: float,
) -> Head:  # fmt: skip
    """Put skull, scalp, face and a surrogate parcellation on the template brain.

    Parameters
    ----------
    t1w, grey, white : ndarray of shape (nx, ny, nz)
        Template T1w image (0 to 1) and tissue probabilities.
    brain : bool ndarray of shape (nx, ny, nz)
        The template's brain mask.
    affine : ndarray of shape (4, 4)
        Of the template's grid, along the world's axes.
    coordinates : ndarray of shape (n_rois, 3)
        Centres of the regions, mm.
    max_distance_mm : float
        A voxel farther than this from every centre belongs to no region.
    """
    voxel_mm = np.diag(affine)[:3]
    below = round(NECK_MM / voxel_mm[2])
    t1w, grey, white = (np.pad(a, ((0, 0), (0, 0), (below, 0))) for a in (t1w, grey, white))
    brain = np.pad(brain, ((0, 0), (0, 0), (below, 0)))
    affine = affine.copy()
    affine[2, 3] -= below * voxel_mm[2]

    outside_mm = distance_transform_edt(~brain, sampling=voxel_mm)
    points = grid_points(brain.shape, affine)
    from_face = (points - FACE_CENTRE_MM[:, None, None, None]) / FACE_RADII_MM[:, None, None, None]
    in_face = (from_face**2).sum(axis=0) < 1
    # From the outside inwards, each layer drawn over the one around it.
    layers = {
        "face": in_face,
        "scalp": outside_mm < SCALP_MM,
        "skull": outside_mm < SKULL_MM,
        "csf": outside_mm < CSF_MM,
    }
    head_t1w, head_bold = np.zeros(brain.shape), np.zeros(brain.shape)
    for tissue, layer in layers.items():
        head_t1w[layer] = T1W_INTENSITY[tissue]
        head_bold[layer] = BOLD_INTENSITY[tissue]
    csf = np.clip(1 - grey - white, 0, 1)
    mixed = sum(
        BOLD_INTENSITY[tissue] * share
        for tissue, share in (("grey", grey), ("white", white), ("csf", csf))
    )
    return Head(
        t1w=np.where(brain, t1w, head_t1w).astype(np.float32),
        bold=np.where(brain, mixed, head_bold).astype(np.float32),
        brain=brain,
        labels=surrogate_parcellation(brain, affine, coordinates, max_distance_mm),
        affine=affine,
    )


def surrogate_parcellation(
    brain: np.ndarray, affine: np.ndarray, coordinates: np.ndarray, max_distance_mm: float
) -> np.ndarray:
    """Give each brain voxel the number (from 1) of the nearest centre, 0 beyond the distance."""
    labels = np.zeros(brain.shape, dtype=np.int16)
    points = transform(affine, np.argwhere(brain).T.astype(float))
    _, nearest = KDTree(coordinates).query(points.T, distance_upper_bound=max_distance_mm)
    labels[brain] = np.where(nearest < len(coordinates), nearest + 1, 0)
    return labels


def field_affine() -> np.ndarray:
    """Affine of the deformation's grid."""
    return centred_affine(FIELD_SHAPE, np.full(3, FIELD_VOXEL_MM), FIELD_CENTRE_MM)


def random_deformation(rng: np.random.Generator, options: AnatomyOptions) -> np.ndarray:
    """Draw u(h), of shape (*FIELD_SHAPE, 3) in mm: a smooth field and a change of size."""
    sigma = options.deformation_fwhm_mm / FWHM_PER_SIGMA / FIELD_VOXEL_MM
    noise = rng.standard_normal((*FIELD_SHAPE, 3))
    smooth = gaussian_filter(noise, (sigma, sigma, sigma, 0), mode="wrap")
    smooth *= options.deformation_mm / smooth.std(axis=(0, 1, 2))
    growth = rng.normal(0, options.size_percent / 100, size=3)
    size = np.moveaxis(grid_points(FIELD_SHAPE, field_affine()), 0, -1) * growth
    return np.asarray(smooth + size, dtype=np.float32)


def to_template(field: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Template coordinates p = h + u(h) of head coordinates ``points`` of shape (3, …)."""
    indices = transform(np.linalg.inv(field_affine()), points)
    u = [map_coordinates(field[..., axis], indices, order=1, mode="nearest") for axis in range(3)]
    return points + np.stack(u)


def grid_to_template(field: np.ndarray, shape: tuple[int, ...], affine: np.ndarray) -> np.ndarray:
    """Template coordinates of a grid along the head's axes: :func:`to_template`, axis by axis."""
    u = field
    for axis, n in enumerate(shape):
        voxel_mm, origin_mm = affine[axis, axis], affine[axis, 3]
        field_mm, field_origin_mm = field_affine()[axis, [axis, 3]]
        index = (voxel_mm * np.arange(n) + origin_mm - field_origin_mm) / field_mm
        index = np.clip(index, 0, field.shape[axis] - 1)
        before = np.minimum(index.astype(int), field.shape[axis] - 2)
        share = (index - before).reshape(-1, *[1] * (3 - axis))
        u = u.take(before, axis) * (1 - share) + u.take(before + 1, axis) * share
    return grid_points(shape, affine) + np.moveaxis(u, -1, 0)


def where_shown(image: np.ndarray, affine: np.ndarray, field: np.ndarray) -> np.ndarray:
    """Where ``image``, deformed by ``field``, may not be 0: a mask in head coordinates.

    It is on the image's grid, with some room, and has a border, since beyond it nothing is known.
    """
    points = grid_to_template(field, image.shape, affine)
    there = sample_labels(maximum_filter(image != 0, size=3), affine, points)
    return np.pad(maximum_filter(there, size=5), 1, constant_values=True)


def sample(image: np.ndarray, affine: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Values of ``image`` at world coordinates ``points`` of shape (3, …); 0 outside."""
    indices = transform(np.linalg.inv(affine), points)
    # Between voxels that are all 0, as in air, there is nothing to interpolate.
    near = nearest(maximum_filter(image != 0, size=3), indices)
    values = np.zeros(points.shape[1:], dtype=image.dtype)
    values[near] = map_coordinates(image, indices[:, near], order=1, mode="constant", cval=0)
    return values


def sample_labels(labels: np.ndarray, affine: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Label of the voxel at world coordinates ``points`` of shape (3, …); 0 outside."""
    return nearest(labels, transform(np.linalg.inv(affine), points))


def nearest(image: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Value of the voxel nearest to ``indices`` of shape (3, …); 0 outside."""
    return nearest_within(np.pad(image, 1), indices)


def nearest_within(bordered: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """:func:`nearest` in an image that has a border of zeros, one voxel wide."""
    # Beyond the border is on it.
    i, j, k = (
        np.clip(np.rint(index).astype(np.int32) + 1, 0, n - 1)
        for index, n in zip(indices, bordered.shape, strict=True)
    )
    return np.asarray(bordered.ravel().take((i * bordered.shape[1] + j) * bordered.shape[2] + k))


def random_rigid(rng: np.random.Generator, sd_mm: float, sd_deg: float) -> np.ndarray:
    """Draw (tx, ty, tz) in mm and (rx, ry, rz) in radians."""
    return np.concatenate([rng.normal(0, sd_mm, 3), np.deg2rad(rng.normal(0, sd_deg, 3))])
