"""What the centre computes (Eq. 17 to 22): weights and variances in, never samples.

Per penalty term, the centre holds Z = argmin term(Z) + c Σ_k h(Z^k) + ρ/2 ‖D^½ (Z − T)‖²,
where T = W + β/(ρD); h joins the first term only. Z has shape (K, d, d), D (d,).
"""

from collections.abc import Mapping, Sequence

import numpy as np

from notears_pfl.errors import InputError
from notears_pfl.model.acyclicity import Acyclicity
from notears_pfl.model.penalties import Term
from notears_pfl.model.types import Array, Mask

# Factors of τ after a step that failed and after one that succeeded: rarely up, slowly down,
# because a failed step costs as much as a good one.
GROW, SHRINK = 2.0, 0.8


class AcyclicCenter:
    """Proximal-gradient steps on c h + term, in a metric that follows the curvature of h.

    The metric M = ρD + 2c(max_k G^k + τ) is one step size per entry; τ grows until the
    step stays in the domain of h and its gradient changes no faster than M says, and
    shrinks again after each success (the constant C of Eq. 18, by backtracking).
    """

    def __init__(
        self, terms: list[Term], acyclicity: Acyclicity, shape: tuple[int, int, int], steps: int
    ) -> None:
        self._terms, self._acyclicity, self._steps = terms, acyclicity, steps
        self._Z = np.zeros(shape)
        self.allowed = np.broadcast_to(~np.eye(shape[-1], dtype=bool), shape)
        self._tau = 1.0

    def enter_stage(self, c: float, s: float) -> None:
        """Move on along the central path: a heavier h, on a smaller domain."""
        self._c, self._s = c, s
        while (found := self._acyclicity.evaluate(self._Z, s)) is None:
            _refuse_infinite({"Z": self._Z})
            self._Z = 0.9 * self._Z
        self._h, self._G = found

    def update(self, T: Array, rho: float, D: Array) -> Array:
        """Return the blocks Z for the blocks T, (n_terms, K, d, d)."""
        for _ in range(self._steps):
            self._descend(T[0], rho * D[:, None])
        return np.stack([self._Z, *_proxes(self._terms[1:], T[1:], rho * D, self.allowed)])

    def acyclicity(self) -> float:
        """Largest h over the sites."""
        return float(self._h.max())

    def _descend(self, T: Array, pull: Array) -> None:
        """One proximal-gradient step, with backtracking on τ."""
        Z, G, c = self._Z, self._G, self._c
        gradient = pull * (Z - T) + 2 * c * Z * G
        curvature = G.max(axis=0)
        while True:
            M = pull + 2 * c * (curvature + self._tau)
            Z_next = self._terms[0].prox(Z - gradient / M, M, self.allowed)
            found = self._acyclicity.evaluate(Z_next, self._s)
            if found is not None:
                h_next, G_next = found
                moved = Z_next - Z
                bend = np.vdot(Z_next * G_next - Z * G, moved)
                if bend <= np.vdot(moved * (curvature + self._tau), moved) + 1e-14:
                    break
            self._tau *= GROW
            _refuse_infinite({"T": T, "Z": Z, "G": G, "τ": np.array(self._tau)})
        self._Z, self._h, self._G = Z_next, h_next, G_next
        self._tau = max(SHRINK * self._tau, 1e-6)


class OrderedCenter:
    """Exact prox of every term over edges that respect the orders: h is zero by itself."""

    def __init__(self, terms: list[Term], allowed: Mask) -> None:
        self._terms, self.allowed = terms, allowed

    def update(self, T: Array, rho: float, D: Array) -> Array:
        """Return the blocks Z for the blocks T, (n_terms, K, d, d)."""
        return np.stack(_proxes(self._terms, T, rho * D, self.allowed))

    def acyclicity(self) -> float:
        """Largest h over the sites: none has a cycle."""
        return 0.0


def _proxes(terms: Sequence[Term], T: Array, pull: Array, allowed: Mask) -> list[Array]:
    """Prox of every term at its own block, with the rows weighed by ``pull``, (d,)."""
    M = np.broadcast_to(pull[:, None], T.shape[2:])
    return [term.prox(t, M, allowed) for term, t in zip(terms, T, strict=True)]


def _refuse_infinite(values: Mapping[str, Array]) -> None:
    """End a search that no further step would end."""
    names = [name for name, value in values.items() if not np.isfinite(value).all()]
    if names:
        msg = (
            f"centre's step: T, Z, G and τ must be finite; found NaN or infinite values in "
            f"{', '.join(names)}. Look for a site whose samples, or whose answers, are larger than "
            "the others' by many orders of magnitude, and correct it or leave it out."
        )
        raise InputError(msg)
