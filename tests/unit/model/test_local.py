"""A site's updates solve the problems the paper states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from notears_pfl.model.local import FreeSteps, OrderedSteps, Site, second_moments, site_from_samples


@pytest.fixture
def problem(rng):
    """Give U of rank below d, a row scale D, and the centre's V."""
    x = rng.normal(size=(4, 6)) * np.arange(1, 7)
    U = second_moments(x).U
    return U, np.diag(U) + 0.1, rng.normal(size=(6, 6))


@pytest.mark.parametrize("rho", [0.05, 2.0])
def test_free_step_zeroes_the_gradient_off_the_diagonal(problem, rho):
    U, D, V = problem

    W = FreeSteps(U, D)(V, rho)

    gradient = U @ W - U + rho * D[:, None] * (W - V)
    assert_allclose(gradient[~np.eye(6, dtype=bool)], 0, atol=1e-10)
    assert_allclose(np.diag(W), 0, atol=0)


@pytest.mark.parametrize("rho", [0.05, 2.0])
def test_ordered_step_zeroes_the_gradient_along_the_order(problem, rho, rng):
    U, D, V = problem
    order = rng.permutation(6)
    position = np.argsort(order)
    allowed = position[:, None] < position[None, :]

    W = OrderedSteps(U, D, order)(V, rho)

    gradient = U @ W - U + rho * D[:, None] * (W - V)
    assert_allclose(gradient[allowed], 0, atol=1e-10)
    assert not W[~allowed].any()


def test_step_follows_the_center_when_the_penalty_is_huge(problem):
    U, D, V = problem
    V = V - np.diag(np.diag(V))

    assert_allclose(FreeSteps(U, D)(V, 1e9), V, atol=1e-6)


@pytest.mark.parametrize("ordered", [False, True])
def test_step_returns_the_loss_of_its_weights(rng, ordered):
    x = rng.normal(size=(20, 5))
    site = site_from_samples(x, center=False)
    site.begin(np.ones(5), np.arange(5) if ordered else None, None)

    W, loss = site.step(rng.normal(size=(5, 5)), 0.3)

    assert loss == pytest.approx(np.sum((x - x @ W) ** 2) / (2 * len(x)))


def test_site_scores_held_out_samples_only(rng):
    x = rng.normal(size=(9, 3)) + 5
    W = np.triu(rng.normal(size=(3, 3)), k=1)
    site = site_from_samples(x, center=True)
    site.split(3)

    score = site.score(W, fold=1)

    held_out = x[3:6] - np.delete(x, [3, 4, 5], axis=0).mean(axis=0)
    assert_allclose(score, np.sum((held_out - held_out @ W) ** 2, axis=0))


def test_site_describes_itself_by_variances_and_samples(rng):
    x = rng.normal(size=(9, 3)) + 5

    described = site_from_samples(x, center=True).describe()

    assert_allclose(described.variances, x.var(axis=0))
    assert described.n == 9
    assert described.has_samples
    assert not Site(second_moments(x)).describe().has_samples
