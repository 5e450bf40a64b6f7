"""NOTEARS-ADMM: one consensus DAG Z for all sites (Ng & Zhang 2022).

    min_{W^k, Z}  Σ_k (n_k/n) ½ tr((I − W^k)ᵀU^k(I − W^k)) + λ1‖Z‖₁
    s.t.          h(Z) = 0,  W^k = Z.

Each round: every site solves a ridge regression in closed form, the coordinator minimises an
ℓ1-penalised augmented Lagrangian in Z, then multipliers α, β^k and penalties ρ1, ρ2 are updated.
"""

from collections.abc import Sequence

import numpy as np

from notears_pfl.baselines.notears import (
    H_TOLERANCE,
    TOLERANCE,
    BaselineFit,
    SiteInput,
    minimise_with_l1,
    pooled,
    refuse_negative,
    sites_moments,
    threshold_to_dag,
    trace_exponential,
    warn_not_converged,
)
from notears_pfl.model.problem import Array

# Start and growth of the penalties, as in the authors' experiments.
RHO_START = 1e-3
RHO1_GROWTH = 1.75
RHO2_GROWTH = 1.25
RHO_MAX = 1e16
MAX_ROUNDS = 200
# Mean squared distance between the sites' weights and the consensus.
CONSENSUS_TOLERANCE = 1e-8


def notears_admm(
    sites: Sequence[SiteInput], *, lambda1: float = 0.01, threshold: float = 0.3,
    center: bool = True, tolerance: float = TOLERANCE,
) -> BaselineFit:  # fmt: skip
    """Learn one consensus network for all sites, which exchange only weights.

    Parameters are those of :func:`~notears_pfl.baselines.notears_average`; ``tolerance`` is that
    of the coordinator's minimisation in every round.
    """
    refuse_negative(lambda1=lambda1, threshold=threshold, tolerance=tolerance)
    moments = sites_moments(sites, demean=center)
    n = pooled(moments).n
    U = np.stack([m.n / n * m.U for m in moments])
    Z, beta = np.zeros(U.shape[1:]), np.zeros(U.shape)
    alpha, rho1, rho2 = 0.0, RHO_START, RHO_START
    n_rounds, converged, h = 0, False, np.inf
    while not converged and n_rounds < MAX_ROUNDS:
        W = local_weights(U, Z, beta, rho2)
        Z = consensus_weights(W, Z, beta, alpha, rho1, rho2, lambda1, tolerance)
        h, _ = trace_exponential(Z)
        alpha += rho1 * h
        beta = beta + rho2 * (W - Z)
        rho1, rho2 = min(rho1 * RHO1_GROWTH, RHO_MAX), min(rho2 * RHO2_GROWTH, RHO_MAX)
        n_rounds += 1
        distance = float(np.mean(np.sum((W - Z) ** 2, axis=(1, 2))))
        converged = h <= H_TOLERANCE and distance <= CONSENSUS_TOLERANCE
    if not converged:
        warn_not_converged("NOTEARS-ADMM", h, n_rounds)
    return BaselineFit(threshold_to_dag(Z, threshold), Z, h, n_rounds, converged)


def local_weights(U: Array, Z: Array, beta: Array, rho2: float) -> Array:
    """Solve (U^k + ρ2 I) W^k = U^k + ρ2 Z − β^k at every site."""
    return np.linalg.solve(U + rho2 * np.eye(len(Z)), U + rho2 * Z - beta).astype(float)


def consensus_weights(
    W: Array,
    Z: Array,
    beta: Array,
    alpha: float,
    rho1: float,
    rho2: float,
    lambda1: float,
    tolerance: float,
) -> Array:
    """Minimise λ1‖Z‖₁ + α h(Z) + ½ρ1 h(Z)² + Σ_k ⟨β^k, W^k − Z⟩ + ½ρ2‖W^k − Z‖² from ``Z``.

    The sum over sites is ½Kρ2‖Z − mean_k(W^k + β^k/ρ2)‖² and a constant, so the cost of a
    step does not depend on K.
    """
    target, curvature = np.mean(W + beta / rho2, axis=0), len(W) * rho2

    def smooth(V: Array) -> tuple[float, Array]:
        h, h_gradient = trace_exponential(V)
        deviation = V - target
        distance = 0.5 * curvature * np.vdot(deviation, deviation)
        # As in trace_exponential, a trial step of the line search may overflow.
        with np.errstate(over="ignore", invalid="ignore"):
            value = alpha * h + 0.5 * rho1 * h * h + distance
            gradient = (alpha + rho1 * h) * h_gradient + curvature * deviation
        return float(value), gradient

    return minimise_with_l1(smooth, Z, lambda1, tolerance, diagonal=True)
