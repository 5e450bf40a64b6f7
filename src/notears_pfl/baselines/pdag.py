"""Partially directed graphs: completion, equivalence class, and the step from there to a DAG.

Sets of variables are the bits of one integer each, so that unions and differences of
neighbourhoods cost one machine operation.
"""

from collections.abc import Iterator
from typing import Self

import numpy as np

from notears_pfl.model.types import Mask


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
        """Read a matrix: (i, j) alone is i → j, together with (j, i) it is i — j."""
        bit = [1 << i for i in range(len(edges))]

        def sets(rows: Mask) -> list[int]:
            return [sum(bit[j] for j in np.flatnonzero(row)) for row in rows]

        both = edges & edges.T
        return cls(sets((edges & ~both).T), sets(edges & ~both), sets(both))

    def mask(self) -> Mask:
        """Write the matrix that :meth:`from_mask` reads."""
        edges = np.zeros((len(self), len(self)), dtype=bool)
        for i in range(len(self)):
            edges[i, list(members(self.children[i] | self.neighbours[i]))] = True
        return edges

    def copy(self) -> "Pdag":
        """Return a graph that can be changed without changing this one."""
        return Pdag(self.parents[:], self.children[:], self.neighbours[:])

    def __len__(self) -> int:
        """Count the variables."""
        return len(self.parents)

    def adjacent(self, i: int) -> int:
        """Return all that ``i`` shares an edge with."""
        return self.parents[i] | self.children[i] | self.neighbours[i]

    def n_edges(self) -> int:
        """Count the edges, directed or not."""
        return sum(self.adjacent(i).bit_count() for i in range(len(self))) // 2

    def add(self, i: int, j: int) -> None:
        """Add i → j."""
        self.children[i] |= 1 << j
        self.parents[j] |= 1 << i

    def remove(self, i: int, j: int) -> None:
        """Remove whatever edge i and j share."""
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

    After Andersson, Madigan and Perlman (1997): repeated until every directed edge is protected.
    """
    graph = dag.copy()
    adjacent = [graph.adjacent(i) for i in range(len(graph))]
    while True:
        free = [
            (i, j)
            for j in range(len(graph))
            for i in members(graph.parents[j])
            if not _protected(graph, adjacent, i, j)
        ]
        if not free:
            return graph
        for i, j in free:
            graph.remove(i, j)
            graph.neighbours[i] |= 1 << j
            graph.neighbours[j] |= 1 << i


def _protected(graph: Pdag, adjacent: list[int], i: int, j: int) -> bool:
    """Tell whether i → j could not be turned without making or breaking a collider or a cycle."""
    if graph.parents[i] & ~adjacent[j] or graph.parents[j] & ~adjacent[i] & ~(1 << i):
        return True
    if graph.children[i] & graph.parents[j]:
        return True
    return not is_clique(graph.neighbours[i] & graph.parents[j], adjacent)


def is_clique(variables: int, adjacent: list[int]) -> bool:
    """Tell whether all variables of a set are adjacent to each other."""
    return all(not variables & ~adjacent[i] & ~(1 << i) for i in members(variables))


def complete(pdag: Pdag) -> Pdag:
    """Direct what follows from no further collider and no cycle: Meek's rules 1 to 3."""
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
            # Contradictory colliders of finite samples may force both ways: the first stays.
            if graph.neighbours[i] >> j & 1:
                graph.direct(i, j)


def consistent_extension(pdag: Pdag) -> tuple[Pdag, bool]:
    """DAG with the same edges, directions and colliders (Dor and Tarsi 1992), if there is one.

    Repeatedly takes a variable off that nothing points away from and whose neighbours are
    adjacent to all its other adjacent variables, and directs its undirected edges to it. Where
    none is left, and so no DAG is consistent, the variable with the fewest directed edges away
    from it goes first, with all its edges pointing to it: the skeleton stays, some directions
    and colliders do not.

    Returns
    -------
    dag : Pdag
        All edges directed, no cycle.
    consistent : bool
        Whether it is a consistent extension.
    """
    graph, dag = pdag.copy(), pdag.copy()
    adjacent = [graph.adjacent(i) for i in range(len(graph))]
    left, consistent = (1 << len(graph)) - 1, True
    while left:
        sink = next((i for i in members(left) if _is_free_sink(graph, adjacent, left, i)), None)
        if sink is None:
            consistent = False
            sink = min(members(left), key=lambda i: (graph.children[i] & left).bit_count())
        left &= ~(1 << sink)
        for i in members(adjacent[sink] & left):
            dag.direct(i, sink)
    return dag, consistent


def _is_free_sink(graph: Pdag, adjacent: list[int], left: int, i: int) -> bool:
    if graph.children[i] & left:
        return False
    around = adjacent[i] & left
    return all(not around & ~adjacent[j] & ~(1 << j) for j in members(graph.neighbours[i] & left))
