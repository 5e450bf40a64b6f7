"""Head motion as numbers: the inverse of ``geometry.rigid_matrix`` (SPM's convention)."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]


def rigid_parameters(matrix: Floats) -> Floats:
    """Parameters (..., 6) of rigid matrices (..., 4, 4): tx ty tz in mm, rx ry rz in radians."""
    matrix = np.asarray(matrix, dtype=float)
    ry = np.arcsin(np.clip(matrix[..., 0, 2], -1, 1))
    rx = np.arctan2(matrix[..., 1, 2], matrix[..., 2, 2])
    rz = np.arctan2(matrix[..., 0, 1], matrix[..., 0, 0])
    return np.concatenate([matrix[..., :3, 3], np.stack([rx, ry, rz], axis=-1)], axis=-1)


def about(centre: Floats, matrix: Floats) -> Floats:
    """Let the rotation of ``matrix`` (4, 4) be about ``centre`` (3, 1) instead of the origin."""
    moved = matrix.copy()
    moved[:3, 3:] += centre - matrix[:3, :3] @ centre
    return moved
