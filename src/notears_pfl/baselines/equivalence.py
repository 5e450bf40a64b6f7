"""Equivalence classes of DAGs, as learned by PC and GES, and a DAG that represents each class.

A class is a partially directed graph. This module completes it by Meek's rules, finds the class of
a DAG, and extends a class to a DAG. A set of variables is stored as the bits of one integer, so
that unions and differences of neighbourhoods take one machine operation.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Self, TypeVar

import numpy as np

from notears_pfl.baselines.notears import SiteInput, sites_moments
from notears_pfl.model.problem import Array, Mask

Found = TypeVar("Found")
# Steps of a bisection: the interval shrinks by a factor of a million.
BISECTIONS = 20


def members(variables: int) -> Iterator[int]:
    """Yield the variables of a set, lowest first."""
    while variables:
        lowest = variables & -variables
        yield lowest.bit_length() - 1
        variables ^= lowest


class Pdag:
    """Directed edges (``parents``, ``children``) and undirected ones (``neighbours``).

    Attributes
    ----------
    parents, children, neighbours : list of int
        One set per variable.
    """

    def __init__(self, parents: list[int], children: list[int], neighbours: list[int]) -> None:
        self.parents, self.children, self.neighbours = parents, children, neighbours

    @classmethod
    def from_mask(cls, edges: Mask) -> Self:
        """Read a matrix: (i, j) without (j, i) is i → j; both together are i — j."""
        bit = [1 << i for i in range(len(edges))]

        def sets(rows: Mask) -> list[int]:
            return [sum(bit[j] for j in np.flatnonzero(row)) for row in rows]

        both = edges & edges.T
        return cls(sets((edges & ~both).T), sets(edges & ~both), sets(both))

    def mask(self) -> Mask:
        """Return the matrix that :meth:`from_mask` reads."""
        edges = np.zeros((len(self), len(self)), dtype=bool)
        for i in range(len(self)):
            edges[i, list(members(self.children[i] | self.neighbours[i]))] = True
        return edges

    def copy(self) -> "Pdag":
        """Return a copy that can be changed independently."""
        return Pdag(self.parents[:], self.children[:], self.neighbours[:])

    def __len__(self) -> int:
        """Count the variables."""
        return len(self.parents)

    def adjacent(self, i: int) -> int:
        """Return the variables that share an edge with ``i``."""
        return self.parents[i] | self.children[i] | self.neighbours[i]

    def n_edges(self) -> int:
        """Count the edges, directed or not."""
        return sum(self.adjacent(i).bit_count() for i in range(len(self))) // 2

    def add(self, i: int, j: int) -> None:
        """Add i → j."""
        self.children[i] |= 1 << j
        self.parents[j] |= 1 << i

    def remove(self, i: int, j: int) -> None:
        """Remove any edge between i and j."""
        for a, b in ((i, j), (j, i)):
            self.parents[a] &= ~(1 << b)
            self.children[a] &= ~(1 << b)
            self.neighbours[a] &= ~(1 << b)

    def direct(self, i: int, j: int) -> None:
        """Turn i — j, or j → i, into i → j."""
        self.remove(i, j)
        self.add(i, j)


def essential_graph(dag: Pdag) -> Pdag:
    """CPDAG of a DAG: edges that are not strongly protected lose their direction.

    Repeated until every directed edge is protected (Andersson, Madigan and Perlman 1997).
    """
    graph = dag.copy()
    adjacent = [graph.adjacent(i) for i in range(len(graph))]
    # Whether an edge is protected changes only with other edges at its ends.
    everywhere = changed = (1 << len(graph)) - 1
    while True:
        free = [
            (i, j)
            for j, parents in enumerate(graph.parents)
            for i in members(parents & (everywhere if changed >> j & 1 else changed))
            if not _protected(graph, adjacent, i, j)
        ]
        if not free:
            return graph
        changed = 0
        for i, j in free:
            graph.parents[j] ^= 1 << i
            graph.children[i] ^= 1 << j
            graph.neighbours[i] |= 1 << j
            graph.neighbours[j] |= 1 << i
            changed |= 1 << i | 1 << j


def _protected(graph: Pdag, adjacent: list[int], i: int, j: int) -> bool:
    """Whether reversing i → j would create or destroy a collider, or create a cycle."""
    if graph.parents[i] & ~adjacent[j] or graph.parents[j] & ~adjacent[i] & ~(1 << i):
        return True
    if graph.children[i] & graph.parents[j]:
        return True
    return not is_clique(graph.neighbours[i] & graph.parents[j], adjacent)


def is_clique(variables: int, adjacent: list[int]) -> bool:
    """Whether all variables of a set are pairwise adjacent."""
    return all(not variables & ~adjacent[i] & ~(1 << i) for i in members(variables))


def complete(pdag: Pdag) -> Pdag:
    """Direct edges whose other direction would add a collider or cycle: Meek's rules 1 to 3."""
    graph = pdag.copy()
    adjacent = [graph.adjacent(i) for i in range(len(graph))]
    while True:
        forced = [
            (i, j)
            for i in range(len(graph))
            for j in members(graph.neighbours[i])
            if graph.parents[i] & ~adjacent[j]
            or graph.children[i] & graph.parents[j]
            or not is_clique(graph.neighbours[i] & graph.parents[j], adjacent)
        ]
        if not forced:
            return graph
        for i, j in forced:
            # In finite samples, contradictory colliders may force both directions; keep the first.
            if graph.neighbours[i] >> j & 1:
                graph.direct(i, j)


def consistent_extension(graph: Pdag) -> tuple[Pdag, bool]:
    """DAG with the same edges, directions and colliders (Dor and Tarsi 1992), if one exists.

    Repeatedly removes a variable without outgoing edges whose neighbours are adjacent to all its
    other adjacent variables, and directs its undirected edges towards it. If there is no such
    variable, no DAG is consistent: the variable with the fewest outgoing edges is then removed with
    all its edges directed towards it, which keeps the skeleton but not every direction or collider.

    Returns
    -------
    dag : Pdag
        All edges directed, no cycle.
    consistent : bool
        Whether it is a consistent extension.
    """
    adjacent = [graph.adjacent(i) for i in range(len(graph))]
    parents, children = [0] * len(graph), [0] * len(graph)
    left, consistent = (1 << len(graph)) - 1, True
    # A variable that is no free sink becomes one only when a variable adjacent to it is removed.
    candidates = left
    while left:
        sink = next(
            (i for i in members(candidates) if _is_free_sink(graph, adjacent, left, i)), None
        )
        if sink is None:
            consistent = False
            sink = min(members(left), key=lambda i: (graph.children[i] & left).bit_count())
        left &= ~(1 << sink)
        candidates = left & (candidates >> sink << sink | adjacent[sink])
        parents[sink], children[sink] = adjacent[sink] & left, adjacent[sink] & ~left
    return Pdag(parents, children, [0] * len(graph)), consistent


def _is_free_sink(graph: Pdag, adjacent: list[int], left: int, i: int) -> bool:
    if graph.children[i] & left:
        return False
    around = adjacent[i] & left
    return all(not around & ~adjacent[j] & ~(1 << j) for j in members(graph.neighbours[i] & left))


@dataclass(frozen=True)
class ClassFit:
    """An equivalence class of DAGs.

    Attributes
    ----------
    cpdag : ndarray of bool, shape (d, d)
        (i, j) without (j, i) is the edge i → j; with both, its direction is open.
    dag : ndarray of bool, shape (d, d)
        A consistent extension, by Dor and Tarsi's algorithm; entry (i, j) is the edge i → j.
    consistent : bool
        Whether ``dag`` belongs to the class. In finite samples, PC's colliders may contradict each
        other; then no DAG does, and ``dag`` keeps only the skeleton.
    evidence : ndarray of shape (d, d)
        Evidence for each edge of ``dag`` (larger is stronger); 0 elsewhere.
    """

    cpdag: Mask
    dag: Mask
    consistent: bool
    evidence: Array


def extended(graph: Pdag, evidence: Array) -> ClassFit:
    """Fit of the class ``graph``, with ``evidence`` (d, d) kept on the edges of its DAG."""
    dag, consistent = consistent_extension(graph)
    edges = dag.mask()
    return ClassFit(graph.mask(), edges, consistent, np.where(edges, evidence, 0.0))


def correlations(x: SiteInput, *, demean: bool) -> tuple[Array, int]:
    """Correlation matrix of shape (d, d), and the number of samples."""
    moments = sites_moments([x], demean=demean)[0]
    sd = np.sqrt(np.diag(moments.U))
    return moments.U / np.outer(sd, sd), moments.n


def sparsest(
    learn: Callable[[float], Found], count: Callable[[Found], int], n_edges: int, low: float,
    high: float,
) -> Found:  # fmt: skip
    """Bisect for the largest sparsity that leaves at least ``n_edges``.

    ``learn(low)`` must have at least ``n_edges``, ``learn(high)`` fewer; the search ends early if
    the number is met exactly.
    """
    found = learn(low)
    for _ in range(BISECTIONS):
        if count(found) == n_edges:
            break
        middle = (low + high) / 2
        candidate = learn(middle)
        if count(candidate) < n_edges:
            high = middle
        else:
            low, found = middle, candidate
    return found
