"""Sites have the sizes of section 4, and samples that follow the structural equations."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from notears_pfl.errors import InputError
from notears_pfl.simulate.graphs import erdos_renyi_dag, perturb
from notears_pfl.simulate.sites import (
    GraphOptions,
    Setting,
    draw_samples,
    draw_weights,
    list_runs,
    setting_of,
    simulate_sites,
    site_weights,
    split_evenly,
)


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


@pytest.mark.parametrize(
    ("experiment", "value", "expected"),
    [
        ("variables", 80, Setting(80, n_sites=10, n_samples=240, perturbation=0.1)),
        ("sites", 64, Setting(50, n_sites=64, n_samples=256, perturbation=0.1)),
        ("perturbation", 30, Setting(30, n_sites=10, n_samples=90, perturbation=0.3)),
    ],
)
def test_settings_follow_the_paper(experiment, value, expected):
    assert setting_of(experiment, value) == expected


def test_a_preset_lists_every_value_design_and_run_once():
    preset = {"runs": 2, "variables": [10, 20], "sites": [4], "perturbation": []}

    runs = list_runs(preset, ["per_site", "shared"])

    assert len(runs) == (2 + 1) * 2 * 2
    assert not runs.duplicated().any()
    assert set(runs["run"]) == {1, 2}
    assert set(runs.loc[runs["experiment"] == "variables", "value"]) == {10, 20}


@pytest.mark.parametrize("design", ["per_site", "shared"])
def test_simulated_sites_have_the_sizes_of_their_setting(rng, design):
    sites = simulate_sites(rng, Setting(12, 5, 52, 0.2), design, GraphOptions(1, "edges"))

    assert [x.shape for x in sites.samples] == [(11, 12), (11, 12), (10, 12), (10, 12), (10, 12)]
    assert len({graph.tobytes() for graph in sites.graphs}) > 1
