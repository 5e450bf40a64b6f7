"""PC-stable on a correlation matrix (Spirtes & Glymour 1991; Colombo & Maathuis 2014).

i and j are separated by S where √(n − |S| − 3) |atanh r_ij.S| <= z, the quantile 1 − α/2 of the
normal distribution. Levels |S| = 0, 1, … run over all pairs at once, with

    r_ij.Sk = (r_ij.S − r_ik.S r_jk.S) / √((1 − r_ik.S²)(1 − r_jk.S²)).
"""

from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain, combinations
from math import comb

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from notears_pfl.baselines.equivalence import (
    ClassFit,
    Pdag,
    complete,
    correlations,
    extended,
    members,
    sparsest,
)
from notears_pfl.baselines.notears import SiteInput
from notears_pfl.errors import InputError
from notears_pfl.model.problem import Array, Mask

Indices = npt.NDArray[np.intp]
# Tests at a time: what is computed for them stays in the cache.
BLOCK = 1 << 14
# Numbers in a table of positions that is kept for other nodes and fits: 32 tables take 32 MiB.
KEPT = 1 << 17
# Largest partial correlation: atanh of it is finite.
BELOW_ONE = 1 - 1e-15


@dataclass(frozen=True)
class Skeleton:
    """Undirected edges, and the separating sets of pairs without an edge.

    Attributes
    ----------
    edges : ndarray of bool, shape (d, d)
        Symmetric.
    strength : ndarray of shape (d, d)
        Smallest test statistic √(n − |S| − 3) |atanh r_ij.S| over all tests of a pair.
    separators : dict of (int, int) to int
        For i < j without an edge, the set S with the smallest statistic at the level that
        separated them; pairs are ordered by that statistic.
    """

    edges: Mask
    strength: Array
    separators: dict[tuple[int, int], int]

    def n_edges(self) -> int:
        """Count the edges."""
        return int(self.edges.sum()) // 2


def pc(
    x: SiteInput, *, alpha: float = 0.01, max_condition: int = 3, center: bool = True
) -> ClassFit:
    """Learn an equivalence class from one site.

    Parameters
    ----------
    x : ndarray of shape (n, d), or tuple (U, n)
        Samples, or their second moment of shape (d, d) and their number.
    alpha : float
        Significance level of the tests, between 0 and 1.
    max_condition : int
        Size of the largest conditioning set.
    center : bool
        Subtract the mean of each column of the samples.
    """
    if not 0 < alpha < 1:
        msg = f"alpha: needed a number between 0 and 1, found {alpha}. Pass a level such as 0.01."
        raise InputError(msg)
    R, n = _checked(x, max_condition, center)
    return _directed(skeleton(R, n, float(-ndtri(alpha / 2)), max_condition))


def pc_with_edges(
    x: SiteInput, n_edges: int, *, max_condition: int = 3, center: bool = True
) -> ClassFit:
    """Learn with the smallest α, found by bisection of z, that leaves at least ``n_edges``.

    Other parameters are those of :func:`pc`. At z = 0 no test removes an edge, so any number up to
    d(d − 1)/2 can be reached.
    """
    R, n = _checked(x, max_condition, center)

    @cache
    def learn(z: float) -> Skeleton:
        return skeleton(R, n, z, max_condition)

    marginal = skeleton(R, n, np.inf, 0).strength
    high = low = float(marginal[np.triu_indices(len(R), k=1)].max())
    while learn(low).n_edges() < n_edges and low > 0:
        high, low = low, low / 2 if low > 1e-3 else 0.0
    return _directed(sparsest(learn, Skeleton.n_edges, n_edges, low, high))


def skeleton(R: Array, n: int, z: float, max_condition: int) -> Skeleton:
    """Remove, level by level, the edges between pairs that some set separates.

    ``R`` of shape (d, d) holds correlations of ``n`` samples, ``z`` is the critical value. Every
    level uses the neighbours of the level before, so the order of variables does not matter.
    """
    d = len(R)
    edges = ~np.eye(d, dtype=bool)
    strength = np.full((d, d), np.inf)
    separators: dict[tuple[int, int], int] = {}
    for level in range(max_condition + 1):
        i, j, S = _tests(edges, level)
        if not len(i):
            break
        statistic = np.sqrt(n - level - 3) * np.abs(np.arctanh(_partial(R, i, j, S)))
        pair, smallest = np.minimum(i, j) * d + np.maximum(i, j), np.full(d * d, np.inf)
        np.minimum.at(smallest, pair, statistic)
        tests = np.flatnonzero((statistic <= z) & (statistic == smallest[pair]))
        for test in tests[np.argsort(statistic[tests], kind="stable")].tolist():
            separators.setdefault(divmod(int(pair[test]), d), sum(1 << k for k in S[test].tolist()))
        both = smallest.reshape(d, d)
        strength = np.minimum(strength, np.minimum(both, both.T))
        edges = edges & (strength > z)
    return Skeleton(edges, strength, separators)


def _tests(edges: Mask, level: int) -> tuple[Indices, Indices, Indices]:
    """Pairs (i, j), and sets S of shape (n_tests, level) among the other neighbours of i.

    At level 0 the sets are empty, and every pair occurs once.
    """
    if level == 0:
        i, j = np.nonzero(np.triu(edges))
        return i, j, np.empty((len(i), 0), dtype=np.intp)
    first, rest = [], []
    degrees = edges.sum(axis=1).tolist()
    choices = {n: _choices(n, level) for n in set(degrees)}
    for node, n in enumerate(degrees):
        chosen = np.flatnonzero(edges[node])[choices[n]]
        first.append(np.full(len(chosen), node))
        rest.append(chosen)
    chosen = np.concatenate(rest)
    return np.concatenate(first), chosen[:, 0], chosen[:, 1:]


def _choices(n: int, level: int) -> Indices:
    """Positions among n variables of one to test and of ``level`` others, (n_tests, level + 1)."""
    is_small = comb(n, level + 1) * (level + 1) ** 2 <= KEPT
    return _kept_choices(n, level) if is_small else _made_choices(n, level)


def _made_choices(n: int, level: int) -> Indices:
    flat = chain.from_iterable(combinations(range(n), level + 1))
    subsets = np.fromiter(flat, dtype=np.intp).reshape(-1, level + 1)
    return np.concatenate([np.roll(subsets, -first, axis=1) for first in range(level + 1)])


_kept_choices = lru_cache(maxsize=32)(_made_choices)


def _partial(R: Array, i: Indices, j: Indices, S: Indices) -> Array:
    """Partial correlations of the pairs (i, j) given the rows of S, kept below 1."""
    near = np.clip(R, -BELOW_ONE, BELOW_ONE)
    blocks = [slice(first, first + BLOCK) for first in range(0, len(i), BLOCK)]
    return np.concatenate([_partial_block(near, i[own], j[own], S[own]) for own in blocks])


def _partial_block(R: Array, i: Indices, j: Indices, S: Indices) -> Array:
    variables = [i, j, *S.T]
    rows = [variable * len(R) for variable in variables]
    r = {(a, b): R.take(rows[a] + variables[b]) for a, b in combinations(range(len(variables)), 2)}
    for k in range(len(variables) - 1, 1, -1):
        left = [1 - r[a, k] ** 2 for a in range(k)]
        r = {
            (a, b): np.clip(
                (r[a, b] - r[a, k] * r[b, k]) / np.sqrt(left[a] * left[b]), -BELOW_ONE, BELOW_ONE
            )
            for a, b in combinations(range(k), 2)
        }
    return r[0, 1]


def _directed(found: Skeleton) -> ClassFit:
    """Direct the colliders, then the edges whose direction follows from them.

    i — k — j with i, j not adjacent is a collider unless k is in their separator. The most
    clearly separated pairs come first; a collider that contradicts an earlier one is skipped.
    """
    graph = Pdag.from_mask(found.edges)
    adjacent = [graph.adjacent(i) for i in range(len(graph))]
    for (i, j), separator in found.separators.items():
        for k in members(adjacent[i] & adjacent[j] & ~separator):
            if not (graph.parents[i] | graph.parents[j]) >> k & 1:
                graph.direct(i, k)
                graph.direct(j, k)
    return extended(complete(graph), found.strength)


def _checked(x: SiteInput, max_condition: int, demean: bool) -> tuple[Array, int]:
    R, n = correlations(x, demean=demean)
    if max_condition < 0:
        msg = f"max_condition: needed 0 or more, found {max_condition}. Pass a number such as 3."
        raise InputError(msg)
    if n <= max_condition + 3:
        msg = (
            f"a test given {max_condition} variables needs more than {max_condition + 3} samples; "
            f"found {n}. Lower max_condition or use more samples."
        )
        raise InputError(msg)
    return R, n
