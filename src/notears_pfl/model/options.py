"""Settings of a fit, in one frozen place."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

PenaltyName = Literal["chain", "edgewise"]
Auto = Literal["auto"]
AcyclicityName = Literal["log-det", "trace-exponential"]


@dataclass(frozen=True)
class Parameters:
    """Values of the penalty's parameters."""

    lambda1: float
    lambda2: float
    kappa: float


def mean_parameters(sites: Sequence[Parameters]) -> Parameters:
    """Parameters that sites share; λ1, which sites without ties choose themselves, as a mean."""
    if len(set(sites)) == 1:
        return sites[0]
    return replace(sites[0], lambda1=float(np.mean([site.lambda1 for site in sites])))


@dataclass(frozen=True)
class Stage:
    """One stage of the central path: weight c and domain s of h, and a cap on its rounds.

    The weight is in units of the noise's variance, as the loss is.
    """

    c: float
    s: float
    rounds: int


def central_path(n_stages: int = 17, first_rounds: int = 80, rounds: int = 20) -> tuple[Stage, ...]:
    """Stages with c growing from 1 to 256 by factors and s falling from 1 to 0.8 by steps.

    Many small stages with one proximal step per round find better networks than few large
    ones with more steps, at the same cost.
    """
    c, s = np.geomspace(1, 256, n_stages).tolist(), np.linspace(1, 0.8, n_stages).tolist()
    caps = [first_rounds, *[rounds] * (n_stages - 1)]
    return tuple(map(Stage, c, s, caps))


@dataclass(frozen=True)
class Options:
    """Settings of a fit; the values of λ1, λ2 and κ travel apart, since they may be chosen.

    Parameters
    ----------
    penalty : {"edgewise", "chain"}
        How the sites' networks are drawn together.
    acyclicity : {"log-det", "trace-exponential"}
        Which h keeps cycles away.
    threshold : float
        An edge exists where its weight exceeds this; a little more is asked of small samples.
    tol : float
        Relative primal and dual residual at which rounds stop.
    max_rounds : int
        Cap on the rounds of the refit.
    path_threshold, order_threshold : float
        Weights below these do not decide on the order of the ROIs: at the end of the path,
        whose order the first refit follows, and after that refit, for the final one.
    path : tuple of Stage
        The central path.
    rho, rho_growth : float
        Penalty ρ of the first stage, and its factor from stage to stage.
    refit_rho : float
        Penalty ρ of the refit.
    relaxation : float
        Over-relaxation of the path's rounds, between 1 and 2.
    inner_steps : int
        Proximal steps of the centre in a round of the path.
    memory : int
        Rounds that the acceleration of the refit looks back on.
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
