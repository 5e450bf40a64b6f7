"""Anderson acceleration solves what the plain map crawls to."""

import numpy as np
from numpy.testing import assert_allclose

from notears_pfl.model.acceleration import Anderson


def test_anderson_finds_the_fixed_point_of_a_linear_map_in_as_many_steps_as_dimensions(rng):
    Q = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    A, b = Q @ np.diag([0.99, 0.9, 0.5, 0.2, 0.1]) @ Q.T, rng.normal(size=5)
    solution = np.linalg.solve(np.eye(5) - A, b)
    anderson, T = Anderson(memory=10), np.zeros(5)

    for _ in range(9):
        T = anderson.next(T, A @ T + b - T)

    assert_allclose(T, solution, rtol=1e-3)
