"""What a fit minimises (Eq. 7): the loss of every site, a penalty, and no cycles.

    min_W  Σ_k ½/n_k ‖x^k − x^k W^k‖²  +  R(W)   subject to   h(W^k) = 0 for every site k

The loss depends on the samples through their moments U = xᵀx/n alone: ½ tr (I − W)ᵀ U (I − W).
The penalty R of the stacked networks, (K, d, d), is a sum of terms with a value and a prox:

    chain      λ1 Σ_k ‖W^k‖₁ + λ2 Σ_k ‖W^{k+1} − W^k‖_F                              (Eq. 10)
    edgewise   λ1 Σ_k ‖W^k‖₁ + λ2 Σ_ij (‖W_ij·‖₂ + κ ‖W_ij· − mean_k W_ij·‖₂)

The acyclicity h is zero exactly where a network has no cycle (Eq. 6, and DAGMA's):

    trace-exponential   h(Z) = tr exp(Z∘Z) − d                   G = exp(Z∘Z)ᵀ
    log-det             h(Z) = −log det(sI − Z∘Z) + d log s      G = (sI − Z∘Z)⁻ᵀ

The gradient of h is 2 Z∘G, and 2 G is its curvature entry by entry; G has no negative entry.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.linalg import expm
from scipy.linalg.lapack import dgetrf, dgetri
from scipy.sparse.csgraph import connected_components

Array: TypeAlias = npt.NDArray[np.float64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Order: TypeAlias = npt.NDArray[np.intp]
PenaltyName = Literal["chain", "edgewise"]
AcyclicityName = Literal["log-det", "trace-exponential"]


@dataclass(frozen=True)
class Moments:
    """Second moments U = xᵀx/n of n samples of d ROIs."""

    U: Array
    n: int


def second_moments(x: Array, *, demean: bool = False) -> Moments:
    """Second moments of samples x, (n, d), about zero or about the mean of every ROI."""
    x = x - x.mean(axis=0) if demean else x
    return Moments(x.T @ x / len(x), len(x))


@dataclass(frozen=True)
class Parameters:
    """Values of the penalty's parameters."""

    lambda1: float
    lambda2: float
    kappa: float


def mean_parameters(sites: Sequence[Parameters]) -> Parameters:
    """Parameters that the sites share; λ1 is their mean where each site chose its own."""
    if len(set(sites)) == 1:
        return sites[0]
    return replace(sites[0], lambda1=float(np.mean([site.lambda1 for site in sites])))


class Term(Protocol):
    """One summand of a penalty.

    ``allowed``, (K, d, d), marks the edges that may exist: Z is zero elsewhere. The metric M,
    (d, d), is a step size per entry, the same at every site.
    """

    # Whether the prox is known only for a metric that is the same for every entry.
    needs_uniform_metric: ClassVar[bool]

    def value(self, Z: Array, allowed: Mask) -> float:
        """Value of the term at Z."""
        ...

    def prox(self, V: Array, M: Array, allowed: Mask) -> Array:
        """Minimise value(Z, allowed) + ½ Σ M (Z − V)² over Z."""
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
        """Prox of Eq. 26 in a metric with one value; the other terms keep the mask.

        The problem is invariant under rotations of the d² columns, so it is solved in the
        K-dimensional span of the K networks and mapped back.
        """
        rows, threshold = V.reshape(len(V), -1), self.lambda2 / float(M[0, 0])
        if fuses_completely(rows, threshold):
            return np.tile(V.mean(axis=0), (len(V), 1, 1))
        Q, R = np.linalg.qr(rows.T)
        return (group_fused_prox(R.T, threshold) @ Q.T).reshape(V.shape)


def fuses_completely(V: Array, threshold: float) -> bool:
    """Whether the prox of rows V is their mean: all dual variables fit in the ball."""
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
    """Terms of a penalty without those whose λ is zero; the coordinator adds h to the first."""
    sparsity: list[Term] = [L1(parameters.lambda1)]
    if parameters.lambda2 == 0:
        return sparsity
    if name == "chain":
        return [*sparsity, GroupFused(parameters.lambda2)]
    edges = EdgeGroup(parameters.lambda2, parameters.kappa)
    return [edges] if parameters.lambda1 == 0 else [*sparsity, edges]


def row_scale(terms: list[Term], variances: Array) -> Array:
    """Scale D, (d,), of the consensus penalty: typical variance of every ROI, or of all of them.

    The median over sites, (K, d), so that one loud site does not set the scale of the others.
    """
    D = np.median(variances, axis=0)
    return np.full_like(D, D.mean()) if any(term.needs_uniform_metric for term in terms) else D


class Acyclicity(Protocol):
    """An acyclicity function of networks Z, (K, d, d); ``s`` is the scale of the log-det."""

    def evaluate(self, Z: Array, s: float) -> tuple[Array, Array] | None:
        """Return h, (K,), and G, (K, d, d), or None where h is not defined."""
        ...


class TraceExponential:
    """The paper's h, defined everywhere; it has no scale."""

    def evaluate(self, Z: Array, s: float) -> tuple[Array, Array] | None:
        """Return tr exp(Z∘Z) − d and exp(Z∘Z)ᵀ."""
        E = expm(Z * Z)
        return np.trace(E, axis1=-2, axis2=-1) - Z.shape[-1], np.swapaxes(E, -1, -2)


class LogDeterminant:
    """DAGMA's h, defined where sI − Z∘Z is an M-matrix (its inverse has no negative entry)."""

    def evaluate(self, Z: Array, s: float) -> tuple[Array, Array] | None:
        """Return −log det(sI − Z∘Z) + d log s and (sI − Z∘Z)⁻ᵀ, both from one factorisation."""
        d = Z.shape[-1]
        pivot, G = np.empty(Z.shape[:2]), np.empty(Z.shape)
        for k, M in enumerate(s * np.eye(d) - Z * Z):
            # LAPACK reads columns first: this is the factorisation, and the inverse, of Mᵀ.
            LU, pivots, singular = dgetrf(M.T, overwrite_a=True)
            if singular:
                return None
            pivot[k] = LU.diagonal()
            G[k], _ = dgetri(LU, pivots, overwrite_lu=True)
        # Rounding leaves tiny negative entries where a path does not exist.
        if not np.isfinite(G).all() or G.min() < -1e-10:
            return None
        h = d * np.log(s) - np.log(np.abs(pivot)).sum(axis=1)
        return h, np.maximum(G, 0.0)


ACYCLICITIES: dict[AcyclicityName, Acyclicity] = {
    "log-det": LogDeterminant(),
    "trace-exponential": TraceExponential(),
}


def is_acyclic(edges: Mask) -> bool:
    """Whether no ROI reaches itself: every strong component is a single ROI."""
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
