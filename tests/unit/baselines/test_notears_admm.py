"""NOTEARS-ADMM agrees with the pooled problem it distributes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from notears_pfl.baselines import notears_admm
from notears_pfl.baselines.notears_admm import consensus_weights, local_weights
from notears_pfl.errors import InputError
from notears_pfl.simulate.graphs import erdos_renyi_dag
from notears_pfl.simulate.sites import draw_samples, draw_weights


@pytest.fixture
def network(rng):
    """Weights of a random DAG of eight variables."""
    return erdos_renyi_dag(rng, 8) * draw_weights(rng, 8)


def test_local_weights_zero_the_gradient_of_every_site(rng):
    x = rng.normal(size=(3, 20, 5))
    U = np.einsum("kni,knj->kij", x, x) / 20
    Z, beta, rho2 = rng.normal(size=(5, 5)), rng.normal(size=(3, 5, 5)), 0.7

    W = local_weights(U, Z, beta, rho2)

    assert_allclose(U @ W - U + beta + rho2 * (W - Z), 0, atol=1e-12)


def test_consensus_weights_soft_threshold_the_mean_when_acyclicity_is_free(rng):
    W, beta, rho2, lambda1 = rng.normal(size=(3, 4, 4)), rng.normal(size=(3, 4, 4)), 0.5, 0.3

    Z = consensus_weights(W, np.zeros((4, 4)), beta, 0.0, 0.0, rho2, lambda1, 1e-14)

    mean = np.mean(W + beta / rho2, axis=0)
    assert_allclose(Z, np.sign(mean) * np.maximum(np.abs(mean) - lambda1 / 1.5, 0), atol=1e-4)


@pytest.mark.filterwarnings("error")
def test_a_start_too_large_for_the_exponential_makes_no_noise():
    W, beta = np.zeros((2, 4, 4)), np.zeros((2, 4, 4))

    consensus_weights(W, 12 * np.ones((4, 4)), beta, 1.0, 1e16, 0.5, 0.3, 1e-8)


def test_the_sites_agree_on_the_network_that_made_their_samples(rng, network):
    sites = [draw_samples(rng, network, n) for n in (4_000, 2_000, 6_000)]

    fit = notears_admm(sites)

    assert fit.converged
    assert_array_equal(fit.weights != 0, network != 0)
    assert_allclose(fit.weights, network, atol=0.3)


def test_a_site_counts_by_its_number_of_samples(rng, network):
    x = draw_samples(rng, network, 300)

    apart = notears_admm([x[:100], x[100:]], center=False)
    together = notears_admm([(x.T @ x / 300, 300)])

    assert_array_equal(apart.weights != 0, together.weights != 0)
    assert_allclose(apart.weights, together.weights, atol=0.05)


def test_the_order_of_the_sites_does_not_matter(rng, network):
    sites = [draw_samples(rng, network, n) for n in (30, 50, 40)]

    forwards, backwards = notears_admm(sites), notears_admm(sites[::-1])

    assert_allclose(forwards.weights, backwards.weights, atol=1e-2)


def test_a_bad_site_is_named(rng):
    with pytest.raises(InputError, match="site 1: samples must be finite"):
        notears_admm([rng.normal(size=(9, 3)), np.full((9, 3), np.nan)])
