"""NOTEARS: min_W ½ tr((I − W)ᵀU(I − W)) + λ1‖W‖₁  s.t.  h(W) = 0 (Zheng et al. 2018).

The augmented Lagrangian adds α h + ½ρ h². The ℓ1 norm is smooth on the split variables
W = W⁺ − W⁻ with W⁺, W⁻ >= 0, which L-BFGS-B minimises; the diagonal is held at zero.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
from scipy.optimize import Bounds, minimize

from notears_pfl.errors import InputError, NotConvergedWarning
from notears_pfl.model.checks import checked_moments, checked_samples
from notears_pfl.model.problem import (
    Array,
    Moments,
    TraceExponential,
    acyclic_threshold,
    second_moments,
)

# A site's samples of shape (n, d), or its moments (U, n).
SiteInput: TypeAlias = Array | tuple[Array, int]

H_TOLERANCE = 1e-8
RHO_MAX = 1e16
MAX_ROUNDS = 100
# L-BFGS-B's own default, which the authors use.
TOLERANCE = 1e7 * np.finfo(float).eps


@dataclass(frozen=True)
class BaselineFit:
    """One directed acyclic network.

    Attributes
    ----------
    weights : ndarray of shape (d, d)
        Thresholded weights of a DAG; entry (i, j) is the edge i → j.
    relaxed : ndarray of shape (d, d)
        The optimiser's weights before the threshold.
    h : float
        h of ``relaxed``; 0 if it is acyclic.
    n_rounds : int
        Number of multiplier updates.
    converged : bool
        Whether the method's own stopping rule was met.
    """

    weights: Array
    relaxed: Array
    h: float
    n_rounds: int
    converged: bool


def notears(
    x: SiteInput, *, lambda1: float = 0.1, threshold: float = 0.3, center: bool = True,
    tolerance: float = TOLERANCE,
) -> BaselineFit:  # fmt: skip
    """Learn one network from one site.

    Parameters
    ----------
    x : ndarray of shape (n, d), or tuple (U, n)
        Samples, or their second moment of shape (d, d) and number.
    lambda1 : float
        Weight of the ℓ1 norm.
    threshold : float
        Edges with ``abs(weight) <= threshold`` are dropped, then the weakest until no cycle is
        left.
    center : bool
        Subtract the mean of each column of the samples.
    tolerance : float
        Relative decrease of the objective below which L-BFGS-B ends a subproblem.
    """
    refuse_negative(lambda1=lambda1, threshold=threshold, tolerance=tolerance)
    U = sites_moments([x], demean=center)[0].U
    W, h, alpha, rho = np.zeros_like(U), np.inf, 0.0, 1.0
    n_rounds = 0
    while h > H_TOLERANCE and rho < RHO_MAX and n_rounds < MAX_ROUNDS:
        W, h, rho = _raise_rho_until_h_falls(U, lambda1, W, h, alpha, rho, tolerance)
        alpha += rho * h
        n_rounds += 1
    converged = h <= H_TOLERANCE
    if not converged:
        warn_not_converged("NOTEARS", h, n_rounds)
    return BaselineFit(threshold_to_dag(W, threshold), W, h, n_rounds, converged)


def notears_average(
    sites: Sequence[SiteInput], *, lambda1: float = 0.1, threshold: float = 0.3,
    center: bool = True, tolerance: float = TOLERANCE,
) -> BaselineFit:  # fmt: skip
    """Learn one network for all sites from their pooled samples.

    Parameters are those of :func:`notears`; ``sites`` has one entry per site, and ``center``
    subtracts each site's own mean.
    """
    pool = pooled(sites_moments(sites, demean=center))
    return notears((pool.U, pool.n), lambda1=lambda1, threshold=threshold, tolerance=tolerance)


def minimise_with_l1(
    smooth: Callable[[Array], tuple[float, Array]],
    W: Array,
    lambda1: float,
    tolerance: float,
    *,
    diagonal: bool,
) -> Array:
    """Minimise smooth(W) + λ1‖W‖₁ from ``W`` by L-BFGS-B on W⁺ and W⁻.

    ``smooth`` returns value and gradient; ``diagonal`` says whether the diagonal is free.
    """
    shape = W.shape

    def split_objective(split: Array) -> tuple[float, Array]:
        positive, negative = split.reshape(2, *shape)
        value, gradient = smooth(positive - negative)
        split_gradient = np.concatenate([gradient.ravel() + lambda1, lambda1 - gradient.ravel()])
        return value + lambda1 * split.sum(), split_gradient

    upper = np.full(shape, np.inf)
    if not diagonal:
        np.fill_diagonal(upper, 0.0)
    start = np.stack([np.maximum(W, 0), np.maximum(-W, 0)]).ravel()
    bounds = Bounds(np.zeros(start.size), np.tile(upper.ravel(), 2))
    solution = minimize(
        split_objective,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"ftol": tolerance},
    )
    positive, negative = solution.x.reshape(2, *shape)
    return np.asarray(positive - negative)


def augmented_loss(W: Array, *, U: Array, alpha: float, rho: float) -> tuple[float, Array]:
    """Value and gradient of ½ tr((I − W)ᵀU(I − W)) + α h(W) + ½ρ h(W)²."""
    residual = np.eye(len(U)) - W
    U_residual = U @ residual
    h, h_gradient = trace_exponential(W)
    # As in trace_exponential, a trial step of the line search may overflow.
    with np.errstate(over="ignore", invalid="ignore"):
        value = 0.5 * np.vdot(residual, U_residual) + alpha * h + 0.5 * rho * h * h
        gradient = (alpha + rho * h) * h_gradient - U_residual
    return float(value), gradient


def trace_exponential(W: Array) -> tuple[float, Array]:
    """Value and gradient of h(W) = tr(exp(W ∘ W)) − d; zero if and only if ``W`` is acyclic."""
    # A trial step of the line search may overflow; L-BFGS-B then shortens it.
    with np.errstate(over="ignore", invalid="ignore"):
        found = TraceExponential().evaluate(W[None], s=1.0)
        assert found is not None
        (h,), (G,) = found
        return float(h), 2 * W * G


def threshold_to_dag(W: Array, threshold: float) -> Array:
    """Drop edges with ``abs(weight) <= threshold``, then the weakest until no cycle is left."""
    hollow = np.where(np.eye(len(W), dtype=bool), 0.0, W)
    dag = np.where(np.abs(hollow) > threshold, hollow, 0.0)
    return np.where(np.abs(dag) > acyclic_threshold(dag), dag, 0.0)


def sites_moments(sites: Sequence[SiteInput], *, demean: bool) -> list[Moments]:
    """Moments of every site, given as ``(U, n)`` or computed from samples."""
    given = [site for site in sites if isinstance(site, tuple)]
    samples = [site for site in sites if not isinstance(site, tuple)]
    if given and samples:
        msg = (
            f"sites must all be samples or all be moments (U, n); found {len(samples)} with "
            f"samples and {len(given)} with moments. Compute U = x.T @ x / n from the samples."
        )
        raise InputError(msg)
    if given:
        return checked_moments(given)
    return [second_moments(x, demean=demean) for x in checked_samples(samples, demean=demean)]


def pooled(moments: Sequence[Moments]) -> Moments:
    """Moments of the pooled samples: U = Σ n_k U^k / Σ n_k."""
    n = sum(m.n for m in moments)
    return Moments(np.sum([m.n / n * m.U for m in moments], axis=0), n)


def warn_not_converged(method: str, h: float, n_rounds: int) -> None:
    """Warn that ``method`` stopped before it converged."""
    warnings.warn(
        f"{method} did not converge: h = {h:.1e} after {n_rounds} rounds (needed "
        f"{H_TOLERANCE:.0e}). A larger lambda1 or more samples make the problem easier.",
        NotConvergedWarning,
        stacklevel=3,
    )


def refuse_negative(**settings: float) -> None:
    """Reject a setting that is negative or not a number."""
    for name, value in settings.items():
        if not value >= 0:
            msg = f"{name}: needed a number >= 0, found {value}. Pass a non-negative {name}."
            raise InputError(msg)


def _raise_rho_until_h_falls(
    U: Array, lambda1: float, W: Array, h: float, alpha: float, rho: float, tolerance: float
) -> tuple[Array, float, float]:
    """Minimise the augmented Lagrangian, raising ρ tenfold until h falls to a quarter."""
    while True:
        smooth = partial(augmented_loss, U=U, alpha=alpha, rho=rho)
        W_new = minimise_with_l1(smooth, W, lambda1, tolerance, diagonal=False)
        h_new, _ = trace_exponential(W_new)
        if h_new <= 0.25 * h or rho >= RHO_MAX:
            return W_new, h_new, rho
        rho *= 10
