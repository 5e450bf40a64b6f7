"""What the coordinator computes (Eq. 17 to 22): weights and variances in, never samples.

For each penalty term, Z = argmin term(Z) + c Σ_k h(Z^k) + ρ/2 ‖D^½ (Z − T)‖², where
T = W + β/(ρD) and h joins the first term only. Z has shape (K, d, d), D (d,). From a nearly
acyclic Z follow orders of the ROIs; with the edges restricted to these, no h is needed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from notears_pfl.errors import InputError
from notears_pfl.model.federation import Description, Sites
from notears_pfl.model.problem import (
    Acyclicity,
    Array,
    Mask,
    Order,
    Term,
    acyclic_threshold,
)

# Factors of τ after a step that failed and after one that succeeded: rarely up, slowly down,
# because a failed step costs as much as a good one.
GROW, SHRINK = 2.0, 0.8


# Sites whose typical variance differs from the others' by more than this have units of their own.
OWN_UNITS = 3.0


def site_gains(described: Sequence[Description]) -> Array:
    """Units of the variances of every site, (K,): 1, or a site's own where they differ clearly.

    A factor that all ROIs of a site have in common does not change its weights, but would change
    what the site counts for beside the others.
    """
    variances = np.array([site.variances for site in described])
    gains = np.median(variances / np.median(variances, axis=0), axis=1)
    return np.where(np.abs(np.log(gains)) > np.log(OWN_UNITS), gains, 1.0)


def in_common_units(described: Sequence[Description], gains: Array) -> list[Description]:
    """Divide the variances of every site by its gain."""
    pairs = zip(described, gains, strict=True)
    return [replace(site, variances=site.variances / gain) for site, gain in pairs]


def known_moments(
    sites: Sites, described: Sequence[Description], gains: Array, rho: float
) -> Array:
    """Moments U of every site, (K, d, d), which its answer to V = 0 reveals.

    That answer is W = I − P diag(1/P_jj) with P = (U + ρD)⁻¹, so (I − W)⁻¹ = diag(P_jj) (U + ρD),
    and the variances give P_jj. The coordinator uses what every fit discloses anyway: to decide on
    edges, and on orders of the ROIs, which would take thousands of rounds otherwise.
    """
    typical = np.median([site.variances for site in described] / gains[:, None], axis=0)
    D = gains[:, None] * typical
    sites.begin(D, [None] * len(described), fold=None)
    answers = sites.step(np.zeros((*D.shape, D.shape[1])), rho)
    weights = stacked_weights(answers, sites)
    triples = zip(weights, described, D, strict=True)
    U = np.array([revealed_moments(W, site.variances, rho * own) for W, site, own in triples])
    _refuse_contradictions(U, sites)
    return (U + U.swapaxes(1, 2)) / 2


def revealed_moments(W: Array, variances: Array, pull: Array) -> Array:
    """Moments U, (d, d), of a site that answers V = 0 with W; ``pull``, (d,), is ρD.

    Not numbers where no samples have this answer.
    """
    try:
        inverse = np.linalg.inv(np.eye(len(W)) - W)
    except np.linalg.LinAlgError:
        return np.full(W.shape, np.nan)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        U: Array = ((variances + pull) / np.diag(inverse))[:, None] * inverse
    np.fill_diagonal(U, variances)
    return U


def _refuse_contradictions(U: Array, sites: Sites) -> None:
    """Refuse sites whose weights and variances do not belong to the same samples."""
    root = np.sqrt(np.diagonal(U, axis1=1, axis2=2))
    correlation = U / (root[:, :, None] * root[:, None, :])
    asymmetry = np.abs(correlation - correlation.swapaxes(1, 2)).max(axis=(1, 2))
    named = [k for k, gap in zip(sites.numbers, asymmetry, strict=True) if not gap < 1e-5]
    if named:
        msg = (
            f"sites {named}: weights and variances must come from the same samples; the "
            "correlations that follow from them are not symmetric. Check these sites' data."
        )
        raise InputError(msg)


def stacked_weights(answers: Sequence[tuple[Array, float]], sites: Sites) -> Array:
    """Weights of all sites, (K, d, d), from their answers; refuses weights that are not finite."""
    W = np.stack([weights for weights, _ in answers])
    # Squares, because h has them: a weight whose square overflows is not usable.
    finite = np.isfinite(np.einsum("kij,kij->k", W, W))
    if not finite.all():
        named = [k for k, fine in zip(sites.numbers, finite, strict=True) if not fine]
        msg = (
            f"sites {named}: weights must be finite, and their squares too; found NaN, infinite "
            "values or values above 1e154. Check these sites' samples."
        )
        raise InputError(msg)
    return W


def effective_samples(described: Sequence[Description]) -> Array:
    """Independent samples of every site, (K,); a site that does not tell has a typical share."""
    told = [site.n_effective / site.n for site in described if site.n_effective is not None]
    share = float(np.median(told)) if told else 1.0
    return np.array(
        [share * site.n if site.n_effective is None else site.n_effective for site in described]
    )


class Coordinator(Protocol):
    """What the rounds need from the coordinator; ``allowed``, (K, d, d), marks possible edges."""

    allowed: Mask

    def update(self, T: Array, rho: float, D: Array) -> Array:
        """Return the blocks Z for the blocks T, (n_terms, K, d, d)."""
        ...

    def acyclicity(self) -> float:
        """Largest h over the sites."""
        ...


class PathCoordinator:
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
        """Go to the next stage of the central path: a heavier h on a smaller domain."""
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


class RefitCoordinator:
    """Exact prox of every term over edges that respect the orders, where h is zero."""

    def __init__(self, terms: list[Term], allowed: Mask) -> None:
        self._terms, self.allowed = terms, allowed

    def update(self, T: Array, rho: float, D: Array) -> Array:
        """Return the blocks Z for the blocks T, (n_terms, K, d, d)."""
        return np.stack(_proxes(self._terms, T, rho * D, self.allowed))

    def acyclicity(self) -> float:
        """Largest h over the sites: none has a cycle."""
        return 0.0


def _proxes(terms: Sequence[Term], T: Array, pull: Array, allowed: Mask) -> list[Array]:
    """Prox of every term at its own block, with the rows weighted by ``pull``, (d,)."""
    M = np.broadcast_to(pull[:, None], T.shape[2:])
    return [term.prox(t, M, allowed) for term, t in zip(terms, T, strict=True)]


def _refuse_infinite(values: Mapping[str, Array]) -> None:
    """Stop a search that would never end."""
    names = [name for name, value in values.items() if not np.isfinite(value).all()]
    if names:
        msg = (
            f"coordinator's step: T, Z, G and τ must be finite; found NaN or infinite values in "
            f"{', '.join(names)}. Look for a site whose samples or answers are larger than the "
            "others' by many orders of magnitude; correct it or leave it out."
        )
        raise InputError(msg)


def topological_order(edges: Mask, priority: Array) -> Order:
    """Order in which every edge points forward; among free ROIs the lowest priority is first."""
    waiting = edges.sum(axis=0)
    placed = np.zeros(len(edges), dtype=bool)
    order = np.empty(len(edges), dtype=np.intp)
    for position in range(len(edges)):
        free = np.flatnonzero((waiting == 0) & ~placed)
        order[position] = first = free[np.argmin(priority[free])]
        placed[first] = True
        waiting = waiting - edges[first]
    return order


def site_orders(Z: Array, variances: Array, threshold: float) -> list[Order]:
    """Order of every site's ROIs: by its edges above ``threshold``, ties by variance, (K, d).

    The threshold rises where a cycle would remain. Variance breaks ties because it grows
    along the edges of a linear model with equal noise; sites with the same edges pool theirs,
    so that equal networks have equal orders.
    """
    graphs = [np.abs(z) > max(threshold, acyclic_threshold(z)) for z in Z]
    orders = []
    for graph in graphs:
        alike = [np.array_equal(graph, other) for other in graphs]
        orders.append(topological_order(graph, variances[alike].mean(axis=0)))
    return orders


def respecting(orders: Sequence[Order]) -> Mask:
    """Edges i → j with i before j, per site: (K, d, d)."""
    positions = np.array([np.argsort(order) for order in orders])
    return positions[:, :, None] < positions[:, None, :]


class Anderson:
    """Anderson acceleration of a fixed-point map T ← T + F(T) (type II, with restarts).

    With the differences ΔT and ΔF of the last rounds, γ = argmin ‖F − ΔF γ‖ and the next
    T is T + F − (ΔT + ΔF) γ. The memory is cleared when the step grows, which the plain
    map never does, so a bad extrapolation costs one round.
    """

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self._count = 0
        self._T = self._F = np.empty(0)
        self._length = 0.0

    def next(self, T: Array, F: Array) -> Array:
        """Next point, from the current one and the step that the map takes there."""
        T, F, shape = T.ravel(), F.ravel(), T.shape
        length = float(np.linalg.norm(F))
        if self._count == 0:
            self._dF = np.empty((self._memory, F.size))
            self._dTF = np.empty_like(self._dF)
            self._gram = np.empty((self._memory, self._memory))
        elif length > 2 * self._length:
            self._count = 0
        else:
            row = (self._count - 1) % self._memory
            self._dF[row] = F - self._F
            self._dTF[row] = T - self._T + self._dF[row]
            known = min(self._count, self._memory)
            self._gram[row, :known] = self._gram[:known, row] = self._dF[:known] @ self._dF[row]
        self._T, self._F, self._length = T, F, length
        known = min(self._count, self._memory)
        self._count += 1
        if known == 0:
            return (T + F).reshape(shape)
        dF, dTF = self._dF[:known], self._dTF[:known]
        gram = self._gram[:known, :known]
        # A little regularisation: old differences become nearly collinear.
        gram = gram + 1e-10 * np.trace(gram) * np.eye(known)
        return (T + F - np.linalg.solve(gram, dF @ F) @ dTF).reshape(shape)
