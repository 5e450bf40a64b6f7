"""From nearly acyclic weights to an order of the ROIs, and to the edges that respect it."""

from collections.abc import Sequence

import numpy as np
from scipy.sparse.csgraph import connected_components

from notears_pfl.model.types import Array, Mask, Order


def is_acyclic(edges: Mask) -> bool:
    """Tell whether no ROI reaches itself: every strong component is a single ROI."""
    if np.diag(edges).any():
        return False
    return int(connected_components(edges, connection="strong")[0]) == len(edges)


def acyclic_threshold(W: Array) -> float:
    """Return the smallest t at which the edges with |W_ij| > t have no cycle (0 for a DAG)."""
    if is_acyclic(W != 0):
        return 0.0
    weights = np.unique(np.abs(W))
    cyclic, acyclic = 0, len(weights) - 1
    while acyclic - cyclic > 1:
        middle = (cyclic + acyclic) // 2
        if is_acyclic(np.abs(W) > weights[middle]):
            acyclic = middle
        else:
            cyclic = middle
    return float(weights[acyclic])


def topological_order(edges: Mask, priority: Array) -> Order:
    """Order in which every edge points forward; among free ROIs the lowest priority is first."""
    waiting = edges.sum(axis=0)
    placed = np.zeros(len(edges), dtype=bool)
    order = np.empty(len(edges), dtype=np.intp)
    for position in range(len(edges)):
        free = np.flatnonzero((waiting == 0) & ~placed)
        order[position] = first = free[np.argmin(priority[free])]
        placed[first] = True
        waiting = waiting - edges[first]
    return order


def site_orders(Z: Array, variances: Array, threshold: float) -> list[Order]:
    """Order of every site's ROIs: by its edges above ``threshold``, ties by variance, (K, d).

    The threshold rises where a cycle would remain. Variance breaks ties because it grows
    along the edges of a linear model with equal noise; sites with the same edges pool theirs,
    so that equal networks have equal orders.
    """
    graphs = [np.abs(z) > max(threshold, acyclic_threshold(z)) for z in Z]
    orders = []
    for graph in graphs:
        alike = [np.array_equal(graph, other) for other in graphs]
        orders.append(topological_order(graph, variances[alike].mean(axis=0)))
    return orders


def respecting(orders: Sequence[Order]) -> Mask:
    """Edges i → j with i before j, per site: (K, d, d)."""
    positions = np.array([np.argsort(order) for order in orders])
    return positions[:, :, None] < positions[:, None, :]
