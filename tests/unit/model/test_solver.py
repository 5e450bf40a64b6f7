"""Rounds solve the problem that they state and record its value."""

from itertools import pairwise

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from notears_pfl import NotearsPFL
from notears_pfl.model.coordinator import respecting
from notears_pfl.model.federation import LocalSites, site_from_samples
from notears_pfl.model.problem import Parameters, penalty_terms, row_scale
from notears_pfl.model.solver import ConsensusProblem, Log, Options, refit

PROBLEMS = pytest.mark.parametrize(
    ("penalty", "parameters"),
    [
        ("edgewise", Parameters(0.0, 0.2, 0.0)),
        ("edgewise", Parameters(0.05, 0.1, 0.5)),
        ("chain", Parameters(0.05, 0.3, 0.0)),
        ("chain", Parameters(0.1, 0.0, 0.0)),
    ],
)


def problem_of(penalty, parameters, samples, W, allowed):
    """Write loss and penalty out with cvxpy, for one network W[k] per site."""
    total = 0
    for x, w in zip(samples, W, strict=True):
        centred = x - x.mean(axis=0)
        total += cp.sum_squares(centred - centred @ w) / (2 * len(x))
        total += parameters.lambda1 * cp.sum(cp.abs(w))
    if penalty == "chain":
        jumps = [cp.norm(cp.vec(after - before, order="C")) for before, after in pairwise(W)]
        return total + parameters.lambda2 * sum(jumps)
    for i, j in np.argwhere(allowed.any(axis=0)):
        edge = cp.hstack([W[k][i, j] for k in np.flatnonzero(allowed[:, i, j])])
        deviation = edge - cp.sum(edge) / edge.size
        total += parameters.lambda2 * (cp.norm(edge) + parameters.kappa * cp.norm(deviation))
    return total


@PROBLEMS
def test_refit_agrees_with_cvxpy(samples, penalty, parameters, rng):
    few = [x[:40, :5] for x in samples]
    orders = [rng.permutation(5) for _ in few]
    sites = LocalSites([site_from_samples(x, demean=True) for x in few])
    terms = penalty_terms(penalty, parameters)
    D = row_scale(terms, np.array([x.var(axis=0) for x in few]))

    problem = ConsensusProblem(sites, terms, D, noise=1.0, gains=np.ones(len(sites.numbers)))
    found = refit(problem, orders, Options(tol=1e-7, max_rounds=3000), Log()).Z[0]

    allowed = respecting(orders)
    W = [cp.Variable((5, 5)) for _ in few]
    only_allowed = [cp.multiply(w, ~edges) == 0 for w, edges in zip(W, allowed, strict=True)]
    objective = problem_of(penalty, parameters, few, W, allowed)
    cp.Problem(cp.Minimize(objective), only_allowed).solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10
    )
    assert np.count_nonzero(found) > 5
    assert_allclose(found, [w.value for w in W], atol=1e-4)


@PROBLEMS
def test_the_last_objective_is_that_of_the_weights(samples, penalty, parameters):
    settings = {"lambda1": parameters.lambda1, "lambda2": parameters.lambda2}
    model = NotearsPFL(penalty, **settings, kappa=parameters.kappa, threshold=0, tol=1e-6)

    model.fit(samples)

    assert model.converged_
    expected = problem_of(
        penalty, parameters, samples, [cp.Constant(w) for w in model.penalised_weights_],
        respecting(list(model.order_)),
    ).value  # fmt: skip
    assert_allclose(model.history_.objective[-1], expected, rtol=1e-5)
