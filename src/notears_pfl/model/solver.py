"""Rounds between the coordinator and the sites (Algorithm 1), and what they add up to: a fit.

In scaled form each of B penalty terms has T_b = W + β_b/(ρD). A round is

    Z_b = coordinator(T_b),  V = mean_b (2 Z_b − T_b),  W^k = site_k(V^k, Bρ),  T_b += α (W − Z_b)

with over-relaxation α: Douglas-Rachford splitting of the consensus problem. A fit has these parts:

    path        rounds with a growing weight on h, whose end gives the orders of the ROIs
    refit       rounds over the edges that respect these orders, where the problem is convex; once
                more in the orders of its clear edges
    search      other orders, from the path's and from a consensus of the sites that needs no path,
                and which edges exist in them (:mod:`notears_pfl.model.orders`)
    refit       the same in the orders that were found
"""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace

import numpy as np

from notears_pfl.model.constraints import Constraints, free_constraints
from notears_pfl.model.coordinator import (
    Anderson,
    Coordinator,
    PathCoordinator,
    RefitCoordinator,
    effective_samples,
    respecting,
    site_orders,
    stacked_weights,
)
from notears_pfl.model.evidence import decide_from, refit_weights
from notears_pfl.model.federation import Description, Sites
from notears_pfl.model.orders import (
    SEARCH_ROUNDS,
    Directed,
    choose,
    consensus_order,
    direct,
    poor,
    reversal_odds,
    untie,
)
from notears_pfl.model.problem import (
    ACYCLICITIES,
    AcyclicityName,
    Array,
    Mask,
    Order,
    PenaltyName,
    Term,
    acyclic_threshold,
)
from notears_pfl.model.solution import Certificate, History, Solution, Start


@dataclass(frozen=True)
class Stage:
    """One stage of the central path: weight c and domain s of h, and a cap on its rounds.

    The weight is in units of the noise variance, as is the loss.
    """

    c: float
    s: float
    rounds: int


def central_path(n_stages: int = 17, first_rounds: int = 40, rounds: int = 10) -> tuple[Stage, ...]:
    """Stages with c growing geometrically from 1 to 256 and s falling linearly from 1 to 0.8.

    Many small stages with one proximal step per round find better networks than few large
    ones with more steps, at the same cost.
    """
    c, s = np.geomspace(1, 256, n_stages).tolist(), np.linspace(1, 0.8, n_stages).tolist()
    caps = [first_rounds, *[rounds] * (n_stages - 1)]
    return tuple(map(Stage, c, s, caps))


@dataclass(frozen=True)
class Options:
    """Settings of a fit, except λ1, λ2 and κ, which may be chosen from the data.

    Parameters
    ----------
    penalty : {"edgewise", "chain"}
        How the penalty draws the sites' networks together.
    acyclicity : {"log-det", "trace-exponential"}
        Which h keeps cycles away.
    threshold : float
        An edge is kept if it more probably than not exists with an absolute weight above this.
    tol : float
        Relative primal and dual residual at which rounds stop.
    max_rounds : int
        Cap on the rounds of the refit.
    path_threshold, order_threshold : float
        Weakest weights that count for the order of the ROIs: at the end of the path, for the
        first refit, and after that refit, for the final one.
    path : tuple of Stage
        The central path.
    rho, rho_growth : float
        Penalty ρ of the first stage, and its factor from stage to stage.
    refit_rho : float
        Penalty ρ of the refit.
    relaxation : float
        Over-relaxation of the path's rounds, between 1 and 2.
    inner_steps : int
        Proximal steps of the coordinator in a round of the path.
    memory : int
        Rounds that the acceleration of the refit remembers.
    constraints : Constraints, optional
        What is known about edges; the path does not know it, everything after it does.
    """

    penalty: PenaltyName = "edgewise"
    acyclicity: AcyclicityName = "log-det"
    threshold: float = 0.3
    tol: float = 1e-3
    max_rounds: int = 300
    path_threshold: float = 0.05
    order_threshold: float = 0.3
    path: tuple[Stage, ...] = central_path()
    rho: float = 0.05
    rho_growth: float = 1.1
    refit_rho: float = 0.1
    relaxation: float = 1.5
    inner_steps: int = 1
    memory: int = 10
    constraints: Constraints | None = None


@dataclass
class Log:
    """Record of every round; ``tick`` advances a progress bar."""

    tick: Callable[[], None] = lambda: None
    objective: list[float] = field(default_factory=list)
    primal_residual: list[float] = field(default_factory=list)
    dual_residual: list[float] = field(default_factory=list)
    h: list[float] = field(default_factory=list)

    def add(self, objective: float, primal: float, dual: float, h: float) -> None:
        """Record one round."""
        self.objective.append(objective)
        self.primal_residual.append(primal)
        self.dual_residual.append(dual)
        self.h.append(h)
        self.tick()

    def take(self, other: "Log") -> None:
        """Record the rounds of another log, which have been counted already."""
        self.objective += other.objective
        self.primal_residual += other.primal_residual
        self.dual_residual += other.dual_residual
        self.h += other.h

    def history(self) -> History:
        """Return all rounds so far as arrays."""
        columns = (self.objective, self.primal_residual, self.dual_residual, self.h)
        return History(*map(np.array, columns))


@dataclass(frozen=True)
class RoundsResult:
    """Where rounds ended: blocks T and Z, (B, K, d, d), and whether they converged."""

    T: Array
    Z: Array
    converged: bool


@dataclass(frozen=True)
class ConsensusProblem:
    """The problem in the form that rounds solve: one block per term, which must agree with W.

    Parameters
    ----------
    sites : Sites
        The sites that answer.
    terms : list of Term
        The penalty.
    D : ndarray of shape (d,)
        Scale of the rows in the consensus penalty.
    noise : float
        Variance of the noise, the unit of the loss and so of the weight of h.
    gains : ndarray of shape (K,)
        Units of the sites' variances; D and the noise are in common units.
    """

    sites: Sites
    terms: list[Term]
    D: Array
    noise: float
    gains: Array

    def begin(self, orders: Sequence[Order | None], fold: int | None = None) -> None:
        """Have the sites prepare for steps, each in its own units."""
        self.sites.begin(self.gains[:, None] * self.D, orders, fold)

    def zeros(self) -> Array:
        """Blocks of zeros, (B, K, d, d)."""
        return np.zeros((len(self.terms), len(self.sites.numbers), len(self.D), len(self.D)))


def run_rounds(
    problem: ConsensusProblem,
    coordinator: Coordinator,
    T: Array,
    rho: float,
    max_rounds: int,
    tol: float,
    advance: Callable[[Array, Array], Array],
    log: Log,
) -> RoundsResult:
    """Run rounds until both relative residuals are below ``tol``.

    ``advance(T, W − Z)`` returns the next T.
    """
    scale = problem.D[:, None]
    Z = problem.zeros()
    for _ in range(max_rounds):
        Z_last, Z = Z, coordinator.update(T, rho, problem.D)
        V = (2 * Z - T).mean(axis=0)
        answers = problem.sites.step(V, len(T) * rho)
        W = stacked_weights(answers, problem.sites)
        loss = sum(loss / gain for (_, loss), gain in zip(answers, problem.gains, strict=True))

        primal = _norm(W - Z) / max(_norm(Z), _norm(W), 1e-12)
        dual = _norm(scale * (Z - Z_last)) / max(_norm(scale * (T - Z)), 1e-12)
        pairs = zip(problem.terms, Z, strict=True)
        penalty = sum(term.value(z, coordinator.allowed) for term, z in pairs)
        log.add(loss + penalty, primal, dual, coordinator.acyclicity())
        if max(primal, dual) <= tol:
            return RoundsResult(T, Z, converged=True)
        T = advance(T, W - Z)
    return RoundsResult(T, Z, converged=False)


@dataclass(frozen=True)
class PathState:
    """Between two stages of the path: the coordinator, blocks T and Z, (B, K, d, d), and ρ."""

    coordinator: PathCoordinator
    T: Array
    Z: Array
    rho: float


@dataclass(frozen=True)
class BegunPath:
    """A path after its first stage, and the record of that stage's rounds."""

    state: PathState
    log: Log


def begin_path(problem: ConsensusProblem, options: Options, tick: Callable[[], None]) -> BegunPath:
    """Run the first stage, which paths of the same problem with other stages have in common."""
    T = problem.zeros()
    coordinator = PathCoordinator(
        problem.terms, ACYCLICITIES[options.acyclicity], T.shape[1:], options.inner_steps
    )
    problem.begin([None] * T.shape[1])
    log = Log(tick)
    state = PathState(coordinator, T, T, options.rho)
    return BegunPath(_run_stage(problem, options, options.path[0], state, log), log)


def follow_path(problem: ConsensusProblem, options: Options, log: Log, begun: BegunPath) -> Array:
    """Nearly acyclic Z, (K, d, d): rounds on a central path, from a light to a heavy h.

    The sites must be prepared for steps without an order. ``begun`` is left as it is.
    """
    log.take(begun.log)
    state = begun.state
    for stage in options.path[1:]:
        state = _run_stage(problem, options, stage, state, log)
    return state.Z[0]


def _run_stage(
    problem: ConsensusProblem, options: Options, stage: Stage, state: PathState, log: Log
) -> PathState:
    coordinator = copy(state.coordinator)
    coordinator.enter_stage(stage.c * problem.noise, stage.s)
    ended = run_rounds(
        problem, coordinator, state.T, state.rho, stage.rounds, options.tol,
        lambda T, step: T + options.relaxation * step, log,
    )  # fmt: skip
    # A larger ρ with the same multipliers β = ρD (T − Z).
    T = ended.Z + (ended.T - ended.Z) / options.rho_growth
    return PathState(coordinator, T, ended.Z, state.rho * options.rho_growth)


def refit(
    problem: ConsensusProblem,
    orders: Sequence[Order],
    options: Options,
    log: Log,
    *,
    fold: int | None = None,
    start: Array | None = None,
) -> RoundsResult:
    """Solve the convex problem restricted to edges that respect the sites' orders.

    Parameters
    ----------
    fold : int, optional
        Leave this fold's samples out, at every site.
    start : ndarray of shape (B, K, d, d), optional
        Blocks T to start from.
    """
    problem.begin(orders, fold)
    allowed = respecting(orders)
    if options.constraints is not None:
        allowed &= options.constraints.allowed
    coordinator = RefitCoordinator(problem.terms, allowed)
    T = problem.zeros() if start is None else start
    anderson = Anderson(options.memory)
    return run_rounds(
        problem, coordinator, T, options.refit_rho, options.max_rounds, options.tol,
        anderson.next, log,
    )  # fmt: skip


def _norm(X: Array) -> float:
    return float(np.sqrt(np.vdot(X, X)))


# Residual at which refits end that only provide a start for the search.
START_TOL = 5e-3
STARTS: tuple[Start, ...] = ("path", "consensus", "own")


@dataclass(frozen=True)
class SearchedOrders:
    """What the search over orders ended with.

    Parameters
    ----------
    found : Directed
        End of the search that was kept.
    start : {"path", "consensus", "own"}
        Name of its start.
    T : ndarray of shape (B, K, d, d)
        Blocks to refit from.
    ties : ndarray of shape (K,)
        What ties are worth to every site, per sample.
    untied : ndarray of bool, shape (K,)
        Which sites keep an order of their own.
    """

    found: Directed
    start: Start
    T: Array
    ties: Array
    untied: Mask


def _search_orders(
    problem: ConsensusProblem, variances: Array, U: Array, n: Array, Z: Array, known: Constraints,
    options: Options, log: Log,
) -> SearchedOrders:  # fmt: skip
    """Search on over orders from the path's end Z, from the consensus and from the sites' own."""
    orders = site_orders(Z, variances, options.path_threshold)
    # Refits that only provide starts need not be exact.
    loose = replace(options, tol=max(options.tol, START_TOL))
    first = refit(problem, orders, loose, log)
    # Weak edges got their place in the order from an unfinished path: now only clear ones count.
    orders = [known.order(o) for o in site_orders(first.Z[0], variances, options.order_threshold)]
    clear = refit(problem, orders, loose, log, start=first.T)
    starts, objectives = [(orders, clear)], [log.objective[-1]]
    agreed = [known.order(consensus_order(U))] * len(U)
    own = [known.order(consensus_order(u[None])) for u in U]
    for other in (agreed, own) if len(U) > 1 else (agreed,):
        starts.append((other, refit(problem, other, loose, log)))
        objectives.append(log.objective[-1])
    allowed, required = known.at_sites(len(U))
    is_poor = poor(objectives)
    ends = [
        direct(
            U, n, start, np.abs(ended.Z[0]) > options.threshold, options.threshold,
            allowed, required, 0 if hopeless else SEARCH_ROUNDS,
        )
        for (start, ended), hopeless in zip(starts, is_poor, strict=True)
    ]  # fmt: skip
    chosen, ties = choose(U, n, ends, is_poor)
    found, untied = untie(U, n, ends, chosen, ties, options.threshold, allowed, required)
    return SearchedOrders(found, STARTS[chosen], starts[chosen][1].T, ties, untied)


def solve(
    problem: ConsensusProblem,
    described: Sequence[Description],
    U: Array,
    options: Options,
    tick: Callable[[], None] = lambda: None,
    begun: BegunPath | None = None,
) -> Solution:
    """Follow the path, search on over orders, decide on the edges, and refit in their orders.

    ``begun`` is the first stage of this problem's path where it has been run already.
    """
    variances = np.array([site.variances for site in described])
    n = effective_samples(described)
    log = Log(tick)
    if begun is None:
        begun = begin_path(problem, options, tick)
    else:
        problem.begin([None] * len(U))
    Z = follow_path(problem, options, log, begun)
    path_residual, h = log.primal_residual[-1], log.h[-1]
    known = options.constraints or free_constraints(U.shape[-1])
    searched = _search_orders(problem, variances, U, n, Z, known, options, log)
    found = searched.found
    final = refit(problem, found.orders, options, log, start=searched.T)
    allowed, required = known.at_sites(len(U))
    possible, edges, Z_end = (
        respecting(found.orders) & allowed,
        found.evidence.adjacency,
        final.Z[0],
    )
    evidence = decide_from(U, n, possible, edges, Z_end, options.threshold, required)
    found = replace(found, evidence=evidence, against=reversal_odds(U, n, evidence))
    weights, standard_errors = refit_weights(U, n, found.evidence)
    return Solution(
        weights=weights,
        standard_errors=standard_errors,
        adjacency=found.evidence.adjacency,
        probability=found.evidence.probability,
        direction_support=found.support,
        ties=searched.ties,
        untied=searched.untied,
        noise=found.evidence.noise,
        penalised=final.Z[0],
        orders=found.orders,
        converged=final.converged,
        history=log.history(),
        certificate=Certificate(
            objective=log.objective[-1],
            primal_residual=log.primal_residual[-1],
            dual_residual=log.dual_residual[-1],
            path_residual=path_residual,
            h=h,
            acyclic_threshold=max(acyclic_threshold(z) for z in Z),
            start=searched.start,
        ),
    )
