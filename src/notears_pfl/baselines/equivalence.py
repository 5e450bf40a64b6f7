"""What PC and GES learn: an equivalence class of DAGs, and one DAG that stands for it."""

from dataclasses import dataclass

import numpy as np

from notears_pfl.baselines.moments import Site, sites_moments
from notears_pfl.baselines.pdag import Pdag, consistent_extension
from notears_pfl.model.types import Array, Mask


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
