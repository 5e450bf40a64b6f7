"""What a fit found: networks of all sites, and how well the rounds solved the problem."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal

import numpy as np

from notears_pfl.model.problem import Array, Mask, Order

Start = Literal["path", "consensus", "own", "several"]


@dataclass(frozen=True)
class History:
    """One entry per round, first of the path, then of the refits."""

    objective: Array
    primal_residual: Array
    dual_residual: Array
    h: Array


@dataclass(frozen=True)
class Certificate:
    """How well a fit solves its problem.

    Parameters
    ----------
    objective : float
        Value of the objective at the penalised weights, in the orders of the result.
    primal_residual, dual_residual : float
        Relative residuals of the refit that gave these weights.
    path_residual : float
        Relative primal residual at the end of the path.
    h : float
        Largest h at the end of the path; that of the returned weights is zero.
    acyclic_threshold : float
        Smallest threshold at which the end of the path is acyclic at every site.
    start : {"path", "consensus", "own", "several"}
        From where the search found the orders: the end of the path, the consensus order, or orders
        of the sites' own; several, where sites were fitted separately and differ.
    """

    objective: float
    primal_residual: float
    dual_residual: float
    path_residual: float
    h: float
    acyclic_threshold: float
    start: Start


@dataclass(frozen=True)
class Solution:
    """Networks of K sites and how the rounds found them."""

    weights: Array
    standard_errors: Array
    adjacency: Mask
    probability: Array
    direction_support: Array
    ties: Array
    untied: Mask
    noise: Array
    penalised: Array
    orders: list[Order]
    converged: bool
    history: History
    certificate: Certificate


def merge(solutions: Sequence[Solution]) -> Solution:
    """Solutions of separate sites as one: objectives add up, and the worst residual counts."""
    n_rounds = max(len(one.history.h) for one in solutions)

    def padded(name: str) -> Array:
        columns = [getattr(one.history, name) for one in solutions]
        return np.array([np.pad(c, (0, n_rounds - len(c)), mode="edge") for c in columns])

    certificates = [one.certificate for one in solutions]
    starts = {one.start for one in certificates}
    worst = {
        f.name: float(max(getattr(one, f.name) for one in certificates))
        for f in fields(Certificate)
        if f.name not in ("objective", "start")
    }
    names = "weights standard_errors adjacency probability direction_support ties untied noise"
    arrays = {
        name: np.concatenate([getattr(one, name) for one in solutions])
        for name in (*names.split(), "penalised")
    }
    return Solution(
        **arrays,
        orders=[order for one in solutions for order in one.orders],
        converged=all(one.converged for one in solutions),
        history=History(
            padded("objective").sum(axis=0),
            *(padded(name).max(axis=0) for name in ("primal_residual", "dual_residual", "h")),
        ),
        certificate=Certificate(
            objective=sum(one.objective for one in certificates),
            start=starts.pop() if len(starts) == 1 else "several",
            **worst,
        ),
    )
