"""Samples follow the structural equations, with the weights the design asks for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from notears_pfl.errors import InputError
from notears_pfl.simulate.graphs import erdos_renyi_dag, perturb
from notears_pfl.simulate.samples import draw_samples, draw_weights, site_weights, split_evenly


@pytest.fixture
def graphs(rng):
    graph = erdos_renyi_dag(rng, 15)
    return [perturb(rng, graph, 0.3) for _ in range(4)]


@pytest.mark.parametrize("design", ["per_site", "shared"])
def test_weights_lie_on_the_edges_and_between_a_half_and_two(rng, graphs, design):
    weights = site_weights(rng, graphs, design)

    assert_array_equal(weights != 0, graphs)
    sizes = np.abs(weights[weights != 0])
    assert sizes.min() >= 0.5
    assert sizes.max() <= 2


def test_a_shared_edge_has_one_weight_everywhere(rng, graphs):
    weights = site_weights(rng, graphs, "shared")

    both = graphs[0] & graphs[1]
    assert both.sum() > 5
    assert_array_equal(weights[0][both], weights[1][both])


def test_per_site_weights_differ_on_shared_edges(rng, graphs):
    weights = site_weights(rng, graphs, "per_site")

    both = graphs[0] & graphs[1]
    assert (weights[0][both] != weights[1][both]).all()


def test_either_sign_is_as_likely(rng):
    assert abs(np.mean(draw_weights(rng, 100) > 0) - 0.5) < 0.02


def test_an_edge_i_to_j_makes_j_follow_i(rng):
    weights = np.zeros((2, 2))
    weights[0, 1] = 2.0

    x = draw_samples(rng, weights, 50_000)

    assert_allclose(np.cov(x.T), [[1, 2], [2, 5]], atol=0.1)


@pytest.mark.parametrize(
    ("n_samples", "n_sites", "expected"), [(90, 10, [9] * 10), (11, 3, [4, 4, 3])]
)
def test_samples_are_split_evenly(n_samples, n_sites, expected):
    assert split_evenly(n_samples, n_sites) == expected


def test_a_site_with_one_sample_is_refused():
    with pytest.raises(InputError, match="30 samples over 20 sites: needed at least 2 per site"):
        split_evenly(30, 20)
