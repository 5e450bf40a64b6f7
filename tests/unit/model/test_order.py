"""Orders respect edges, and the acyclic threshold is the smallest one."""

import numpy as np
import pytest

from notears_pfl.model.order import (
    acyclic_threshold,
    is_acyclic,
    respecting,
    site_orders,
    topological_order,
)


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


def test_topological_order_puts_causes_first_and_breaks_ties_by_priority():
    edges = np.zeros((4, 4), dtype=bool)
    edges[3, 0] = True

    order = topological_order(edges, np.array([1.0, 4.0, 2.0, 3.0]))

    assert order.tolist() == [2, 3, 0, 1]


def test_site_orders_respect_every_edge_above_the_threshold(rng):
    Z = rng.normal(size=(5, 6, 6)) * (1 - np.eye(6))

    allowed = respecting(site_orders(Z, rng.uniform(size=(5, 6)), threshold=0.05))

    for z, mask in zip(Z, allowed, strict=True):
        assert mask[np.abs(z) > max(0.05, acyclic_threshold(z))].all()
        assert is_acyclic(mask)
        assert mask.sum() == 15


def test_sites_with_the_same_edges_have_the_same_order(rng):
    Z = np.zeros((3, 4, 4))
    Z[:, 0, 1] = [0.5, 0.7, 0.01]

    first, second, other = site_orders(Z, rng.uniform(size=(3, 4)), threshold=0.05)

    assert first.tolist() == second.tolist()
    assert other.tolist() != first.tolist()
