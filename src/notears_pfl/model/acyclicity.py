"""Acyclicity functions h(Z) and their gradients 2 Z∘G (Eq. 6 and its log-det sibling).

    trace-exponential   h(Z) = tr exp(Z∘Z) − d                   G = exp(Z∘Z)ᵀ
    log-det             h(Z) = −log det(sI − Z∘Z) + d log s      G = (sI − Z∘Z)⁻ᵀ

Both are zero exactly where Z has no cycle. Z stacks the networks of K sites, (K, d, d);
h has shape (K,) and G that of Z. G is non-negative and serves the centre twice: 2 Z∘G is
the gradient, and 2 G its curvature seen entry by entry.
"""

from typing import Protocol

import numpy as np
from scipy.linalg import expm
from scipy.linalg.lapack import dgetrf, dgetri

from notears_pfl.model.types import Array


class Acyclicity(Protocol):
    """What the centre needs from an acyclicity function; ``s`` is the log-det's scale."""

    def evaluate(self, Z: Array, s: float) -> tuple[Array, Array] | None:
        """Return h, (K,), and G of every site, or None where h is not defined."""
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
        h, G = np.empty(len(Z)), np.empty(Z.shape)
        for k, M in enumerate(s * np.eye(d) - Z * Z):
            # LAPACK reads columns first: this is the factorisation, and the inverse, of Mᵀ.
            LU, pivots, singular = dgetrf(M.T, overwrite_a=True)
            if singular:
                return None
            h[k] = d * np.log(s) - np.log(np.abs(LU.diagonal())).sum()
            G[k], _ = dgetri(LU, pivots, overwrite_lu=True)
        # Rounding leaves tiny negative entries where a path does not exist.
        if not np.isfinite(G).all() or G.min() < -1e-10:
            return None
        return h, np.maximum(G, 0.0)
