"""Simulated graphs are acyclic, of the size asked for, and as far apart as asked for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from notears_pfl.errors import InputError
from notears_pfl.model.problem import is_acyclic
from notears_pfl.simulate.graphs import add_edge, erdos_renyi_dag, perturb, reverse_edge
from notears_pfl.simulate.metrics import compare

levels = st.floats(0, 1)
seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.integers(5, 20), st.floats(0, 2))
def test_a_random_graph_is_a_dag_with_the_edges_asked_for(seed, d, density):
    graph = erdos_renyi_dag(np.random.default_rng(seed), d, density)

    assert graph.sum() == round(density * d)
    assert is_acyclic(graph)


def test_every_ordered_pair_is_equally_likely():
    rng = np.random.default_rng(5)

    share = np.mean([erdos_renyi_dag(rng, 5) for _ in range(8_000)], axis=0)

    assert_array_equal(np.diag(share), 0)
    assert np.abs(share[~np.eye(5, dtype=bool)] - 5 / 20).max() < 0.025


@given(seeds, levels, st.sampled_from(["edges", "entries"]))
def test_a_perturbed_graph_is_acyclic_and_the_original_untouched(seed, level, kind):
    rng = np.random.default_rng(seed)
    graph = erdos_renyi_dag(rng, 8)
    before = graph.copy()

    perturbed = perturb(rng, graph, level, kind)

    assert is_acyclic(perturbed)
    assert_array_equal(graph, before)


@given(seeds, levels)
def test_the_distance_to_the_perturbed_graph_is_the_level_times_the_edges(seed, level):
    rng = np.random.default_rng(seed)
    graph = erdos_renyi_dag(rng, 12)

    distance = compare(graph, perturb(rng, graph, level)).shd

    assert level * 12 - 1 < distance < level * 12 + 1


def test_half_of_the_changes_add_a_quarter_deletes_and_a_quarter_reverses():
    rng = np.random.default_rng(6)
    added = deleted = reversed_ = 0
    for _ in range(300):
        graph = erdos_renyi_dag(rng, 20)
        perturbed = perturb(rng, graph, 0.4)
        added += (perturbed & ~graph & ~graph.T).sum()
        deleted += (graph & ~perturbed & ~perturbed.T).sum()
        reversed_ += (graph & perturbed.T).sum()

    counts = np.array([added, deleted, reversed_]) / (300 * 0.4 * 20)

    assert np.abs(counts - [0.5, 0.25, 0.25]).max() < 0.04


def test_no_perturbation_gives_the_graph_itself(rng):
    graph = erdos_renyi_dag(rng, 10)

    assert_array_equal(perturb(rng, graph, 0.0), graph)
    assert_array_equal(perturb(rng, graph, 0.0, "entries"), graph)


def test_the_literal_perturbation_adds_far_more_edges_than_there_were(rng):
    graph = erdos_renyi_dag(rng, 30)

    perturbed = perturb(rng, graph, 0.1, "entries")

    assert (perturbed & ~graph).sum() > 30


def test_a_full_graph_can_still_be_perturbed(rng):
    full = np.triu(np.ones((4, 4), dtype=bool), k=1)

    assert compare(full, perturb(rng, full, 1.0)).shd == 6


def test_an_edge_that_closes_a_cycle_is_not_added():
    chain = np.zeros((3, 3), dtype=bool)
    chain[0, 1] = chain[1, 2] = True
    triangle = add_edge(chain, 0, 2)

    assert add_edge(chain, 2, 0) is None
    assert reverse_edge(triangle, 0, 2) is None
    assert reverse_edge(triangle, 0, 1)[1, 0]


@pytest.mark.parametrize("level", [-0.1, 10])
def test_a_level_that_is_not_a_share_is_refused(rng, level):
    with pytest.raises(InputError, match=f"needed 0 to 1, found {level}. Give a share"):
        perturb(rng, erdos_renyi_dag(rng, 5), level)


def test_more_edges_than_pairs_are_refused(rng):
    with pytest.raises(InputError, match="4 variables: needed between 0 and 6 edges, found 8"):
        erdos_renyi_dag(rng, 4, 2.0)
