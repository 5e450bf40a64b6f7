"""Learn the sites' networks over a transport: choose, follow the path, refit, threshold."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from notears_pfl.model.admm import History, Joint, Log, follow_path, refit
from notears_pfl.model.federation import Federation, Transport
from notears_pfl.model.local import Description
from notears_pfl.model.options import Auto, Options, Parameters
from notears_pfl.model.order import acyclic_threshold, respecting, site_orders
from notears_pfl.model.penalties import penalty_terms, row_scale
from notears_pfl.model.selection import (
    Candidate,
    candidates,
    cross_validate,
    n_folds,
    noise_variance,
)
from notears_pfl.model.types import Array, Mask, Order

# The pilot only gives orders to cross-validate in: it skips stages of the path.
PILOT_STRIDE = 4


@dataclass(frozen=True)
class Certificate:
    """How far a fit can be trusted to solve its problem.

    Parameters
    ----------
    primal_residual, dual_residual : float
        Relative residuals of the refit: of the weights that are returned.
    path_residual : float
        Relative primal residual at the end of the path, which decided on the orders.
    h : float
        Largest acyclicity at the end of the path; the weights themselves have none.
    acyclic_threshold : float
        Smallest threshold at which the end of the path is acyclic at every site.
    """

    primal_residual: float
    dual_residual: float
    path_residual: float
    h: float
    acyclic_threshold: float


@dataclass(frozen=True)
class Fit:
    """Networks of K sites and how they were found; ``parameters`` has one entry per site."""

    weights: Array
    adjacency: Mask
    orders: list[Order]
    parameters: list[Parameters]
    candidates: list[Candidate]
    converged: bool
    history: History
    certificate: Certificate


def fit_sites(
    transport: Transport,
    n_sites: int,
    lambda1: float | Auto,
    lambda2: float | Auto,
    kappa: float | Auto,
    options: Options,
    tick: Callable[[], None] = lambda: None,
) -> Fit:
    """Learn one network per site from what the sites answer.

    Parameters
    ----------
    transport : Transport
        Carries requests to the sites, which are numbered from 0.
    n_sites : int
        Number of sites, K.
    lambda1, lambda2, kappa : float or "auto"
        Parameters of the penalty.
    options : Options
        All other settings.
    tick : callable
        Called after every round.
    """
    sites = Federation(transport, tuple(range(n_sites)))
    described: list[Description] = sites.ask("describe", [()] * n_sites)

    def fit(members: Federation, theirs: Sequence[Description]) -> Fit:
        settings, pilot = candidates(options.penalty, lambda1, lambda2, kappa, theirs)
        return _fit(members, settings, pilot, theirs, options, tick)

    if lambda2 == 0:
        pairs = zip(sites.alone(), described, strict=True)
        return merge([fit(alone, [one]) for alone, one in pairs])
    return fit(sites, described)


def _fit(
    sites: Federation,
    settings: Sequence[Parameters],
    pilot: int,
    described: Sequence[Description],
    options: Options,
    tick: Callable[[], None],
) -> Fit:
    """Choose among the settings, then fit the chosen one."""
    variances = np.array([site.variances for site in described])
    noise = noise_variance(described)
    joints = []
    for setting in settings:
        terms = penalty_terms(options.penalty, setting)
        joints.append(Joint(sites, terms, row_scale(terms, variances), noise))

    scores: Sequence[float | None] = [None] * len(settings)
    chosen = pilot
    if len(settings) > 1 and (folds := n_folds(described)):
        shorter = replace(options, path=options.path[::PILOT_STRIDE])
        Z = follow_path(joints[pilot], shorter, Log(tick))
        orders = site_orders(Z, variances, options.path_threshold)
        scores = cross_validate(joints, settings, orders, folds, options, Log(tick))
        chosen = int(np.argmin([np.inf if score is None else score for score in scores]))

    log = Log(tick)
    Z = follow_path(joints[chosen], options, log)
    path_residual, h = log.primal_residual[-1], log.h[-1]
    orders = site_orders(Z, variances, options.path_threshold)
    first = refit(joints[chosen], orders, options, log)
    # Only clear edges keep their say in the order; weak ones had it from an unfinished path.
    orders = site_orders(first.Z[0], variances, options.order_threshold)
    rest = refit(joints[chosen], orders, options, log, start=first.T)
    n_samples = np.array([site.n for site in described])
    adjacency = respecting(orders) & strong_edges(rest.Z[0], n_samples, options.threshold)
    return Fit(
        weights=np.where(adjacency, rest.Z[0], 0.0),
        adjacency=adjacency,
        orders=orders,
        parameters=[settings[chosen]] * len(sites),
        candidates=[Candidate(*pair) for pair in zip(settings, scores, strict=True)],
        converged=rest.converged,
        history=log.history(),
        certificate=Certificate(
            primal_residual=log.primal_residual[-1],
            dual_residual=log.dual_residual[-1],
            path_residual=path_residual,
            h=h,
            acyclic_threshold=max(acyclic_threshold(z) for z in Z),
        ),
    )


def strong_edges(Z: Array, n: npt.NDArray[np.int_], threshold: float) -> Mask:
    """Edges whose weight is strong, given what n samples per site can tell.

    A weight is judged by √((1 − a) z² + a mean_k z²) with a = 1/(1 + n/20): at 20 samples the
    sites' mean square counts as much as the site's own weight. The threshold is that of large
    samples, and higher by √(1 + 14/(n + 6)) for few. A weight of zero is no edge in any case.
    """
    n = n[:, None, None]
    a = 1 / (1 + n / 20)
    strength = np.sqrt((1 - a) * Z**2 + a * (Z**2).mean(axis=0))
    return (strength > threshold * np.sqrt(1 + 14 / (n + 6))) & (Z != 0)


def merge(fits: Sequence[Fit]) -> Fit:
    """Fits of separate sites as one: objectives add up, and the worst residual counts."""
    n_rounds = max(len(fit.history.h) for fit in fits)

    def padded(name: str) -> Array:
        columns = [getattr(fit.history, name) for fit in fits]
        return np.array([np.pad(c, (0, n_rounds - len(c)), mode="edge") for c in columns])

    def worst(name: str) -> float:
        return float(max(getattr(fit.certificate, name) for fit in fits))

    return Fit(
        weights=np.concatenate([fit.weights for fit in fits]),
        adjacency=np.concatenate([fit.adjacency for fit in fits]),
        orders=[order for fit in fits for order in fit.orders],
        parameters=[setting for fit in fits for setting in fit.parameters],
        candidates=list(dict.fromkeys(one for fit in fits for one in fit.candidates)),
        converged=all(fit.converged for fit in fits),
        history=History(
            padded("objective").sum(axis=0),
            *(padded(name).max(axis=0) for name in ("primal_residual", "dual_residual", "h")),
        ),
        certificate=Certificate(*(worst(f.name) for f in fields(Certificate))),
    )
