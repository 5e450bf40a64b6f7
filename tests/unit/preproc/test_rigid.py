"""Motion matrices follow SPM's convention and come back as parameters."""

import numpy as np
from numpy.testing import assert_allclose

from notears_pfl.geometry import rigid_matrix, transform
from notears_pfl.geometry import rigid_parameters


def test_parameters_survive_the_matrix(rng):
    parameters = rng.uniform(-1, 1, size=(50, 6)) * [20, 20, 20, 1, 1, 1]

    assert_allclose(rigid_parameters(rigid_matrix(parameters)), parameters, atol=1e-12)


def test_matrices_are_rigid_and_turn_as_those_of_spm():
    matrix = rigid_matrix(np.array([1, 2, 3, 0.1, 0.2, 0.3]))

    # The product T * Rx * Ry * Rz of spm_matrix.m, with its signs.
    rx = np.array([[1, 0, 0], [0, np.cos(0.1), np.sin(0.1)], [0, -np.sin(0.1), np.cos(0.1)]])
    ry = np.array([[np.cos(0.2), 0, np.sin(0.2)], [0, 1, 0], [-np.sin(0.2), 0, np.cos(0.2)]])
    rz = np.array([[np.cos(0.3), np.sin(0.3), 0], [-np.sin(0.3), np.cos(0.3), 0], [0, 0, 1]])
    assert_allclose(matrix[:3, :3], rx @ ry @ rz, atol=1e-12)
    assert_allclose(matrix[:3, 3], [1, 2, 3])
    assert_allclose(np.linalg.det(matrix), 1)


def test_points_are_rotated_then_shifted():
    matrix = rigid_matrix(np.array([10, 0, 0, 0, 0, np.pi / 2]))

    moved = transform(matrix, np.array([[0.0, 1], [1, 0], [5, 5]]))

    assert_allclose(moved, [[11, 10], [0, -1], [5, 5]], atol=1e-12)
