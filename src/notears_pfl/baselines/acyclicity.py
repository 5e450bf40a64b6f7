"""Acyclicity h(W) = tr(exp(W ∘ W)) − d of one network, and the step from there to a DAG."""

import numpy as np
from scipy.linalg import expm

from notears_pfl.model.order import acyclic_threshold
from notears_pfl.model.types import Array


def trace_exponential(W: Array) -> tuple[float, Array]:
    """Value and gradient of h at ``W``; zero exactly when ``W`` has no cycle."""
    # A trial step of the line search may be too long for the exponential: it is turned down.
    with np.errstate(over="ignore", invalid="ignore"):
        E = expm(W * W)
        gradient = 2 * W * E.T
    return float(np.trace(E) - len(W)), gradient


def threshold_to_dag(W: Array, threshold: float) -> Array:
    """Drop edges of ``abs(weight) <= threshold``, then the weakest ones until no cycle is left."""
    hollow = np.where(np.eye(len(W), dtype=bool), 0.0, W)
    dag = np.where(np.abs(hollow) > threshold, hollow, 0.0)
    return np.where(np.abs(dag) > acyclic_threshold(dag), dag, 0.0)
