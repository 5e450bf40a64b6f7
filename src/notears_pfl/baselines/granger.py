"""Granger causality: tests whether the past of i helps to predict j (Granger 1969).

    x_t = Σ_l A_l x_{t−l} + e_t,   F_ij = b' (M_ii)⁻¹ b / (L s_j²)

with b the L coefficients of i in the equation of j, M_ii their block of the inverse of the
regressors' moments, s_j² the residual variance. ``conditional`` regresses on the past of all
variables, ``pairwise`` on that of i and j only. Past values always come from the same subject.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import fdtrc

from notears_pfl.errors import InputError
from notears_pfl.model.problem import Array, Mask

Kind = Literal["conditional", "pairwise"]


@dataclass(frozen=True)
class GrangerFit:
    """Tests of all ordered pairs.

    Attributes
    ----------
    statistic : ndarray of shape (d, d)
        F of i → j; 0 on the diagonal. All pairs have the same degrees of freedom, so F and p rank
        pairs alike, but F does so even if p underflows.
    p : ndarray of shape (d, d)
        Upper tail of F; 1 on the diagonal.
    sound : bool
        Whether the regressors are linearly independent (for "pairwise", those of every pair).
        In short filtered series they are dependent, and F and p are meaningless.
    """

    statistic: Array
    p: Array
    sound: bool


def granger(subjects: Sequence[Array], *, lag: int = 1, kind: Kind = "conditional") -> GrangerFit:
    """Test all ordered pairs at one site.

    Parameters
    ----------
    subjects : sequence of ndarray of shape (n_volumes, d)
        Series of each subject; every subject has its own intercept.
    lag : int
        Number of past values, L.
    kind : {"conditional", "pairwise"}
        Whether the past of all other variables is in the regression.
    """
    if lag < 1 or kind not in ("conditional", "pairwise"):
        msg = (
            f'lag must be 1 or more, kind "conditional" or "pairwise"; found {lag} and {kind!r}. '
            "Correct the argument."
        )
        raise InputError(msg)
    series = [np.asarray(x, dtype=float) for x in subjects]
    d = series[0].shape[1]
    present, past = _present_and_past(series, lag)
    n_regressors = d * lag if kind == "conditional" else 2 * lag
    freedom = len(present) - len(series) - n_regressors
    if freedom < 1:
        msg = (
            f"{kind} regression on {n_regressors} past values needs more than "
            f"{n_regressors + len(series)} volumes after the first {lag} of each subject; found "
            f"{len(present)}. Lower the lag, or use kind pairwise."
        )
        raise InputError(msg)
    test = _conditional if kind == "conditional" else _pairwise
    statistic, sound = test(present, past, freedom)
    np.fill_diagonal(statistic, 0.0)
    return GrangerFit(statistic, fdtrc(lag, freedom, np.maximum(statistic, 0.0)), sound)


def _present_and_past(series: Sequence[Array], lag: int) -> tuple[Array, Array]:
    """Present values (n, d) and past values (n, d, L), centred within each subject."""
    present, past = [], []
    for x in series:
        before = np.stack([x[lag - back : len(x) - back] for back in range(1, lag + 1)], axis=-1)
        present.append(x[lag:] - x[lag:].mean(axis=0))
        past.append(before - before.mean(axis=0))
    return np.concatenate(present), np.concatenate(past)


def _conditional(present: Array, past: Array, freedom: int) -> tuple[Array, bool]:
    """F of all pairs, and whether the past values are linearly independent."""
    n, d, lag = past.shape
    regressors = past.reshape(n, d * lag)
    coefficients = np.linalg.lstsq(regressors, present, rcond=None)[0]
    residual = ((present - regressors @ coefficients) ** 2).sum(axis=0) / freedom
    moments = regressors.T @ regressors
    M = np.linalg.pinv(moments, hermitian=True).reshape(d, lag, d, lag)
    b = coefficients.reshape(d, lag, d)
    own = np.linalg.inv(np.einsum("ilim->ilm", M))
    statistic = np.einsum("ilj,ilm,imj->ij", b, own, b) / (lag * residual)
    return statistic, bool(np.linalg.matrix_rank(moments, hermitian=True) == d * lag)


def _pairwise(present: Array, past: Array, freedom: int) -> tuple[Array, bool]:
    """F of all pairs, from moments only, and whether each pair's past values are independent.

    F is 0 for pairs whose past values are linearly dependent.
    """
    n, d, lag = past.shape
    flat = past.reshape(n, d * lag)
    P = (flat.T @ flat).reshape(d, lag, d, lag)
    Q = (flat.T @ present).reshape(d, lag, d)
    total = (present**2).sum(axis=0)
    statistic, independent = np.zeros((d, d)), _independent_pairs(P)
    for j in range(d):
        others = np.flatnonzero(independent[:, j])
        if not len(others):
            continue
        own, own_target = P[j, :, j], Q[j, :, j]
        restricted = total[j] - own_target @ np.linalg.solve(own, own_target)
        # Contribution of the past of i beyond that of j: project the past of j out of both.
        map_j = np.linalg.solve(own, P[j][:, others].reshape(lag, -1)).reshape(lag, -1, lag)
        cross = P[j][:, others]
        blocks = P[others, :, others] - np.einsum("kil,kim->ilm", cross, map_j)
        target = Q[others, :, j] - np.einsum("kil,k->il", map_j, own_target)
        gain = np.einsum("il,il->i", target, np.linalg.solve(blocks, target[..., None])[..., 0])
        statistic[others, j] = (gain / lag) / ((restricted - gain) / freedom)
    return statistic, bool((independent | np.eye(d, dtype=bool)).all())


def _independent_pairs(P: Array) -> Mask:
    """Pairs of variables whose past values, with moments P (d, L, d, L), have full rank."""
    d, lag = P.shape[:2]
    i, j = np.triu_indices(d, k=1)
    moments = np.block([[P[i, :, i], P[i, :, j]], [P[j, :, i], P[j, :, j]]])
    independent = np.zeros((d, d), dtype=bool)
    independent[i, j] = np.linalg.matrix_rank(moments, hermitian=True) == 2 * lag
    return independent | independent.T
