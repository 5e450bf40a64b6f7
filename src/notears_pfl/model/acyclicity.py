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

from notears_pfl.model.types import Array


class Acyclicity(Protocol):
    """What the centre needs from an acyclicity function; ``s`` is the log-det's scale."""

    def value(self, Z: Array, s: float) -> Array:
        """Return h of every site, shape (K,)."""
        ...

    def curvature(self, Z: Array, s: float) -> Array | None:
        """Return G of every site, or None where h is not defined."""
        ...


class TraceExponential:
    """The paper's h, defined everywhere; it has no scale."""

    def value(self, Z: Array, s: float) -> Array:
        """Return tr exp(Z∘Z) − d."""
        return np.trace(expm(Z * Z), axis1=-2, axis2=-1) - Z.shape[-1]

    def curvature(self, Z: Array, s: float) -> Array | None:
        """Return exp(Z∘Z)ᵀ."""
        return np.swapaxes(expm(Z * Z), -1, -2)


class LogDeterminant:
    """DAGMA's h, defined where sI − Z∘Z is an M-matrix (its inverse has no negative entry)."""

    def value(self, Z: Array, s: float) -> Array:
        """Return −log det(sI − Z∘Z) + d log s."""
        d = Z.shape[-1]
        return d * np.log(s) - np.linalg.slogdet(s * np.eye(d) - Z * Z).logabsdet

    def curvature(self, Z: Array, s: float) -> Array | None:
        """Return (sI − Z∘Z)⁻ᵀ, or None where some site is outside the domain."""
        try:
            inverse = np.linalg.inv(s * np.eye(Z.shape[-1]) - Z * Z)
        except np.linalg.LinAlgError:
            return None
        # Rounding leaves tiny negative entries where a path does not exist.
        if not np.isfinite(inverse).all() or inverse.min() < -1e-10:
            return None
        return np.swapaxes(np.maximum(inverse, 0.0), -1, -2)
