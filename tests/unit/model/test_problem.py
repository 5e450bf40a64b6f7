"""Every prox is the minimiser that it claims to be; h is zero on DAGs, and 2 Z∘G its gradient."""

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime

from notears_pfl.model.problem import (
    L1,
    EdgeGroup,
    GroupFused,
    LogDeterminant,
    Parameters,
    TraceExponential,
    acyclic_threshold,
    fuses_completely,
    group_fused_prox,
    is_acyclic,
    penalty_terms,
)

BOTH = pytest.mark.parametrize("h", [TraceExponential(), LogDeterminant()])
K, d = 4, 3
EVERYWHERE = np.ones((K, d, d), dtype=bool)
TERMS = [L1(0.4), EdgeGroup(0.5, 0.0), EdgeGroup(0.5, 0.8), EdgeGroup(0.2, 3.0), GroupFused(0.9)]


def metric(term, rng):
    return np.full((d, d), 1.7) if term.needs_uniform_metric else rng.uniform(0.5, 2, (d, d))


def in_cvxpy(term, Z):
    """Write the term with cvxpy; Z has one row per site and one column per edge."""
    if isinstance(term, L1):
        return term.lambda1 * cp.sum(cp.abs(Z))
    if isinstance(term, GroupFused):
        return term.lambda2 * cp.sum(cp.norm(cp.diff(Z, axis=0), 2, axis=1))
    deviation = Z - np.ones((K, K)) / K @ Z
    groups = cp.sum(cp.norm(Z, 2, axis=0)) + term.kappa * cp.sum(cp.norm(deviation, 2, axis=0))
    return term.lambda2 * groups


@pytest.mark.parametrize("term", TERMS, ids=str)
def test_prox_agrees_with_cvxpy(term, rng):
    V, M = rng.normal(size=(K, d, d)), metric(term, rng)
    Z = cp.Variable((K, d * d))
    distance = cp.sum_squares(cp.multiply(np.sqrt(M).ravel()[None], Z - V.reshape(K, -1)))
    cp.Problem(cp.Minimize(in_cvxpy(term, Z) + 0.5 * distance)).solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9
    )

    prox = term.prox(V, M, EVERYWHERE)

    assert_allclose(prox.reshape(K, -1), Z.value, atol=1e-4)


@pytest.mark.parametrize("term", TERMS, ids=str)
def test_prox_satisfies_the_inequality_of_proximal_points(term, rng):
    # P = prox(V) exactly when ⟨M (V − P), X − P⟩ ≤ term(X) − term(P) for every X.
    V, M = rng.normal(size=(K, d, d)), metric(term, rng)

    P = term.prox(V, M, EVERYWHERE)

    for scale in (1e-3, 1e-1, 1, 10):
        X = P + scale * rng.normal(size=P.shape)
        assert (
            np.sum(M * (V - P) * (X - P))
            <= term.value(X, EVERYWHERE) - term.value(P, EVERYWHERE) + 1e-7
        )


@pytest.mark.parametrize("term", TERMS, ids=str)
def test_prox_does_not_write_to_its_argument(term, rng):
    V, M = rng.normal(size=(K, d, d)), metric(term, rng)
    before = V.copy()

    term.prox(V, M, EVERYWHERE)

    assert_allclose(V, before, rtol=0)


@pytest.mark.parametrize("term", [L1(0.4), EdgeGroup(0.5, 0.8)], ids=str)
def test_masked_prox_ignores_what_is_not_allowed(term, rng):
    V, M = rng.normal(size=(K, d, d)), metric(term, rng)
    allowed = np.ones((K, d, d), dtype=bool)
    allowed[2:] = False

    masked = term.prox(V, M, allowed)

    assert_allclose(masked[:2], term.prox(V[:2], M, allowed[:2]), rtol=1e-13)
    assert not masked[2:].any()


def test_group_fused_prox_keeps_the_jump_of_a_step_signal():
    V = np.array([[0.0], [0.0], [3.0], [3.0]])

    Z = group_fused_prox(V, threshold=1.0)

    # Each half moves by threshold / (number of rows in it) towards the other.
    assert_allclose(Z.ravel(), [0.5, 0.5, 2.5, 2.5], atol=1e-7)


def test_full_fusion_is_recognised_at_its_threshold():
    V = np.array([[0.0], [0.0], [3.0], [3.0]])

    assert fuses_completely(V, 3.0)
    assert not fuses_completely(V, 2.99)


@pytest.mark.parametrize(
    ("name", "parameters", "expected"),
    [
        ("chain", (0.1, 0.2, 0.0), [L1(0.1), GroupFused(0.2)]),
        ("chain", (0.1, 0.0, 0.0), [L1(0.1)]),
        ("edgewise", (0.0, 0.2, 0.5), [EdgeGroup(0.2, 0.5)]),
        ("edgewise", (0.1, 0.2, 0.5), [L1(0.1), EdgeGroup(0.2, 0.5)]),
        ("edgewise", (0.1, 0.0, 0.5), [L1(0.1)]),
    ],
)
def test_a_penalty_is_the_sum_of_its_terms(name, parameters, expected):
    assert penalty_terms(name, Parameters(*parameters)) == expected


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


@pytest.mark.parametrize(
    ("edges", "expected"),
    [([(0, 1), (1, 2)], True), ([(0, 1), (1, 2), (2, 0)], False), ([(1, 1)], False), ([], True)],
)
def test_is_acyclic_tells_dags_from_cycles(edges, expected):
    graph = np.zeros((3, 3), dtype=bool)
    for i, j in edges:
        graph[i, j] = True

    assert is_acyclic(graph) is expected


def test_acyclic_threshold_is_the_weakest_edge_of_the_strongest_cycle():
    W = np.array([[0, 0.9, 0], [-0.4, 0, 0.8], [0.6, 0, 0]])

    assert acyclic_threshold(W) == 0.6
    assert acyclic_threshold(np.triu(W)) == 0
