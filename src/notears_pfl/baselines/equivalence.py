"""What PC and GES learn: an equivalence class of DAGs, and one DAG that stands for it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from notears_pfl.baselines.moments import Site, sites_moments
from notears_pfl.baselines.pdag import Pdag, consistent_extension
from notears_pfl.model.types import Array, Mask

Found = TypeVar("Found")
# Steps of a bisection: the interval shrinks by a factor of a million.
BISECTIONS = 20


@dataclass(frozen=True)
class ClassFit:
    """An equivalence class of DAGs.

    Attributes
    ----------
    cpdag : ndarray of bool, shape (d, d)
        (i, j) alone is the edge i → j; together with (j, i) its direction is open.
    dag : ndarray of bool, shape (d, d)
        A consistent extension, by Dor and Tarsi's algorithm; entry (i, j) is the edge i → j.
    consistent : bool
        Whether ``dag`` belongs to the class. PC's colliders may contradict each other on finite
        samples; then no DAG does, and ``dag`` has the skeleton alone.
    evidence : ndarray of shape (d, d)
        How strongly the data speak for each edge of ``dag``, larger is stronger; 0 elsewhere.
    """

    cpdag: Mask
    dag: Mask
    consistent: bool
    evidence: Array


def extended(graph: Pdag, evidence: Array) -> ClassFit:
    """Fit of a class ``graph``; ``evidence`` of shape (d, d), of which the DAG's edges count."""
    dag, consistent = consistent_extension(graph)
    edges = dag.mask()
    return ClassFit(graph.mask(), edges, consistent, np.where(edges, evidence, 0.0))


def correlations(x: Site, *, center: bool) -> tuple[Array, int]:
    """Correlation matrix of shape (d, d), and the number of samples."""
    moments = sites_moments([x], center=center)[0]
    sd = np.sqrt(np.diag(moments.U))
    return moments.U / np.outer(sd, sd), moments.n


def sparsest(
    learn: Callable[[float], Found], count: Callable[[Found], int], n_edges: int, low: float,
    high: float,
) -> Found:  # fmt: skip
    """Bisect for the largest sparsity that leaves at least ``n_edges``.

    ``learn(low)`` must have at least ``n_edges``, ``learn(high)`` has fewer; the search ends
    early where the number is met.
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
