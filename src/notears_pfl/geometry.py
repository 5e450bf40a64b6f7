"""Rigid motion and voxel grids, in millimetres of world space (RAS+)."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
# Full width at half maximum of a Gaussian of standard deviation one.
FWHM_PER_SIGMA = float(np.sqrt(8 * np.log(2)))
# TemplateFlow's name of the template that nilearn ships, to which T1w images are normalised.
# nilearn's documentation calls it asymmetric; its files are the symmetric release and mirror images
# of themselves.
TEMPLATE_SPACE = "MNI152NLin2009aSym"
# The space that SPM's own tissue probability maps define, as BIDS names it.
SPM_SPACE = "IXI549Space"


def rigid_matrix(parameters: np.ndarray) -> np.ndarray:
    """Build the 4 × 4 matrix of (tx, ty, tz) in mm and (rx, ry, rz) in radians.

    T Rx Ry Rz with SPM's signs (``spm_matrix``), so that parameters can be compared with
    those in SPM's ``rp_*.txt``. Leading axes are kept: (…, 6) gives (…, 4, 4).
    """
    parameters = np.asarray(parameters, dtype=float)
    cos, sin = np.cos(parameters[..., 3:]), np.sin(parameters[..., 3:])
    rotation = np.broadcast_to(np.eye(3), (*parameters.shape[:-1], 3, 3))
    for axis, (row, column) in enumerate([(1, 2), (0, 2), (0, 1)]):
        turn = np.zeros_like(rotation)
        turn[..., axis, axis] = 1
        turn[..., row, row] = turn[..., column, column] = cos[..., axis]
        turn[..., row, column] = sin[..., axis]
        turn[..., column, row] = -sin[..., axis]
        rotation = rotation @ turn
    matrix = np.zeros((*parameters.shape[:-1], 4, 4))
    matrix[..., :3, :3] = rotation
    matrix[..., :3, 3] = parameters[..., :3]
    matrix[..., 3, 3] = 1
    return matrix


def rigid_parameters(matrix: Floats) -> Floats:
    """Parameters (..., 6) of rigid matrices (..., 4, 4): the inverse of ``rigid_matrix``."""
    matrix = np.asarray(matrix, dtype=float)
    ry = np.arcsin(np.clip(matrix[..., 0, 2], -1, 1))
    rx = np.arctan2(matrix[..., 1, 2], matrix[..., 2, 2])
    rz = np.arctan2(matrix[..., 0, 1], matrix[..., 0, 0])
    return np.concatenate([matrix[..., :3, 3], np.stack([rx, ry, rz], axis=-1)], axis=-1)


def about(centre: Floats, matrix: Floats) -> Floats:
    """Rotate by ``matrix`` (4, 4) about ``centre`` (3, 1) instead of the origin."""
    moved = matrix.copy()
    moved[:3, 3:] += centre - matrix[:3, :3] @ centre
    return moved


def nearest_ras(volume: np.ndarray, affine: Floats) -> tuple[np.ndarray, Floats]:
    """Reorder and flip the axes of ``volume`` (x, y, z) to run right, forwards and up.

    Also return the affine that goes with it: every voxel keeps its place in the world. An oblique
    axis goes to the world's axis that it is nearest to; the steepest one is placed first.
    """
    cosines = affine[:3, :3] / np.linalg.norm(affine[:3, :3], axis=0)
    left = np.abs(cosines)
    order = np.zeros(3, dtype=int)
    for _ in range(3):
        world, axis = np.unravel_index(np.argmax(left), left.shape)
        order[world] = axis
        left[world, :], left[:, axis] = -1, -1
    reordered, matrix = np.transpose(volume, order), np.array(affine)[:, [*order, 3]]
    for end, axis in enumerate(order):
        if cosines[end, axis] < 0:
            matrix[:, 3] += (reordered.shape[end] - 1) * matrix[:, end]
            matrix[:, end] *= -1
            reordered = np.flip(reordered, axis=end)
    return np.ascontiguousarray(reordered), matrix


def centred_affine(
    shape: tuple[int, ...], voxel_mm: np.ndarray, centre_mm: np.ndarray
) -> np.ndarray:
    """Affine of a grid along the world axes, centred at ``centre_mm``."""
    affine = np.diag([*voxel_mm, 1.0])
    affine[:3, 3] = centre_mm - np.asarray(voxel_mm) * (np.asarray(shape[:3]) - 1) / 2
    return affine


def grid_points(shape: tuple[int, ...], affine: np.ndarray) -> np.ndarray:
    """World coordinates of every voxel, of shape (3, *shape)."""
    indices = np.indices(shape[:3], dtype=float).reshape(3, -1)
    return transform(affine, indices).reshape(3, *shape[:3])


def transform(matrix: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Apply a 4 × 4 matrix to points of shape (3, …)."""
    flat = matrix[:3, :3] @ points.reshape(3, -1) + matrix[:3, 3:]
    return flat.reshape(points.shape)
