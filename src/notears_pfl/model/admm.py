"""The rounds between the centre and the sites (Algorithm 1), over any transport.

In scaled form each of B penalty terms has T_b = W + β_b/(ρD). A round is

    Z_b = centre(T_b),   V = mean_b (2 Z_b − T_b),   W^k = site_k(V^k, Bρ),   T_b += α (W − Z_b)

with over-relaxation α: Douglas-Rachford splitting of the consensus problem. The path runs
rounds with a growing weight on h and finds the orders of the ROIs; the refit runs them
with the edges restricted to those orders, where the problem is convex.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from notears_pfl.errors import InputError
from notears_pfl.model.acceleration import Anderson
from notears_pfl.model.acyclicity import Acyclicity, LogDeterminant, TraceExponential
from notears_pfl.model.center import AcyclicCenter, OrderedCenter
from notears_pfl.model.federation import Federation
from notears_pfl.model.options import Options
from notears_pfl.model.order import respecting
from notears_pfl.model.penalties import Term
from notears_pfl.model.types import Array, Mask, Order

ACYCLICITIES: dict[str, Acyclicity] = {
    "log-det": LogDeterminant(),
    "trace-exponential": TraceExponential(),
}


class Center(Protocol):
    """What the rounds need from the centre; ``allowed``, (K, d, d), marks possible edges."""

    allowed: Mask

    def update(self, T: Array, rho: float, D: Array) -> Array:
        """Return the blocks Z for the blocks T."""
        ...

    def acyclicity(self) -> float:
        """Largest h over the sites."""
        ...


@dataclass(frozen=True)
class History:
    """One entry per round: of the path, then of the refit."""

    objective: Array
    primal_residual: Array
    dual_residual: Array
    h: Array


@dataclass
class Log:
    """What is written down in every round; ``tick`` tells a progress bar."""

    tick: Callable[[], None] = lambda: None
    objective: list[float] = field(default_factory=list)
    primal_residual: list[float] = field(default_factory=list)
    dual_residual: list[float] = field(default_factory=list)
    h: list[float] = field(default_factory=list)

    def add(self, objective: float, primal: float, dual: float, h: float) -> None:
        """Write one round down."""
        self.objective.append(objective)
        self.primal_residual.append(primal)
        self.dual_residual.append(dual)
        self.h.append(h)
        self.tick()

    def history(self) -> History:
        """Return all rounds so far as arrays."""
        columns = (self.objective, self.primal_residual, self.dual_residual, self.h)
        return History(*map(np.array, columns))


@dataclass(frozen=True)
class Rest:
    """Where rounds ended: blocks T and Z, (B, K, d, d), and whether they came to rest."""

    T: Array
    Z: Array
    converged: bool


@dataclass(frozen=True)
class Joint:
    """The problem that rounds solve.

    Parameters
    ----------
    sites : Federation
        The sites that answer.
    terms : list of Term
        The penalty.
    D : ndarray of shape (d,)
        Scale of the rows in the consensus penalty.
    noise : float
        Variance of the noise, the unit of the loss: the weight of h is counted in it.
    """

    sites: Federation
    terms: list[Term]
    D: Array
    noise: float

    def begin(self, orders: Sequence[Order | None], fold: int | None) -> None:
        """Have every site prepare for steps."""
        self.sites.ask("begin", [(self.D, order, fold) for order in orders])

    def zeros(self) -> Array:
        """Blocks of zeros, (B, K, d, d)."""
        return np.zeros((len(self.terms), len(self.sites), len(self.D), len(self.D)))


def run_rounds(
    joint: Joint,
    center: Center,
    T: Array,
    rho: float,
    max_rounds: int,
    tol: float,
    advance: Callable[[Array, Array], Array],
    log: Log,
) -> Rest:
    """Run rounds until both relative residuals are below ``tol``.

    ``advance(T, W − Z)`` returns the next T.
    """
    scale = joint.D[:, None]
    Z = joint.zeros()
    for _ in range(max_rounds):
        Z_last, Z = Z, center.update(T, rho, joint.D)
        V = (2 * Z - T).mean(axis=0)
        W, loss = _local_steps(joint, V, len(T) * rho)

        primal = _norm(W - Z) / max(_norm(Z), _norm(W), 1e-12)
        dual = _norm(scale * (Z - Z_last)) / max(_norm(scale * (T - Z)), 1e-12)
        pairs = zip(joint.terms, Z, strict=True)
        penalty = sum(term.value(z, center.allowed) for term, z in pairs)
        log.add(loss + penalty, primal, dual, center.acyclicity())
        if max(primal, dual) <= tol:
            return Rest(T, Z, converged=True)
        T = advance(T, W - Z)
    return Rest(T, Z, converged=False)


def _local_steps(joint: Joint, V: Array, rho: float) -> tuple[Array, float]:
    """Local weights W, (K, d, d), and the sum of their losses."""
    answers = joint.sites.ask("step", [(v, rho) for v in V])
    W = np.stack([weights for weights, _ in answers])
    # Squares, because h has them: a weight whose square is too large for a number is no weight.
    finite = np.isfinite(np.einsum("kij,kij->k", W, W))
    if not finite.all():
        sites = [k for k, fine in zip(joint.sites.members, finite, strict=True) if not fine]
        msg = (
            f"sites {sites}: weights must be finite, and their squares too; found NaN, infinite "
            "values or values above 1e154. Check these sites' samples."
        )
        raise InputError(msg)
    return W, sum(loss for _, loss in answers)


def follow_path(joint: Joint, options: Options, log: Log) -> Array:
    """Nearly acyclic Z, (K, d, d): rounds on a central path, from a light to a heavy h."""
    T = joint.zeros()
    center = AcyclicCenter(
        joint.terms, ACYCLICITIES[options.acyclicity], T.shape[1:], options.inner_steps
    )
    joint.begin([None] * len(joint.sites), fold=None)
    rho = options.rho
    for stage in options.path:
        center.enter_stage(stage.c * joint.noise, stage.s)
        rest = run_rounds(
            joint, center, T, rho, stage.rounds, options.tol,
            lambda T, step: T + options.relaxation * step, log,
        )  # fmt: skip
        # A larger ρ with the same multipliers β = ρD (T − Z).
        T = rest.Z + (rest.T - rest.Z) / options.rho_growth
        rho *= options.rho_growth
    return rest.Z[0]


def refit(
    joint: Joint,
    orders: Sequence[Order],
    options: Options,
    log: Log,
    *,
    fold: int | None = None,
    start: Array | None = None,
) -> Rest:
    """Solve the convex problem restricted to edges that respect the sites' orders.

    Parameters
    ----------
    fold : int, optional
        Leave this fold's samples out, at every site.
    start : ndarray of shape (B, K, d, d), optional
        Blocks T to start from.
    """
    joint.begin(orders, fold)
    center = OrderedCenter(joint.terms, respecting(orders))
    T = joint.zeros() if start is None else start
    anderson = Anderson(options.memory)
    return run_rounds(
        joint, center, T, options.refit_rho, options.max_rounds, options.tol, anderson.next, log
    )


def _norm(X: Array) -> float:
    return float(np.sqrt(np.vdot(X, X)))
