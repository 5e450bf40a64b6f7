"""Movements follow SPM's convention; grids lie where they are asked to."""

import numpy as np
from numpy.testing import assert_allclose

from notears_pfl.geometry import centred_affine, grid_points, rigid_matrix, transform


def test_rigid_matrix_is_the_product_that_spm_writes_out():
    tx, ty, tz, rx, ry, rz = parameters = np.array([1.0, -2, 3, 0.1, -0.2, 0.3])
    c, s = np.cos, np.sin
    T = np.array([[1, 0, 0, tx], [0, 1, 0, ty], [0, 0, 1, tz], [0, 0, 0, 1]])
    X = np.array([[1, 0, 0, 0], [0, c(rx), s(rx), 0], [0, -s(rx), c(rx), 0], [0, 0, 0, 1]])
    Y = np.array([[c(ry), 0, s(ry), 0], [0, 1, 0, 0], [-s(ry), 0, c(ry), 0], [0, 0, 0, 1]])
    Z = np.array([[c(rz), s(rz), 0, 0], [-s(rz), c(rz), 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])

    assert_allclose(rigid_matrix(parameters), T @ X @ Y @ Z, atol=1e-15)


def test_rigid_matrix_of_many_movements_stacks_those_of_each(rng):
    motion = rng.normal(size=(3, 6))

    assert_allclose(rigid_matrix(motion), [rigid_matrix(row) for row in motion])


def test_the_middle_of_a_centred_grid_is_its_centre():
    shape, centre = (5, 7, 9), np.array([1.0, -18, 10])

    points = grid_points(shape, centred_affine(shape, np.array([3.0, 3, 4]), centre))

    assert_allclose(points[:, 2, 3, 4], centre)
    assert_allclose(points[:, 3, 3, 4] - points[:, 2, 3, 4], [3, 0, 0])


def test_transform_applies_the_matrix_to_each_point(rng):
    matrix, points = rigid_matrix(rng.normal(size=6)), rng.normal(size=(3, 2, 5))

    moved = transform(matrix, points)

    assert_allclose(moved[:, 1, 4], (matrix @ [*points[:, 1, 4], 1])[:3])
