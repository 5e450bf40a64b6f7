"""NOTEARS solves the problem that its authors state, and finds simulated networks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime

from notears_pfl.baselines import notears, notears_average
from notears_pfl.baselines.notears import (
    augmented_loss,
    minimise_with_l1,
    pooled,
    sites_moments,
    threshold_to_dag,
    trace_exponential,
)
from notears_pfl.errors import InputError
from notears_pfl.model.problem import is_acyclic
from notears_pfl.simulate.graphs import erdos_renyi_dag
from notears_pfl.simulate.sites import draw_samples, draw_weights

FINE = 1e-14


@pytest.fixture
def network(rng):
    """Weights of a random DAG of eight variables."""
    return erdos_renyi_dag(rng, 8) * draw_weights(rng, 8)


def test_the_augmented_gradient_matches_finite_differences(rng):
    x, W = rng.normal(size=(9, 4)), 0.5 * rng.normal(size=(4, 4))
    settings = {"U": x.T @ x / 9, "alpha": 0.7, "rho": 2.0}

    numeric = approx_fprime(
        W.ravel(), lambda w: augmented_loss(w.reshape(4, 4), **settings)[0], 1e-7
    )

    assert_allclose(augmented_loss(W, **settings)[1].ravel(), numeric, atol=1e-4)


def test_the_augmented_loss_without_h_is_the_mean_squared_residual(rng):
    x, W = rng.normal(size=(9, 4)), np.triu(rng.normal(size=(4, 4)), k=1)

    value, _ = augmented_loss(W, U=x.T @ x / 9, alpha=0.0, rho=0.0)

    assert value == pytest.approx(((x - x @ W) ** 2).sum() / (2 * 9))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [12.0, 1e3])
def test_a_step_too_long_for_the_exponential_is_turned_down_in_silence(scale):
    W = scale * np.ones((4, 4))

    value, _ = augmented_loss(W, U=np.eye(4), alpha=1.0, rho=1e16)

    # L-BFGS-B shortens a step whose value is not finite, or larger.
    assert not value < 1e100


def test_minimise_with_l1_meets_the_subgradient_condition(rng):
    x, lambda1 = rng.normal(size=(40, 5)) @ rng.normal(size=(5, 5)), 0.2
    U = x.T @ x / 40

    def loss(W):
        return 0.5 * np.vdot(np.eye(5) - W, U @ (np.eye(5) - W)), U @ (W - np.eye(5))

    W = minimise_with_l1(loss, np.zeros((5, 5)), lambda1, FINE, diagonal=False)

    gradient = loss(W)[1]
    off = ~np.eye(5, dtype=bool)
    active = off & (np.abs(W) > 1e-8)
    assert active.any()
    assert (off & ~active).any()
    assert_allclose(gradient[active], -lambda1 * np.sign(W[active]), atol=1e-3)
    assert (np.abs(gradient[off & ~active]) <= lambda1 + 1e-3).all()
    assert_array_equal(np.diag(W), 0)


def test_notears_recovers_a_network_from_many_samples(rng, network):
    x = draw_samples(rng, network, 20_000)

    fit = notears(x, lambda1=0.02)

    assert fit.converged
    assert fit.h <= 1e-8
    assert_array_equal(fit.weights != 0, network != 0)
    assert_allclose(fit.weights, network, atol=0.1)


def test_notears_is_always_acyclic_even_without_a_threshold(rng):
    fit = notears(rng.normal(size=(6, 10)), lambda1=0.01, threshold=0.0, tolerance=1e-6)

    assert (fit.weights != 0).sum() > 5
    assert is_acyclic(fit.weights != 0)


def test_moments_give_the_same_network_as_the_samples(rng, network):
    x = draw_samples(rng, network, 200)

    from_samples = notears(x, center=False)
    from_moments = notears((x.T @ x / 200, 200))

    assert_array_equal(from_samples.weights, from_moments.weights)


def test_a_huge_lambda1_gives_the_empty_network(rng, network):
    fit = notears(draw_samples(rng, network, 50), lambda1=1e4)

    assert_array_equal(fit.relaxed, 0)


def test_notears_average_is_notears_on_the_stacked_samples(rng, network):
    sites = [draw_samples(rng, network, n) for n in (30, 50)]

    average = notears_average(sites, center=False)

    stacked = notears(np.vstack(sites), center=False)
    assert_allclose(average.weights, stacked.weights, atol=1e-2)


@pytest.mark.parametrize("setting", ["lambda1", "threshold", "tolerance"])
@pytest.mark.parametrize("value", [-0.1, float("nan")])
def test_a_setting_that_is_not_a_number_above_zero_is_refused(rng, setting, value):
    with pytest.raises(InputError, match=f"{setting}: needed a number >= 0, found {value}"):
        notears(rng.normal(size=(10, 3)), **{setting: value})


def test_h_is_zero_on_a_dag_and_positive_on_a_cycle(rng):
    dag = np.triu(rng.normal(size=(6, 6)), k=1)
    cycle = dag.copy()
    cycle[5, 0] = 1.0

    assert trace_exponential(dag)[0] == pytest.approx(0, abs=1e-9)
    assert trace_exponential(cycle)[0] > 0.01


def test_h_gradient_matches_finite_differences(rng):
    W = 0.4 * rng.normal(size=(4, 4))

    numeric = approx_fprime(W.ravel(), lambda w: trace_exponential(w.reshape(4, 4))[0], 1e-7)

    assert_allclose(trace_exponential(W)[1].ravel(), numeric, atol=1e-4)


def test_threshold_to_dag_drops_the_weakest_edges_only_until_acyclic():
    W = np.array([[9.0, 0.9, 0.31], [0.4, 0.0, 0.8], [0.5, 0.0, 0.0]])

    dag = threshold_to_dag(W, 0.3)

    # 0.31 and 0.4 are weaker than 0.5, which closes 0 → 1 → 2 → 0.
    assert_array_equal(dag, [[0, 0.9, 0], [0, 0, 0.8], [0, 0, 0]])


def test_threshold_to_dag_agrees_with_removing_one_edge_at_a_time(rng):
    for _ in range(20):
        W = rng.normal(size=(7, 7))
        slow = np.where(np.eye(7) == 1, 0, W)
        while not is_acyclic(slow != 0):
            slow[np.abs(slow) == np.abs(slow[slow != 0]).min()] = 0

        assert_array_equal(threshold_to_dag(W, 0.0), slow)


def test_pooled_moments_are_the_moments_of_the_stacked_samples(rng):
    sites = [rng.normal(size=(n, 4)) for n in (5, 12, 30)]

    pool = pooled(sites_moments(sites, demean=False))

    stacked = np.vstack(sites)
    assert pool.n == 47
    assert_allclose(pool.U, stacked.T @ stacked / 47, atol=1e-12)


def test_centering_removes_the_mean_of_each_column_and_leaves_the_samples_alone(rng):
    x = rng.normal(size=(20, 3)) + np.array([5.0, -3.0, 100.0])
    before = x.copy()

    (moments,) = sites_moments([x], demean=True)

    assert_allclose(moments.U, np.cov(x.T, bias=True), atol=1e-9)
    assert_allclose(x, before)


def test_moments_given_as_pairs_are_passed_on(rng):
    U = np.cov(rng.normal(size=(3, 20)))

    (moments,) = sites_moments([(U, 20)], demean=True)

    assert moments.n == 20
    assert_allclose(moments.U, U)


@pytest.mark.parametrize(
    ("sites", "message"),
    [
        ([np.eye(4), np.full((9, 4), np.nan)], "site 1: samples must be finite"),
        ([(np.eye(4), 9), (np.ones((4, 5)), 9)], "site 1: moments must be a square matrix"),
        ([(np.eye(4), 9), np.eye(4)], "all be moments .* found 1 with samples and 1 with moments"),
        ([], "at least one site"),
    ],
)
def test_bad_sites_are_refused_with_their_place(sites, message):
    with pytest.raises(InputError, match=message):
        sites_moments(sites, demean=True)
