"""Regression of many columns on their parents at once, in blocks that stay in the cache.

A column is an ROI j at a site k. Given its parents and the prior of their weights, the moments of
the site say how every weight is scored, and how much of the column is left unexplained. Arrays have
the shape (K, d, d), entry (k, i, j) for the edge i → j at site k.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from notears_pfl.model.problem import Array, Mask

# Numbers in the largest arrays at a time: what is computed for columns stays in the cache.
BLOCK = 1 << 20
# Places for parents of columns that have fewer. LAPACK inverts up to three parents in four places
# with the same rounding as in more.
NARROW = 4


class Prior(NamedTuple):
    """Mean m and variance v of every weight, given that its edge exists."""

    m: Array
    v: Array


def at_all_sites(
    K: int, columns: npt.NDArray[np.intp]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Sites k and ROIs j of these columns at all sites, site by site."""
    return np.repeat(np.arange(K), len(columns)), np.tile(columns, K)


def _wide(shape: tuple[int, ...], variance: Array | float) -> Prior:
    """Prior N(0, v) of the columns of all sites, with v of shape (K, 1, 1) or one number."""
    v = np.broadcast_to(variance, shape).reshape(-1, shape[-1])
    return Prior(np.broadcast_to(0.0, v.shape), v)


class Columns(NamedTuple):
    """Columns (k, j), P of them, and their parents.

    Parents S, (P, p), of which not all places are ``filled``: p is the largest number of parents.
    """

    k: npt.NDArray[np.intp]
    j: npt.NDArray[np.intp]
    S: npt.NDArray[np.intp]
    filled: Mask


def with_parents(k: npt.NDArray[np.intp], j: npt.NDArray[np.intp], parents: Mask) -> Columns:
    """Columns (k, j) with the parents that a mask, (P, d), names."""
    count = parents.sum(axis=1)
    column, parent = np.nonzero(parents)
    place = np.arange(len(parent)) - np.repeat(np.cumsum(count) - count, count)
    S = np.zeros((len(parents), max(1, int(count.max(initial=0)))), dtype=np.intp)
    S[column, place] = parent
    return Columns(k, j, S, np.arange(S.shape[1]) < count[:, None])


def _parts(columns: Columns, size: int) -> Iterator[tuple[npt.NDArray[np.intp], Columns]]:
    """Divide columns so that arrays of ``size`` numbers per parent stay small; say which they are.

    Most columns have few parents: they need not be padded to the largest number.
    """
    k, j, S, filled = columns
    p = S.shape[1]
    few = np.zeros(len(k), dtype=bool) if p <= NARROW else ~filled[:, NARROW - 1]
    for group, width in ((few, NARROW), (~few, p)):
        own = np.flatnonzero(group)
        step = max(1, BLOCK // (width * size))
        for first in range(0, len(own), step):
            part = own[first : first + step]
            yield part, Columns(k[part], j[part], S[part, :width], filled[part, :width])


class Regressions(NamedTuple):
    """Columns regressed on their parents.

    Parameters
    ----------
    mean, covariance : ndarrays of shape (P, p) and (P, p, p)
        Posterior of the weights.
    r, g : ndarrays of shape (P, p)
        Score and curvature of every weight given the others.
    residual, used : ndarrays of shape (P,)
        Sum of squared residuals in units of the noise, and number of weights that the samples
        determine.
    """

    mean: Array
    covariance: Array
    r: Array
    g: Array
    residual: Array
    used: Array


def regress(U: Array, precision: Array, prior: Prior, columns: Columns) -> Regressions:
    """Regress columns on their parents; ``precision``, (P,), is n/s and the prior has (P, d).

    With parents S, G = n U/s and the prior N(m, v), the posterior of their weights has the
    precision G_SS + diag(1/v). For the score of a weight, its own prior is taken out again.
    """
    k, j, S, filled = columns
    scale, d = precision[:, None], U.shape[-1]
    v = np.where(filled, np.take_along_axis(prior.v, S, axis=1), 1.0)
    m = np.where(filled, np.take_along_axis(prior.m, S, axis=1), 0.0)
    pairs = filled[:, :, None] & filled[:, None, :]
    # Where the rows of the parents begin in U, as one list of numbers.
    row = d * (d * k[:, None] + S)
    G = np.where(pairs, scale[:, :, None] * U.take(row[:, :, None] + S[:, None, :]), 0.0)
    b = np.where(filled, scale * U.take(row + j[:, None]), 0.0)
    covariance = np.asarray(np.linalg.inv(G + np.eye(S.shape[1]) / v[:, None, :]), dtype=float)
    mean = np.einsum("xpq,xq->xp", covariance, b + m / v)
    variance = np.diagonal(covariance, axis1=1, axis2=2)
    fit = np.einsum("xp,xpq,xq->x", mean, G, mean) - 2 * np.einsum("xp,xp->x", mean, b)
    return Regressions(
        mean,
        covariance,
        r=mean / variance - m / v,
        g=_positive(1 / variance - 1 / v),
        residual=precision * U[k, j, j] + fit,
        used=np.where(filled, 1 - variance / v, 0.0).sum(axis=1),
    )


def _positive(curvature: Array) -> Array:
    """Curvatures that rounding left at zero, or below, where parents explain an ROI completely."""
    return np.maximum(curvature, 1e-10)


def edge_statistics(
    U: Array, precision: Array, parents: Mask, prior: Prior, k: npt.NDArray[np.intp],
    j: npt.NDArray[np.intp],
) -> tuple[Array, Array]:  # fmt: skip
    """Score and curvature of every weight in columns (k, j), (P, d), given the other parents."""
    r, g = np.empty(parents.shape), np.empty(parents.shape)
    variances = np.diagonal(U, axis1=1, axis2=2)
    for part, columns in _parts(with_parents(k, j, parents), parents.shape[1]):
        found = regress(U, precision[part], Prior(prior.m[part], prior.v[part]), columns)
        at, scale = columns.k, precision[part, None]
        C = U[at[:, None], columns.S]
        C *= (scale * columns.filled)[:, :, None]
        r[part] = scale * U[at, :, columns.j] - np.einsum("xp,xpi->xi", found.mean, C)
        explained = np.einsum("xpi,xpi->xi", C, found.covariance @ C)
        g[part] = _positive(scale * variances[at] - explained)
        row, place = np.nonzero(columns.filled)
        edge = part[row], columns.S[row, place]
        r[edge], g[edge] = found.r[row, place], found.g[row, place]
    return r, g


class Statistics(NamedTuple):
    """What the samples say about the edges and the ROIs of all sites, given the edges.

    Score r and curvature g of the weight of every edge, (K, d, d), 0 and 1 elsewhere; sum of
    squared residuals in units of the noise, (K, d), and number of weights that the samples
    determine, (K, d).
    """

    r: Array
    g: Array
    residual: Array
    used: Array


def parent_statistics(U: Array, precision: Array, A: Mask, variance: Array | float) -> Statistics:
    """Statistics of the edges A alone, whose weights have priors N(0, variance)."""
    K, d, _ = U.shape
    k, j = at_all_sites(K, np.arange(d))
    all_columns = with_parents(k, j, A.swapaxes(1, 2).reshape(len(k), d))
    scale, prior = precision[k, j], _wide(U.shape, variance)
    r, g = np.zeros(U.shape), np.ones(U.shape)
    residual, used = np.empty(len(k)), np.empty(len(k))
    for part, columns in _parts(all_columns, all_columns.S.shape[1]):
        found = regress(U, scale[part], Prior(prior.m[part], prior.v[part]), columns)
        row, place = np.nonzero(columns.filled)
        edge = columns.k[row], columns.S[row, place], columns.j[row]
        r[edge], g[edge] = found.r[row, place], found.g[row, place]
        residual[part], used[part] = found.residual, found.used
    return Statistics(r, g, residual.reshape(K, d), used.reshape(K, d))


def all_statistics(
    U: Array, precision: Array, A: Mask, variance: Array | float
) -> tuple[Array, Array]:
    """Score and curvature of all weights, (K, d, d), whose priors N(0, v) have this variance."""
    k, j = at_all_sites(len(U), np.arange(U.shape[-1]))
    parents = A.swapaxes(1, 2).reshape(len(k), -1)
    prior = _wide(U.shape, variance)
    r, g = edge_statistics(U, precision[k, j], parents, prior, k, j)
    return r.reshape(U.shape).swapaxes(1, 2), g.reshape(U.shape).swapaxes(1, 2)
