"""Bayes factors are those of the integrals they stand for; edges follow weights and samples."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm

from notears_pfl.model.evidence import (
    GIVEN_COMMON,
    Rates,
    decide,
    decide_from,
    edge_odds,
    log_bayes_factor,
    log_tails,
    noise_variances,
    refit_weights,
    slab_variances,
)
from notears_pfl.model.regressions import (
    BLOCK,
    NARROW,
    Prior,
    all_statistics,
    edge_statistics,
    parent_statistics,
    regress,
    with_parents,
)

K, d, n = 3, 5, 30


@pytest.fixture
def study(rng):
    """Give samples of three sites, a graph of each, noise variances and a prior of the weights."""
    x = rng.normal(size=(K, n, d)) @ np.triu(rng.normal(size=(d, d)))
    A = np.triu(rng.uniform(size=(K, d, d)) < 0.6, k=1)
    noise = rng.uniform(0.5, 2, size=(K, d))
    prior = Prior(rng.normal(size=(K, d, d)), rng.uniform(0.2, 2, size=(K, d, d)))
    return x, A, noise, prior


def log_evidence(x, j, parents, noise, m, v):
    """Write out the marginal likelihood of ROI j: x_j ~ N(X m, s I + X diag(v) Xᵀ)."""
    X = x[:, parents]
    covariance = noise * np.eye(len(x)) + X @ np.diag(v[parents]) @ X.T
    return multivariate_normal(X @ m[parents], covariance).logpdf(x[:, j])


def test_bayes_factors_are_ratios_of_marginal_likelihoods(study):
    x, A, noise, prior = study
    U = np.einsum("kni,knj->kij", x, x) / n
    k, j = np.array([0, 1, 2, 1]), np.array([4, 3, 4, 2])

    own = Prior(prior.m[k, :, j], prior.v[k, :, j])
    r, g = edge_statistics(U, (n / noise)[k, j], A[k, :, j], own, k, j)
    factors = log_bayes_factor(r, g, *own)

    for row, (site, roi) in enumerate(zip(k, j, strict=True)):
        for i in range(roi):
            with_i, without = A[site, :, roi].copy(), A[site, :, roi].copy()
            with_i[i], without[i] = True, False
            both = [
                log_evidence(
                    x[site], roi, np.flatnonzero(parents), noise[site, roi],
                    prior.m[site, :, roi], prior.v[site, :, roi],
                )
                for parents in (with_i, without)
            ]  # fmt: skip
            assert factors[row, i] == pytest.approx(both[0] - both[1], abs=1e-8)


def test_residuals_are_those_of_the_posterior_mean(study):
    x, A, noise, prior = study
    U = np.einsum("kni,knj->kij", x, x) / n

    k, j = np.array([1]), np.array([4])
    columns = with_parents(k, j, A[k, :, j])
    found = regress(U, (n / noise)[k, j], Prior(prior.m[k, :, j], prior.v[k, :, j]), columns)

    S, s = np.flatnonzero(A[1, :, 4]), noise[1, 4]
    X, m, v = x[1][:, S], prior.m[1, S, 4], prior.v[1, S, 4]
    P = X.T @ X / s + np.diag(1 / v)
    mean = np.linalg.solve(P, X.T @ x[1, :, 4] / s + m / v)
    assert found.residual[0] == pytest.approx(np.sum((x[1, :, 4] - X @ mean) ** 2) / s)
    assert found.used[0] == pytest.approx(np.trace(np.linalg.solve(P, X.T @ X / s)))


@pytest.fixture
def uneven(rng):
    """Give moments of ten ROIs, and a graph of each site in which some ROIs have many parents.

    Every ROI has at most three parents, but for ROI 8 with six to eight and, at site 1, ROI 5 with
    five.
    """
    A = np.zeros((K, 10, 10), dtype=bool)
    for k, j in product(range(K), range(1, 10)):
        A[k, rng.choice(j, size=min(j, (j + k) % 4), replace=False), j] = True
    for k in range(K):
        A[k, : 6 + k, 8] = True
    A[1, :5, 5] = True
    x = rng.normal(size=(K, 60, 10)) @ np.linalg.inv(np.eye(10) - A * rng.normal(size=A.shape))
    return np.einsum("kni,knj->kij", x, x) / 60, A


def given_the_others(U, precision, parents, m, v, j):
    """Score and curvature of every weight into ROI j: the other parents' are solved for."""
    G = precision * U
    r, g = np.empty(len(U)), np.empty(len(U))
    for i in range(len(U)):
        S = np.flatnonzero(parents & (np.arange(len(U)) != i))
        P = G[np.ix_(S, S)] + np.diag(1 / v[S])
        r[i] = G[i, j] - G[i, S] @ np.linalg.solve(P, G[S, j] + m[S] / v[S])
        g[i] = G[i, i] - G[i, S] @ np.linalg.solve(P, G[S, i])
    return r, g


@pytest.mark.parametrize("block", [BLOCK, 1])
def test_statistics_are_those_of_one_column_after_the_other(uneven, rng, monkeypatch, block):
    U, A = uneven
    k, j = np.repeat(np.arange(K), 9), np.tile(np.arange(1, 10), K)
    parents, precision = A[k, :, j], rng.uniform(20, 90, size=len(k))
    prior = Prior(rng.normal(size=parents.shape), rng.uniform(0.2, 2, size=parents.shape))
    monkeypatch.setattr("notears_pfl.model.regressions.BLOCK", block)

    r, g = edge_statistics(U, precision, parents, prior, k, j)

    for row, (site, roi) in enumerate(zip(k, j, strict=True)):
        own = precision[row], parents[row], prior.m[row], prior.v[row], roi
        expected = given_the_others(U[site], *own)
        others = np.arange(10) != roi
        assert_allclose(r[row, others], expected[0][others], rtol=1e-9, atol=1e-9)
        assert_allclose(g[row, others], expected[1][others], rtol=1e-9)


def test_statistics_of_the_edges_alone_are_those_among_all_weights(uneven, rng):
    U, A = uneven
    precision = rng.uniform(20, 90, size=(K, 10))
    variance = np.array([0.3, 0.7, 2.0])[:, None, None]

    found = parent_statistics(U, precision, A, variance)
    r, g = all_statistics(U, precision, A, variance)

    assert_allclose(found.r[A], r[A])
    assert_allclose(found.g[A], g[A])
    assert not found.r[~A].any()
    for k, j in product(range(K), range(10)):
        S, G = np.flatnonzero(A[k, :, j]), precision[k, j] * U[k]
        w = np.zeros(10)
        P = G[np.ix_(S, S)] + np.eye(len(S)) / variance[k, 0, 0]
        w[S], w[j] = np.linalg.solve(P, G[S, j]), -1.0
        assert found.residual[k, j] == pytest.approx(w @ G @ w)
        used = np.trace(np.linalg.solve(P, G[np.ix_(S, S)]))
        assert found.used[k, j] == pytest.approx(used, abs=1e-9)
        of_edges = given_the_others(
            U[k], precision[k, j], A[k, :, j], np.zeros(10), np.full(10, variance[k, 0, 0]), j
        )
        assert_allclose([r[k, S, j], g[k, S, j]], np.array(of_edges)[:, S], rtol=1e-9, atol=1e-9)


def test_columns_decided_part_by_part_are_those_decided_at_once(uneven, monkeypatch):
    U, graph = uneven
    allowed = np.broadcast_to(np.triu(np.ones((10, 10), dtype=bool), k=1), U.shape)
    none = np.zeros(U.shape, dtype=bool)

    at_once = decide(U, np.full(K, 60), allowed, graph, 0.1, none)
    monkeypatch.setattr("notears_pfl.model.evidence.BLOCK", 1)
    monkeypatch.setattr("notears_pfl.model.regressions.BLOCK", 1)
    by_column = decide(U, np.full(K, 60), allowed, graph, 0.1, none)

    n_parents = at_once.adjacency.sum(axis=1)
    assert n_parents.max() > NARROW > 2 > n_parents.min()
    assert_array_equal(by_column.adjacency, at_once.adjacency)
    assert_allclose(by_column.probability, at_once.probability, rtol=1e-9)
    assert_allclose(by_column.noise, at_once.noise)


@pytest.mark.parametrize(("r", "g", "m", "v"), [(3.0, 4.0, 0.5, 0.7), (-9.0, 2.0, 0.0, 2.0)])
def test_bayes_factor_integrates_the_weight_out(r, g, m, v):
    def integrand(w):
        return np.exp(r * w - g * w**2 / 2) * norm.pdf(w, m, np.sqrt(v))

    assert log_bayes_factor(r, g, m, v) == pytest.approx(np.log(quad(integrand, -30, 30)[0]))


@pytest.mark.parametrize("floor", [0.0, 0.3, 2.0])
@pytest.mark.parametrize(("mean", "sd"), [(0.0, 1.0), (-0.5, 0.1), (0.31, 0.2)])
def test_tails_are_the_normal_distributions(mean, sd, floor):
    above, below = log_tails(np.array(mean), np.array(sd), floor)

    expected = norm.cdf(floor, mean, sd) - norm.cdf(-floor, mean, sd)
    assert np.exp(below) == pytest.approx(expected, abs=1e-12)
    assert np.exp(above) == pytest.approx(1 - expected, abs=1e-12)


def test_odds_with_own_weights_sum_over_everything_that_other_sites_may_have(rng):
    rates = Rates(common=0.2, otherwise=0.1, t0=0.0, td=1.5)
    r, g = rng.normal(size=(K, 1, 1)) * 3, rng.uniform(1, 5, size=(K, 1, 1))
    everywhere = np.ones((K, 1, 1), dtype=bool)

    odds, _, _ = edge_odds(r, g, everywhere, np.full((K, 1, 1), 0.5), rates, floor=0.0)

    factors = np.exp(log_bayes_factor(r, g, 0.0, 1.5)).ravel()
    share = np.zeros((K, 2))
    for common, *present in product([0, 1], repeat=K + 1):
        q = GIVEN_COMMON if common else rates.otherwise
        p = rates.common if common else 1 - rates.common
        for factor, here in zip(factors, present, strict=True):
            p *= q * factor if here else 1 - q
        for k, here in enumerate(present):
            share[k, here] += p
    assert_allclose(odds.ravel(), np.log(share[:, 1] / share[:, 0]))


def test_shared_weights_are_expected_where_the_other_sites_found_them():
    rates = Rates(common=0.5, otherwise=0.1, t0=2.0, td=0.01)
    # Sites 0 and 1 saw a weight of 0.8 with precision 100 each; site 2 saw hardly anything.
    g = np.array([100.0, 100.0, 1e-6])[:, None, None]
    everywhere = np.ones((K, 1, 1), dtype=bool)

    odds, prior, _ = edge_odds(0.8 * g, g, everywhere, np.ones((K, 1, 1)), rates, floor=0.3)

    precision = 1 / 2 + 2 * (100 / (1 + 100 * 0.01))
    assert prior.m[2, 0, 0] == pytest.approx(0.8 * (precision - 0.5) / precision, rel=1e-3)
    assert prior.v[2, 0, 0] == pytest.approx(1 / precision + 0.01, rel=1e-3)
    assert odds[2, 0, 0] > 2


def test_slab_variances_are_those_of_the_weights(rng):
    shared, own = rng.normal(size=400), rng.normal(size=(6, 400))
    weights = np.sqrt(1.2) * shared + np.sqrt(0.3) * own
    g = np.full((6, 20, 20), 50.0)
    r = g * (weights.reshape(6, 20, 20) + rng.normal(size=g.shape) / np.sqrt(g))

    t0, td = slab_variances(r, g, np.ones(g.shape, dtype=bool))

    assert t0 + td == pytest.approx(1.5, rel=0.2)
    assert t0 / (t0 + td) == pytest.approx(0.8, abs=0.1)


def test_noise_is_that_of_the_site_and_the_roi_where_samples_are_few(rng):
    gain, roi = np.array([1.0, 4.0, 100.0] * 4)[:, None], np.linspace(0.5, 2, 20)
    x = rng.normal(size=(12, 8, 20)) * np.sqrt(gain * roi)[:, None, :]
    U = np.einsum("kni,knj->kij", x, x) / 8
    rates = Rates(0.1, 0.1, 0.0, 1.0)
    variances = np.diagonal(U, axis1=1, axis2=2)

    noise = noise_variances(U, np.full(12, 8.0), np.zeros(U.shape, dtype=bool), variances, rates)

    error, alone = (np.abs(np.log(found / (gain * roi))).mean() for found in (noise, variances))
    assert error < 0.2
    assert alone > 0.35


def sites_of(W, sizes, rng):
    """Draw samples of x = xW + e: their moments and numbers."""
    inverse = np.linalg.inv(np.eye(W.shape[-1]) - W)
    x = [rng.normal(size=(size, len(w))) @ w for size, w in zip(sizes, inverse, strict=True)]
    return np.array([y.T @ y / len(y) for y in x]), np.array(sizes, dtype=float)


def decided(U, sizes, threshold=0.3, required=None):
    """Decide in the order of the columns, from no edges."""
    nothing = np.zeros(U.shape, dtype=bool)
    allowed = np.broadcast_to(np.triu(np.ones(U.shape[1:], dtype=bool), k=1), U.shape)
    return decide(U, sizes, allowed, nothing, threshold, nothing if required is None else required)


def test_the_threshold_is_a_floor_on_the_weight_where_samples_are_many(rng):
    W = np.zeros((2, 6, 6))
    W[:, 0, 1], W[:, 1, 2], W[0, 3, 4] = [0.36, 0.24], 0.2, 0.8
    U, sizes = sites_of(W, [20000, 20000], rng)

    found = decided(U, sizes)

    assert_array_equal(found.adjacency, np.abs(W) > 0.3)
    assert_array_equal(decided(U, sizes, threshold=0.1).adjacency, W != 0)


def test_few_samples_need_the_other_sites(rng):
    W = np.zeros((10, 8, 8))
    W[:, 0, 5], W[:, 2, 6] = rng.uniform(0.8, 1.6, size=(2, 10))
    U, sizes = sites_of(W, [8] * 10, rng)

    together = decided(U, sizes).adjacency
    alone = [decided(u[None], sizes[:1]).adjacency[0] for u in U]

    assert (together == (W != 0)).mean() > (np.array(alone) == (W != 0)).mean()
    assert together[:, 0, 5].mean() >= 0.9
    assert together[W == 0].mean() < 0.02


def test_fewer_effective_samples_make_edges_less_sure(rng):
    W = np.zeros((1, 4, 4))
    W[0, 0, 1] = 0.45
    U, _ = sites_of(W, [400], rng)

    sure, unsure = (decided(U, np.array([size])) for size in (400.0, 12.0))

    assert sure.probability[0, 0, 1] > 0.95 > unsure.probability[0, 0, 1]


def test_required_edges_stay_whatever_the_samples_say(rng):
    W = np.zeros((2, 4, 4))
    U, sizes = sites_of(W, [500, 500], rng)
    required = np.zeros(W.shape, dtype=bool)
    required[0, 1, 3] = True

    found = decided(U, sizes, required=required)

    assert_array_equal(found.adjacency, required)
    assert found.probability[0, 1, 3] == 1


def test_refitted_weights_are_least_squares_and_their_intervals_cover_the_truth(rng):
    W = np.zeros((200, 4, 4))
    W[:, 0, 1], W[:, 0, 3], W[:, 2, 3] = 0.9, -0.7, 1.2
    U, sizes = sites_of(W, [60] * 200, rng)

    found = decided(U, sizes)
    weights, errors = refit_weights(U, sizes, found)

    k = int(np.flatnonzero((found.adjacency == (W != 0)).all(axis=(1, 2)))[0])
    S = [0, 2]
    assert_allclose(weights[k, S, 3], np.linalg.solve(U[k][np.ix_(S, S)], U[k, S, 3]), rtol=0.03)
    edges = found.adjacency & (W != 0)
    covered = np.abs(weights - W)[edges] < 1.96 * errors[edges]
    assert covered.mean() == pytest.approx(0.95, abs=0.03)
    assert_allclose(weights[edges].mean(), W[edges].mean(), atol=0.02)
    assert not weights[~found.adjacency].any()


def test_few_samples_are_decided_from_several_starts_and_roi_by_roi(rng):
    """Without any edge the noise looks large, and the true edges are not found one by one."""
    graph = np.triu(rng.uniform(size=(16, 16)) < 0.2, k=1)
    W = graph * rng.uniform(0.5, 2, size=(8, 16, 16)) * rng.choice([-1, 1], size=(8, 16, 16))
    x = rng.normal(size=(8, 5, 16)) @ np.linalg.inv(np.eye(16) - W)
    U, sizes = np.einsum("kni,knj->kij", x, x) / 5, np.full(8, 5.0)
    allowed, none = np.broadcast_to(np.triu(np.ones((16, 16)), 1) > 0, W.shape), W != W

    alone = decide(U, sizes, allowed, none, 0.3, none)
    helped = decide_from(U, sizes, allowed, none, W, 0.3, none)
    many = decide_from(U, 20 * sizes, allowed, none, W, 0.3, none)

    def wrong(found):
        return int((found.adjacency != (W != 0)).sum())

    assert wrong(helped) < 0.75 * wrong(alone)
    assert_array_equal(helped.adjacency, helped.probability > 0.5)
    assert_array_equal(many.adjacency, decide(U, 20 * sizes, allowed, none, 0.3, none).adjacency)
