"""Penalties of the stacked networks Z, (K, d, d), as sums of terms with a value and a prox.

    chain      λ1 Σ_k ‖Z^k‖₁ + λ2 Σ_k ‖Z^{k+1} − Z^k‖_F                              (Eq. 10)
    edgewise   λ1 Σ_k ‖Z^k‖₁ + λ2 Σ_ij (‖Z_ij·‖₂ + κ ‖Z_ij· − mean_k Z_ij·‖₂)

Every term gets a consensus block of its own (see ``admm``), so no prox of a sum is needed.
``prox(V, M, allowed)`` minimises value(Z, allowed) + ½ Σ M (Z − V)² over Z that vanish outside
``allowed``, (K, d, d); M, (d, d), is the metric: a step size per entry, equal at every site.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from notears_pfl.model.options import Parameters, PenaltyName
from notears_pfl.model.types import Array, Mask


class Term(Protocol):
    """One summand of a penalty."""

    # Whether the prox is known only for a metric that is the same for every entry.
    needs_uniform_metric: ClassVar[bool]

    def value(self, Z: Array, allowed: Mask) -> float:
        """Value of the term at a Z that vanishes outside ``allowed``."""
        ...

    def prox(self, V: Array, M: Array, allowed: Mask) -> Array:
        """Proximal point of V in the metric M."""
        ...


@dataclass(frozen=True)
class L1:
    """λ1 Σ_k ‖Z^k‖₁: sparsity, site by site."""

    lambda1: float
    needs_uniform_metric: ClassVar[bool] = False

    def value(self, Z: Array, allowed: Mask) -> float:
        """Sum of absolute weights."""
        return self.lambda1 * float(np.abs(Z).sum())

    def prox(self, V: Array, M: Array, allowed: Mask) -> Array:
        """Soft threshold (Eq. 25)."""
        return np.where(allowed, np.sign(V) * np.maximum(np.abs(V) - self.lambda1 / M, 0.0), 0.0)


@dataclass(frozen=True)
class EdgeGroup:
    """λ2 Σ_ij (‖Z_ij·‖₂ + κ ‖Z_ij· − mean_k Z_ij·‖₂): one group per edge, over the sites.

    The first norm selects edges for all sites at once, the second draws their weights
    together. Under a mask, norms and means run over the sites where the edge is allowed.
    """

    lambda2: float
    kappa: float
    needs_uniform_metric: ClassVar[bool] = False

    def value(self, Z: Array, allowed: Mask) -> float:
        """Sum of group norms, and κ times that of the deviations from the sites' mean."""
        norms = _norms(Z).sum()
        if self.kappa > 0:
            norms += self.kappa * _norms(allowed * (Z - _mean(Z, allowed))).sum()
        return self.lambda2 * float(norms)

    def prox(self, V: Array, M: Array, allowed: Mask) -> Array:
        """Shrink the deviation from the mean, then the group: exact because groups nest."""
        V = V * allowed
        if self.kappa > 0:
            mean = allowed * _mean(V, allowed)
            V = mean + _shrink(V - mean, self.kappa * self.lambda2 / M)
        return _shrink(V, self.lambda2 / M)


def _mean(Z: Array, allowed: Mask) -> Array:
    """Mean of every edge over the sites where it is allowed; Z is zero elsewhere."""
    return Z.sum(axis=0) / np.maximum(allowed.sum(axis=0), 1)


def _norms(Z: Array) -> Array:
    """Length of every edge's vector over sites."""
    return np.sqrt(np.einsum("kij,kij->ij", Z, Z))


def _shrink(V: Array, threshold: Array) -> Array:
    """Shorten every edge's vector over sites by ``threshold``, down to zero."""
    norm = _norms(V)
    longer = norm > threshold
    return V * np.where(longer, 1 - threshold / np.where(longer, norm, 1), 0)


@dataclass(frozen=True)
class GroupFused:
    """λ2 Σ_k ‖Z^{k+1} − Z^k‖_F: neighbouring sites have few differences (group-fused lasso)."""

    lambda2: float
    needs_uniform_metric: ClassVar[bool] = True

    def value(self, Z: Array, allowed: Mask) -> float:
        """Sum of the distances between neighbours."""
        jumps = np.diff(Z, axis=0)
        return self.lambda2 * float(np.sqrt((jumps**2).sum(axis=(1, 2))).sum())

    def prox(self, V: Array, M: Array, allowed: Mask) -> Array:
        """Prox of Eq. 26 in a metric with one value; the mask is the other terms' to keep.

        The problem is invariant under rotations of the d² columns, so it is solved in the
        K-dimensional span of the K networks and mapped back.
        """
        rows, threshold = V.reshape(len(V), -1), self.lambda2 / float(M[0, 0])
        if fuses_completely(rows, threshold):
            return np.tile(V.mean(axis=0), (len(V), 1, 1))
        Q, R = np.linalg.qr(rows.T)
        return (group_fused_prox(R.T, threshold) @ Q.T).reshape(V.shape)


def fuses_completely(V: Array, threshold: float) -> bool:
    """Tell whether the prox of rows V is their mean: all dual variables fit in the ball."""
    dual = np.cumsum(V - V.mean(axis=0), axis=0)[:-1]
    return bool(np.all(np.linalg.norm(dual, axis=1) <= threshold))


def group_fused_prox(V: Array, threshold: float, tol: float = 1e-6, max_sweeps: int = 500) -> Array:
    """Minimise ½‖Z − V‖² + threshold Σ_k ‖Z_{k+1} − Z_k‖₂ over the rows of Z.

    Block-coordinate descent on the jumps A (Eq. 27; Bleakley & Vert 2011), Z_k = a + Σ_{i<k} A_i:
    each jump in turn is the shrunk correlation of its step with the residual. Ends when a
    sweep moves no jump by more than ``tol``, relative to the largest.
    """
    K = len(V)
    steps = np.tril(np.ones((K, K - 1)), k=-1)
    centred = steps - steps.mean(axis=0)
    gram = centred.T @ centred
    sizes = np.diag(gram).tolist()
    A = np.zeros((K - 1, V.shape[1]))
    correlation = centred.T @ V
    for _ in range(max_sweeps):
        largest = moved_most = 0.0
        for i, size in enumerate(sizes):
            S = correlation[i] + size * A[i]
            norm = math.sqrt(S.dot(S))
            jump = S * (max(0.0, 1 - threshold / norm) / size) if norm > 0 else S
            moved = jump - A[i]
            distance = math.sqrt(moved.dot(moved))
            if distance > 0:
                A[i] = jump
                correlation -= gram[:, i, None] * moved
            largest, moved_most = max(largest, norm / size), max(moved_most, distance)
        if moved_most <= tol * largest:
            break
    Z = steps @ A
    return Z + (V - Z).mean(axis=0)


def penalty_terms(name: PenaltyName, parameters: Parameters) -> list[Term]:
    """Terms of a penalty without those whose λ is zero; the first carries the acyclicity."""
    sparsity: list[Term] = [L1(parameters.lambda1)]
    if parameters.lambda2 == 0:
        return sparsity
    if name == "chain":
        return [*sparsity, GroupFused(parameters.lambda2)]
    edges = EdgeGroup(parameters.lambda2, parameters.kappa)
    return [edges] if parameters.lambda1 == 0 else [*sparsity, edges]


def row_scale(terms: list[Term], variances: Array) -> Array:
    """Scale D of the consensus penalty: the ROIs' variances over sites, (d,), or their mean."""
    D = variances.mean(axis=0)
    return np.full_like(D, D.mean()) if any(term.needs_uniform_metric for term in terms) else D
