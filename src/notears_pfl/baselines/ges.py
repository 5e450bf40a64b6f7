"""GES: greedy equivalence search with the BIC of a Gaussian model (Chickering 2002).

Adding X to the parents B of Y gains −n/2 log(1 − ρ²_XY.B) and costs c = penalty · ½ ln n. The
cost is the same for every edge, so it only determines where the search stops: one forward path,
with one backward path from each of its states, covers all penalties.
"""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from notears_pfl.baselines.equivalence import (
    ClassFit,
    Pdag,
    consistent_extension,
    correlations,
    essential_graph,
    extended,
    members,
    sparsest,
)
from notears_pfl.baselines.notears import SiteInput, refuse_negative
from notears_pfl.model.problem import Array


def ges(x: SiteInput, *, penalty: float = 1.0, center: bool = True) -> ClassFit:
    """Learn an equivalence class from one site.

    Parameters
    ----------
    x : ndarray of shape (n, d), or tuple (U, n)
        Samples, or their second moment of shape (d, d) and their number.
    penalty : float
        Cost of an edge, in units of the BIC's cost, ½ ln n.
    center : bool
        Subtract the mean of each column of the samples.
    """
    refuse_negative(penalty=penalty)
    R, n = correlations(x, demean=center)
    scores = Scores(R, n)
    return _fit(ForwardPath(scores).searched(penalty * np.log(n) / 2), scores)


def ges_with_edges(x: SiteInput, n_edges: int, *, center: bool = True) -> ClassFit:
    """Learn with the largest penalty, found by bisection, that leaves at least ``n_edges``.

    At zero cost every pair gets an edge, so any number up to d(d − 1)/2 can be reached.
    """
    scores = Scores(*correlations(x, demean=center))
    path = ForwardPath(scores)
    reach, low = n_edges, path.gains[0]
    while low > 0 and path.searched(low).n_edges() < n_edges:
        low = path.lowest_gain(reach)
        reach += max(1, n_edges // 10)
    found = sparsest(path.searched, Pdag.n_edges, n_edges, low, path.gains[0])
    return _fit(found, scores)


@dataclass(frozen=True)
class Scores:
    """Gain in log-likelihood of an edge, from the correlations ``R`` of ``n`` samples."""

    R: Array
    n: int
    _known: dict[tuple[int, int], Array] = field(default_factory=dict)

    def gains(self, y: int, parents: int) -> Array:
        """Gain of adding each variable in turn to the ``parents`` of ``y``, shape (d,).

        The entries at ``y`` and at its parents are meaningless.
        """
        key = (y, parents)
        if key not in self._known:
            B = list(members(parents))
            to_y, variances = self.R[y], np.ones(len(self.R))
            if B:
                A = np.linalg.solve(self.R[np.ix_(B, B)], self.R[B])
                to_y = to_y - self.R[y, B] @ A
                variances = variances - np.einsum("bj,bj->j", self.R[B], A)
            unexplained = np.maximum(variances * variances[y], 1e-300)
            rho2 = np.clip(to_y**2 / unexplained, 0, 1 - 1e-15)
            self._known[key] = -self.n / 2 * np.log1p(-rho2)
        return self._known[key]


class Move(NamedTuple):
    """Insertion or deletion of the edge between x and y, given the other parents of y.

    ``clique`` holds the neighbours of y that become its parents: in Chickering's letters,
    NA ∪ T of an insertion, NA ∖ H of a deletion.
    """

    gain: float
    x: int
    y: int
    clique: int


class ForwardPath:
    """States of the forward phase, computed on demand, and the backward paths from them.

    Attributes
    ----------
    states : list of Pdag
        CPDAGs, starting with the empty graph.
    gains : list of float
        Gain of the best valid insertion in each state; 0 if none is left.
    """

    def __init__(self, scores: Scores) -> None:
        d = len(scores.R)
        self._scores = scores
        self._search = _Insertions(scores)
        self._backward: dict[int, _BackwardPath] = {}
        self.states = [Pdag([0] * d, [0] * d, [0] * d)]
        self._moves = [self._search.best(self.states[0])]

    @property
    def gains(self) -> list[float]:
        """Gain of the best insertion in each state."""
        return [0.0 if move is None else move.gain for move in self._moves]

    def lowest_gain(self, n_edges: int) -> float:
        """Advance to ``n_edges`` edges; return the lowest cost at which a known state is final."""
        while len(self.states) <= n_edges and self._advance():
            pass
        return min(self.gains)

    def searched(self, cost: float) -> Pdag:
        """Class found at this cost per edge: insert while the gain exceeds it, then delete."""
        state = 0
        while (move := self._moves[state]) is not None and move.gain > cost:
            if state + 1 == len(self.states):
                self._advance()
            state += 1
        if state not in self._backward:
            self._backward[state] = _BackwardPath(self._scores, self.states[state])
        return self._backward[state].searched(cost)

    def _advance(self) -> bool:
        """Make the best insertion in the last state; return whether there was one."""
        move = self._moves[-1]
        if move is None:
            return False
        self.states.append(_inserted(self.states[-1], move))
        self._moves.append(self._search.best(self.states[-1]))
        return True


class _Insertions:
    """Finds the best valid insertion; reuses what has not changed since the last state."""

    def __init__(self, scores: Scores) -> None:
        self._scores = scores
        self._seen: dict[int, tuple[object, list[Move]]] = {}

    def best(self, graph: Pdag) -> Move | None:
        adjacent = [graph.adjacent(i) for i in range(len(graph))]
        ranked = [self._ranked(graph, adjacent, y) for y in range(len(graph))]
        heap = [(-moves[0].gain, y, 0) for y, moves in enumerate(ranked) if moves]
        heapq.heapify(heap)
        onward = [graph.children[i] | graph.neighbours[i] for i in range(len(graph))]
        reached: dict[tuple[int, int], int] = {}
        while heap:
            _, y, position = heap[0]
            move = ranked[y][position]
            key = (y, move.clique)
            if key not in reached:
                reached[key] = _reached(onward, *key)
            if not reached[key] >> move.x & 1:
                return move
            if position + 1 < len(ranked[y]):
                following = ranked[y][position + 1]
                heapq.heapreplace(heap, (-following.gain, y, position + 1))
            else:
                heapq.heappop(heap)
        return None

    def _ranked(self, graph: Pdag, adjacent: list[int], y: int) -> list[Move]:
        """List the insertions x → y that the cliques around y allow, best first."""
        neighbours = graph.neighbours[y]
        around = tuple(adjacent[u] for u in members(neighbours))
        state = (graph.parents[y], neighbours, adjacent[y], around)
        if y not in self._seen or self._seen[y][0] != state:
            self._seen[y] = (state, self._evaluated(graph, adjacent, y))
        return self._seen[y][1]

    def _evaluated(self, graph: Pdag, adjacent: list[int], y: int) -> list[Move]:
        moves = []
        all_variables = (1 << len(graph)) - 1
        for clique in _cliques(graph.neighbours[y], adjacent):
            # Every neighbour of y that is adjacent to x must be in the clique.
            excluded = adjacent[y] | 1 << y
            for u in members(graph.neighbours[y] & ~clique):
                excluded |= adjacent[u]
            gains = self._scores.gains(y, graph.parents[y] | clique).tolist()
            moves += [Move(gains[x], x, y, clique) for x in members(all_variables & ~excluded)]
        return sorted(moves, key=lambda move: -move.gain)


class _BackwardPath:
    """States of the backward phase from one state of the forward phase."""

    def __init__(self, scores: Scores, start: Pdag) -> None:
        self._scores = scores
        self._states, self._losses = [start], [np.inf]

    def searched(self, cost: float) -> Pdag:
        """Delete edges as long as the smallest loss is below the cost of an edge."""
        state = 0
        while self._loss(state) < cost:
            state += 1
        return self._states[state]

    def _loss(self, state: int) -> float:
        """Smallest loss by a deletion in a state; also stores the state that follows."""
        if state + 1 == len(self._states):
            graph = self._states[state]
            move = min(self._deletions(graph), key=lambda m: m.gain, default=None)
            if move is None:
                return np.inf
            self._losses[state] = move.gain
            self._states.append(_deleted(graph, move))
            self._losses.append(np.inf)
        return self._losses[state]

    def _deletions(self, graph: Pdag) -> Iterator[Move]:
        adjacent = [graph.adjacent(i) for i in range(len(graph))]
        for y in range(len(graph)):
            for x in members(graph.parents[y] | graph.neighbours[y]):
                for clique in _cliques(graph.neighbours[y] & adjacent[x], adjacent):
                    parents = (clique | graph.parents[y]) & ~(1 << x)
                    yield Move(float(self._scores.gains(y, parents)[x]), x, y, clique)


def _cliques(variables: int, adjacent: list[int]) -> Iterator[int]:
    """Yield all subsets that are cliques, the empty one first."""
    waiting = [(0, variables)]
    while waiting:
        clique, rest = waiting.pop()
        yield clique
        for u in members(rest):
            rest &= ~(1 << u)
            waiting.append((clique | 1 << u, rest & adjacent[u]))


def _reached(onward: list[int], start: int, blocked: int) -> int:
    """Variables to which a semi-directed path from ``start`` leads that avoids ``blocked``."""
    reached = fresh = 1 << start
    while fresh:
        following = 0
        for i in members(fresh):
            following |= onward[i]
        fresh = following & ~(reached | blocked)
        reached |= fresh
    return reached


def _inserted(graph: Pdag, move: Move) -> Pdag:
    """CPDAG after the insertion x → y."""
    changed = graph.copy()
    changed.add(move.x, move.y)
    for t in members(move.clique & ~graph.adjacent(move.x)):
        changed.direct(t, move.y)
    return essential_graph(consistent_extension(changed)[0])


def _deleted(graph: Pdag, move: Move) -> Pdag:
    """CPDAG after the deletion of the edge between x and y."""
    x, y = move.x, move.y
    changed = graph.copy()
    changed.remove(x, y)
    for h in members(graph.neighbours[y] & graph.adjacent(x) & ~move.clique):
        changed.direct(y, h)
        if graph.neighbours[x] >> h & 1:
            changed.direct(x, h)
    return essential_graph(consistent_extension(changed)[0])


def _fit(graph: Pdag, scores: Scores) -> ClassFit:
    """Fit of a class; the evidence for an edge is its gain, given the other parents."""
    dag, _ = consistent_extension(graph)
    evidence = np.zeros_like(scores.R)
    for y in range(len(dag)):
        for x in members(dag.parents[y]):
            evidence[x, y] = scores.gains(y, dag.parents[y] & ~(1 << x))[x]
    return extended(graph, evidence)
