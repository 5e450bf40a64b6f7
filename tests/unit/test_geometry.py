"""Rigid matrices follow SPM's convention; grids are centred where asked."""

import numpy as np
from numpy.testing import assert_allclose

from notears_pfl.geometry import (
    centred_affine,
    grid_points,
    rigid_matrix,
    rigid_parameters,
    transform,
)


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


def test_parameters_survive_the_matrix(rng):
    parameters = rng.uniform(-1, 1, size=(50, 6)) * [20, 20, 20, 1, 1, 1]

    assert_allclose(rigid_parameters(rigid_matrix(parameters)), parameters, atol=1e-12)


def test_points_are_rotated_then_shifted():
    matrix = rigid_matrix(np.array([10, 0, 0, 0, 0, np.pi / 2]))

    moved = transform(matrix, np.array([[0.0, 1], [1, 0], [5, 5]]))

    assert_allclose(moved, [[11, 10], [0, -1], [5, 5]], atol=1e-12)
