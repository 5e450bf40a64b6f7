"""Completion, equivalence classes and extensions, against all DAGs of four variables."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from notears_pfl.baselines.equivalence import Pdag, complete, consistent_extension, essential_graph
from notears_pfl.model.problem import is_acyclic

PAIRS = [(i, j) for i in range(4) for j in range(i)]


def all_dags():
    for states in product(range(3), repeat=len(PAIRS)):
        edges = np.zeros((4, 4), dtype=bool)
        for (i, j), state in zip(PAIRS, states, strict=True):
            edges[i, j], edges[j, i] = state == 1, state == 2
        if is_acyclic(edges):
            yield edges


def colliders(edges):
    """Triples (i, k, j) with i → k ← j and no edge between i and j."""
    linked = edges | edges.T
    d = len(edges)
    return frozenset(
        (i, k, j)
        for i, k, j in product(range(d), repeat=3)
        if i < j and edges[i, k] and edges[j, k] and not linked[i, j]
    )


@pytest.fixture(scope="module")
def classes():
    """DAGs by skeleton and colliders: Verma and Pearl's equivalence."""
    found = {}
    for edges in all_dags():
        key = ((edges | edges.T).tobytes(), colliders(edges))
        found.setdefault(key, []).append(edges)
    return list(found.values())


def test_there_are_543_dags_of_four_variables_in_185_classes(classes):
    assert (sum(map(len, classes)), len(classes)) == (543, 185)


def test_the_essential_graph_directs_exactly_what_the_whole_class_agrees_on(classes):
    for dags in classes:
        union = np.any(dags, axis=0)
        for edges in dags:
            assert_array_equal(essential_graph(Pdag.from_mask(edges)).mask(), union)


def test_colliders_and_completion_give_the_essential_graph(classes):
    for dags in classes:
        graph = Pdag.from_mask(dags[0] | dags[0].T)
        for i, k, j in colliders(dags[0]):
            graph.direct(i, k)
            graph.direct(j, k)

        assert_array_equal(complete(graph).mask(), np.any(dags, axis=0))


def test_an_extension_of_a_class_is_a_member_of_it(classes):
    for dags in classes:
        dag, consistent = consistent_extension(Pdag.from_mask(np.any(dags, axis=0)))

        assert consistent
        assert any(np.array_equal(dag.mask(), edges) for edges in dags)


def test_a_ring_without_colliders_has_no_extension_and_keeps_its_skeleton():
    ring = np.zeros((4, 4), dtype=bool)
    for i in range(4):
        ring[i, (i + 1) % 4] = ring[(i + 1) % 4, i] = True

    dag, consistent = consistent_extension(Pdag.from_mask(ring))

    assert not consistent
    assert is_acyclic(dag.mask())
    assert_array_equal(dag.mask() | dag.mask().T, ring)
    assert dag.n_edges() == 4


def test_a_directed_cycle_has_no_extension_either():
    cycle = np.eye(3, k=1, dtype=bool) | np.eye(3, k=-2, dtype=bool)

    dag, consistent = consistent_extension(Pdag.from_mask(cycle))

    assert not consistent
    assert is_acyclic(dag.mask())
    assert dag.n_edges() == 3


def lowest_sinks_first(edges):
    """Extension as Dor and Tarsi describe it, looking at all variables that are left each time."""
    linked, left, dag = edges | edges.T, list(range(len(edges))), np.zeros_like(edges)
    while left:
        free = [
            i
            for i in left
            if not (edges[i, left] & ~edges[left, i]).any()
            and all(
                linked[j, k] or j == k
                for j in left
                if edges[i, j] and edges[j, i]
                for k in left
                if linked[i, k]
            )
        ]
        outgoing = [(edges[i, left] & ~edges[left, i]).sum() for i in left]
        sink = free[0] if free else left[int(np.argmin(outgoing))]
        left.remove(sink)
        dag[left, sink] = linked[left, sink]
    return dag


@pytest.mark.parametrize("seed", range(40))
def test_the_extension_removes_the_lowest_free_sink_each_time(seed):
    rng = np.random.default_rng(seed)
    edges = rng.random((9, 9)) < rng.choice([0.1, 0.25, 0.4])
    np.fill_diagonal(edges, False)

    dag, _ = consistent_extension(Pdag.from_mask(edges))

    assert_array_equal(dag.mask(), lowest_sinks_first(edges))
