"""h is zero on DAGs, positive on cycles, and 2 Z∘G is its gradient."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime

from notears_pfl.model.acyclicity import LogDeterminant, TraceExponential

BOTH = pytest.mark.parametrize("h", [TraceExponential(), LogDeterminant()])


@BOTH
def test_h_is_zero_on_dags(h, rng):
    Z = np.triu(rng.normal(size=(3, 6, 6)), k=1)

    assert_allclose(h.evaluate(Z, 0.9)[0], 0, atol=1e-12)


@BOTH
def test_h_is_positive_on_a_two_cycle(h):
    Z = np.array([[[0, 0.5], [0.5, 0]]])

    assert h.evaluate(Z, 0.9)[0][0] > 0.05


@BOTH
def test_gradient_of_h_matches_finite_differences(h, rng):
    Z = 0.3 * rng.normal(size=(1, 4, 4))

    numeric = approx_fprime(Z.ravel(), lambda z: h.evaluate(z.reshape(1, 4, 4), 0.9)[0][0], 1e-7)

    assert_allclose((2 * Z * h.evaluate(Z, 0.9)[1]).ravel(), numeric, atol=1e-5)


@BOTH
def test_sites_are_independent(h, rng):
    Z = 0.3 * rng.normal(size=(3, 5, 5))

    together = h.evaluate(Z, 0.9)
    alone = h.evaluate(Z[1:2], 0.9)

    assert_allclose(together[0][1], alone[0][0], rtol=1e-13)
    assert_allclose(together[1][1], alone[1][0], rtol=1e-13)


def test_log_determinant_is_undefined_where_a_cycle_is_too_strong():
    Z = np.array([[[0, 1.1], [1.1, 0]]])

    assert LogDeterminant().evaluate(Z, 1.0) is None
