"""Difference of a connection's weight between patients and controls, over all sites.

Both groups are regressed on the same parents, those of the pooled fit, which does not know labels:

    w = U_SS⁻¹ U_Sj,   δ_k = w_k(patients) − w_k(controls)
    T = mean_k δ_k / √max(var_k δ_k, mean_k e_k²)

with parents S of ROI j, K sites, and e_k the standard error of δ_k. Where the sites differ more
than chance explains, their own spread counts: a difference must be shared by them to stand out.
T needs no search for edges and costs a few milliseconds, so that thousands of labellings are
affordable and p-values are fine enough for a false discovery rate. Weights of a regression do not
depend on the number of subjects, so that T uses all of them.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from notears_pfl.evidence.moments import Array, Mask

Indices = npt.NDArray[np.intp]


def connections_to_compare(adjacency: Mask) -> Mask:
    """Choose the connections to test, (d, d), from networks of K sites, (K, d, d).

    All that any site has, each in one direction: the one that more sites have.
    """
    n_sites = adjacency.sum(axis=0)
    first = np.triu(np.ones(n_sites.shape, dtype=bool))
    return (n_sites > n_sites.T) | ((n_sites == n_sites.T) & (n_sites > 0) & first)


def weights_given(U: Array, parents: Mask) -> tuple[Array, Array]:
    """Weights of regressions on given parents, and their variances for a single sample.

    Parameters
    ----------
    U : ndarray of shape (..., d, d)
        Second moments.
    parents : ndarray of bool, shape (d, d)
        Entry (i, j): whether ROI j is regressed on i.

    Returns
    -------
    Two ndarrays of shape (..., d, d), zero where there is no edge.
    """
    weights, variances = np.zeros(U.shape), np.zeros(U.shape)
    for j in np.flatnonzero(parents.any(axis=0)).tolist():
        S = np.flatnonzero(parents[:, j])
        weights[..., S, j], variances[..., S, j] = _regressed(_moments_of(U, S, j))
    return weights, variances


def _moments_of(U: Array, S: Indices, j: int) -> Array:
    """Moments of ROIs S and, in the last place, ROI j: (..., |S| + 1, |S| + 1)."""
    own = np.append(S, j)
    return U[..., own[:, None], own]


def _weights(own: Array) -> Array:
    """Weights of the last ROI on the others, (..., p), from moments of p + 1 ROIs."""
    return np.asarray(np.linalg.solve(own[..., :-1, :-1], own[..., :-1, -1:])[..., 0])


def _regressed(own: Array) -> tuple[Array, Array]:
    """Weights of the last ROI on the others, and their variances for a single sample."""
    inverse = np.linalg.inv(own[..., :-1, :-1])
    right = own[..., :-1, -1]
    w = np.einsum("...pq,...q->...p", inverse, right)
    noise = own[..., -1, -1] - np.einsum("...p,...p->...", w, right)
    return w, np.maximum(noise, 0.0)[..., None] * np.diagonal(inverse, axis1=-2, axis2=-1)


def contrast(
    patients: tuple[Array, Array], controls: tuple[Array, Array], parents: Mask,
    smallest: float = 0.0,
) -> tuple[Array, Array]:  # fmt: skip
    """Difference of every weight, averaged over the sites, and the statistic T: two of (..., E).

    Parameters
    ----------
    patients, controls : tuple of ndarrays
        Moments (..., K, d, d) and effective samples (..., K).
    parents : ndarray of bool, shape (d, d)
        The E connections to compare, in the order of ``parents.nonzero()``.
    smallest : float
        Mean differences that do not exceed this count as none: T = 0.
    """
    batch, (K, d, _) = patients[0].shape[:-3], patients[0].shape[-3:]
    groups = [(U.reshape(-1, K, d, d), n.reshape(-1, K)) for U, n in (patients, controls)]
    place = np.zeros((d, d), dtype=np.intp)
    place[parents] = np.arange(parents.sum())
    mean, T = (np.zeros((len(groups[0][0]), parents.sum())) for _ in range(2))
    for j in np.flatnonzero(parents.any(axis=0)).tolist():
        S = np.flatnonzero(parents[:, j])
        mean[:, place[S, j]], T[:, place[S, j]] = _contrast_of(groups, S, j, smallest)
    return mean.reshape(*batch, -1), T.reshape(*batch, -1)


def _contrast_of(
    groups: Sequence[tuple[Array, Array]], S: Indices, j: int, smallest: float
) -> tuple[Array, Array]:
    """Mean differences of the weights of ROI j on ROIs S, and T, of B labellings: two of (B, |S|).

    Few labellings make a difference above ``smallest``; errors are computed for these alone.
    """
    small = [(_moments_of(U, S, j), n) for U, n in groups]
    delta = np.subtract(*(_weights(own) for own, _ in small))
    mean = delta.mean(axis=1)
    rows = np.flatnonzero((np.abs(mean) > smallest).any(axis=1))
    error = sum(_regressed(own[rows])[1] / n[rows, :, None] for own, n in small)
    delta = delta[rows]
    between = delta.var(axis=1, ddof=1) if delta.shape[1] > 1 else 0.0
    scale = np.maximum(between, np.asarray(error).mean(axis=1))
    T = np.zeros(mean.shape)
    T[rows] = mean[rows] / np.sqrt(np.maximum(scale, np.finfo(float).tiny))
    return mean, np.where(np.abs(mean) > smallest, T, 0.0)
