"""Random DAGs, and related graphs for the sites (section 4, appendix C).

Adjacency matrices are boolean of shape (d, d); entry (i, j) is the edge i → j.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from notears_pfl.errors import InputError

Graph = NDArray[np.bool_]
Perturbation = Literal["edges", "entries"]


def erdos_renyi_dag(rng: np.random.Generator, d: int, edges_per_variable: float = 1.0) -> Graph:
    """Draw ``round(edges_per_variable * d)`` edges among ``d`` variables in a random order."""
    n_pairs = d * (d - 1) // 2
    n_edges = round(edges_per_variable * d)
    if d < 2 or not 0 <= n_edges <= n_pairs:
        msg = (
            f"graph of {d} variables: needed between 0 and {n_pairs} edges, found {n_edges}. "
            "Choose at least 2 variables and fewer edges per variable."
        )
        raise InputError(msg)
    rows, columns = np.triu_indices(d, k=1)
    chosen = rng.choice(n_pairs, size=n_edges, replace=False)
    order = rng.permutation(d)
    graph = np.zeros((d, d), dtype=bool)
    graph[order[rows[chosen]], order[columns[chosen]]] = True
    return graph


def perturb(
    rng: np.random.Generator, graph: Graph, level: float, kind: Perturbation = "edges"
) -> Graph:
    """Draw an acyclic graph that is related to ``graph``.

    Parameters
    ----------
    rng : Generator
    graph : ndarray of shape (d, d)
        A DAG.
    level : float
        The perturbation level p_l, between 0 and 1.
    kind : "edges" or "entries"
        ``edges`` makes p_l × E changes to a graph with E edges. ``entries`` is the paper's
        wording: it changes p_l of all d(d − 1) ordered pairs, except where a cycle would close.
    """
    if not 0 <= level <= 1:
        msg = f"perturbation level: needed 0 to 1, found {level}. Give a share, not a percentage."
        raise InputError(msg)
    changes = _edge_changes if kind == "edges" else _entry_changes
    return changes(rng, graph, level)


def add_edge(graph: Graph, i: int, j: int) -> Graph | None:
    """Return ``graph`` with the edge i → j, or None if that closes a cycle."""
    reached = np.zeros(len(graph), dtype=bool)
    reached[j] = True
    frontier = reached
    while frontier.any() and not reached[i]:
        frontier = graph[frontier].any(axis=0) & ~reached
        reached = reached | frontier
    return None if reached[i] else _set_edge(graph, i, j, present=True)


def delete_edge(graph: Graph, i: int, j: int) -> Graph:
    """Return ``graph`` without the edge i → j."""
    return _set_edge(graph, i, j, present=False)


def reverse_edge(graph: Graph, i: int, j: int) -> Graph | None:
    """Return ``graph`` with j → i in place of i → j, or None if that closes a cycle."""
    return add_edge(delete_edge(graph, i, j), j, i)


def _edge_changes(rng: np.random.Generator, graph: Graph, level: float) -> Graph:
    """Make p_l × E changes: add an edge (½), delete one (¼), reverse one (¼).

    No pair of variables is changed twice, so the number of changes is the distance from
    ``graph``; a fraction of a change is one change with that probability.
    """
    free = ~np.eye(len(graph), dtype=bool)
    changed = graph
    for _ in range(int(level * graph.sum() + rng.random())):
        first = rng.choice(["add", "delete", "reverse"], p=[0.5, 0.25, 0.25])
        # In a nearly full graph there may be no edge to add or reverse; then delete one.
        for move in (first, "delete"):
            moved = _any_move(rng, changed, free, move)
            if moved is not None:
                changed, (i, j) = moved
                free[[i, j], [j, i]] = False
                break
    return changed


def _any_move(
    rng: np.random.Generator, graph: Graph, free: Graph, move: str
) -> tuple[Graph, tuple[int, int]] | None:
    """Make ``move`` at a random free place where it keeps the graph acyclic, if there is one."""
    places = free & ~(graph | graph.T) if move == "add" else free & graph
    for i, j in rng.permutation(np.argwhere(places)):
        moved = MOVES[move](graph, i, j)
        if moved is not None:
            return moved, (i, j)
    return None


def _entry_changes(rng: np.random.Generator, graph: Graph, level: float) -> Graph:
    """Change p_l of the d(d − 1) ordered pairs: absent edges are added, others deleted or reversed.

    The paper's reversal keeps the old edge, which makes a cycle; here the old edge is removed.
    """
    pairs = np.argwhere(~np.eye(len(graph), dtype=bool))
    changed = graph
    for i, j in rng.permutation(pairs)[: round(level * len(pairs))]:
        move = rng.choice(["delete", "reverse"]) if graph[i, j] else "add"
        moved = MOVES[move](changed, i, j)
        changed = changed if moved is None else moved
    return changed


def _set_edge(graph: Graph, i: int, j: int, *, present: bool) -> Graph:
    copy = graph.copy()
    copy[i, j] = present
    return copy


MOVES: dict[str, Callable[[Graph, int, int], Graph | None]] = {
    "add": add_edge,
    "delete": delete_edge,
    "reverse": reverse_edge,
}
