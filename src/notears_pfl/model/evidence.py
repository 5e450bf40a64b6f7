"""Which edges exist, given an order of the ROIs at every site: Bayes factors of single edges.

In the order of site k, ROI j is a regression on its parents, x_j = Σ_i w_ij x_i + e_j, with noise
of variance s_kj. With n_k effectively independent samples and the other parents' weights integrated
out, the likelihood of one weight is Gaussian: precision g (its curvature) and mean r/g (r is its
score). A weight of an edge that exists has the prior N(m, v), the slab, so that the Bayes factor of
the edge is

    log BF = ½ (r + m/v)² / (g + 1/v) − ½ m²/v − ½ log(1 + g v)

Sites inform each other in two ways. An edge is common (probability π) or not; a site has a common
edge with probability q1 and another one with q0. The weights of a common edge are w^k = μ + δ^k
with variances t0 and td: with t0 = 0 every site has weights of its own, with td = 0 all share one.
q0, t0, td and s are estimated from the data. An edge is kept where

    P(the edge exists and |w| > threshold | data) > ½

so that with many samples ``threshold`` is a floor on the absolute weight, and with few an edge also
needs evidence. Arrays have the shape (K, d, d), entry (k, i, j) for the edge i → j at site k.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_ndtr, logit, softmax, xlogy

from notears_pfl.model.problem import Array, Mask
from notears_pfl.model.regressions import (
    BLOCK,
    Prior,
    at_all_sites,
    edge_statistics,
    parent_statistics,
)

# Prior odds d^(−2γ) of a common edge with γ = ¾, as in the extended BIC: with d² candidates, chance
# alone makes some of them look good.
EDGE_EXPONENT = -1.5
# q1: a site lacks one in twenty of the edges that most sites have.
GIVEN_COMMON = 0.95
# Rounds in which q0 and the variances are estimated again from the edges.
MAX_ROUNDS = 4
# An edge changes at most this often in one round: two parents that replace each other would
# otherwise change for ever.
MAX_CHANGES = 3
# Samples per ROI below which the edges are decided from several starts.
FEW = 4
# Grid of the slab's variance and of the share that all sites have in common.
SLAB_VARIANCES = np.geomspace(0.02, 8, 13)
COMMON_SHARES = (0.0, 0.5, 0.8, 0.95, 0.99)


@dataclass(frozen=True)
class Rates:
    """Probabilities of edges, and variances of their weights.

    Parameters
    ----------
    common : float
        π, the probability that an edge is common.
    otherwise : float
        q0, the share of sites with an edge that is not.
    t0, td : float
        Variance of a common edge's weight over edges, and of a site's deviation from it.
    """

    common: float
    otherwise: float
    t0: float
    td: float

    @property
    def slab(self) -> float:
        """Variance of a weight about which the other sites say nothing."""
        return self.t0 + self.td


@dataclass(frozen=True)
class Evidence:
    """The edges, and how sure they are.

    Parameters
    ----------
    adjacency : ndarray of bool, shape (K, d, d)
        The edges.
    probability : ndarray of shape (K, d, d)
        Probability that an edge exists and exceeds the threshold, given the other edges.
    noise : ndarray of shape (K, d)
        Variance s of the noise of every ROI.
    rates : Rates
        What was estimated over all edges.
    """

    adjacency: Mask
    probability: Array
    noise: Array
    rates: Rates


def decide(
    U: Array, n: Array, allowed: Mask, start: Mask, threshold: float, required: Mask,
    max_rounds: int = MAX_ROUNDS,
) -> Evidence:  # fmt: skip
    """Decide on the edges that respect the orders.

    Parameters
    ----------
    U, n : ndarrays of shape (K, d, d) and (K,)
        Moments and effective number of samples of every site.
    allowed : ndarray of bool, shape (K, d, d)
        Edges that may exist; acyclic.
    start : ndarray of bool, shape (K, d, d)
        Edges to begin with.
    threshold : float
        Weights that do not exceed this do not count.
    required : ndarray of bool, shape (K, d, d)
        Edges that exist for certain.
    max_rounds : int
        How often q0 and the variances are estimated at most.
    """
    A = (start & allowed) | required
    d = len(allowed[0])
    rates = Rates(common=d**EDGE_EXPONENT, otherwise=1 / d, t0=0.0, td=1.0)
    noise = np.diagonal(U, axis1=1, axis2=2)
    # The edges explain some of the variance that the noise has at first.
    noise = noise_variances(U, n, A, noise, rates)
    for _ in range(max_rounds):
        before = A
        noise = noise_variances(U, n, A, noise, rates)
        rates = estimate_rates(U, n[:, None] / noise, A, allowed, rates)
        A, odds = _settle(
            U, n[:, None] / noise, A, allowed, threshold, rates, required, np.arange(d)
        )
        if np.array_equal(A, before):
            break
    return Evidence(A, _probability(odds, allowed, required), noise, rates)


def decide_from(
    U: Array, n: Array, allowed: Mask, start: Mask, Z: Array, threshold: float, required: Mask
) -> Evidence:
    """Decide on the edges, with few samples also from what penalised weights Z suggest.

    Few samples leave many local optima. Given the orders, ROIs do not depend on each other: the
    probability of an edge into an ROI is the mean over the ends, each weighted by the posterior
    probability of all edges into that ROI.
    """
    if np.median(n) >= FEW * U.shape[-1]:
        return decide(U, n, allowed, start, threshold, required)
    typical = np.broadcast_to(np.sqrt((Z**2).mean(axis=0)), Z.shape)
    starts = [start, *(np.abs(Z) > share * threshold for share in (1, 1 / 3, 1 / 6))]
    starts += [typical > share * threshold for share in (1, 1 / 2)]
    ends = [decide(U, n, allowed, start, threshold, required) for start in starts]
    noise = np.mean([end.noise.mean(axis=1) for end in ends], axis=0)
    by_roi = np.array([log_posterior(U, n, noise, end).sum(axis=0) for end in ends])
    shares = softmax(by_roi, axis=0)
    probability = np.einsum("ej,ekij->kij", shares, [end.probability for end in ends])
    most_probable = ends[int(by_roi.sum(axis=1).argmax())]
    return replace(most_probable, adjacency=(probability > 0.5) | required, probability=probability)


def decide_columns(
    U: Array, n: Array, allowed: Mask, start: Mask, threshold: float, required: Mask,
    last: Evidence, columns: npt.NDArray[np.intp],
) -> Evidence:  # fmt: skip
    """Decide on the edges into some ROIs again, with the noise and the rates as they were."""
    A, odds = _settle(
        U, n[:, None] / last.noise, (start & allowed) | required, allowed, threshold, last.rates,
        required, columns,
    )  # fmt: skip
    probability = last.probability.copy()
    probability[:, :, columns] = _probability(odds, allowed, required)[:, :, columns]
    return replace(last, adjacency=A, probability=probability)


def _probability(odds: Array, allowed: Mask, required: Mask) -> Array:
    """Probability of every edge from its log-odds; required edges are certain."""
    return np.where(required, 1.0, np.where(allowed, expit(odds), 0.0))


def _settle(
    U: Array, precision: Array, A: Mask, allowed: Mask, floor: float, rates: Rates, required: Mask,
    columns: npt.NDArray[np.intp],
) -> tuple[Mask, Array]:  # fmt: skip
    """Change edges in these columns until none asks for it; return the edges and their odds.

    Given the orders, columns do not depend on each other.
    """
    A, odds = A.copy(), np.zeros(U.shape)
    size = max(1, BLOCK // A[:, :, 0].size)
    for first in range(0, len(columns), size):
        block = columns[first : first + size]
        now, may, must = (
            mask[:, :, block].swapaxes(1, 2).copy() for mask in (A, allowed, required)
        )
        edges, found = _settle_block(U, precision, now, may, must, floor, rates, block)
        A[:, :, block], odds[:, :, block] = edges.swapaxes(1, 2), found.swapaxes(1, 2)
    return A, odds


def _settle_block(
    U: Array, precision: Array, A: Mask, allowed: Mask, required: Mask, floor: float, rates: Rates,
    columns: npt.NDArray[np.intp],
) -> tuple[Mask, Array]:  # fmt: skip
    """Change edges in one block of columns, the most convincing one first.

    All columns change at once, and the column of a site is left alone when nothing in it changed.
    Here A, ``allowed``, ``required`` and the odds have the shape (K, number of columns, d).
    """
    changes = np.zeros(A.shape, dtype=np.int8)
    r, g, odds = (np.zeros(A.shape) for _ in range(3))
    prior, present = _slab(A.shape, rates), np.where(A, 0.95, 0.05)
    # Edges that no site may have are left out.
    somewhere: Mask = np.any(allowed, axis=0)
    k, place = at_all_sites(len(U), np.arange(len(columns)))
    while len(k):
        own, j = Prior(prior.m[k, place], prior.v[k, place]), columns[place]
        r[k, place], g[k, place] = edge_statistics(U, precision[k, j], A[k, place], own, k, j)
        # The columns in which something has just changed.
        places = np.unique(place)
        edges = _numbers(somewhere, places)
        r_now, g_now, share = (_taken(X, edges) for X in (r, g, present))
        may = allowed.reshape(len(U), -1).take(edges, axis=1)
        found = edge_odds(r_now, g_now, may, share, rates, floor)
        for X, x in zip((odds, *prior, present), (found[0], *found[1], found[2]), strict=True):
            X.reshape(len(U), -1)[:, edges] = x
        now, has = odds[:, places], A[:, places]
        gain = np.where(has, -now, now)
        open_ = allowed[:, places] & ~required[:, places] & (changes[:, places] < MAX_CHANGES)
        gain = np.where(open_ & (gain > 0), gain, 0.0)
        # One parent per column: at the sites that ask for it, all at once.
        parent = gain.sum(axis=0).argmax(axis=1)
        k, which = np.nonzero(gain[:, np.arange(len(places)), parent] > 0)
        place = places[which]
        A[k, place, parent[which]] ^= True
        changes[k, place, parent[which]] += 1
    return A, odds


def _numbers(mask: Mask, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Places of the entries of these rows of a mask in the whole mask, row after row."""
    row, column = np.nonzero(mask[rows])
    return rows[row] * mask.shape[1] + column


def _taken(X: Array, edges: npt.NDArray[np.intp]) -> Array:
    """Values of these edges at all sites, (K, number of edges), one site after another."""
    return X.reshape(len(X), -1).take(edges, axis=1)


def _slab(shape: tuple[int, ...], rates: Rates) -> Prior:
    """Prior of weights about which the other sites say nothing."""
    return Prior(np.zeros(shape), np.full(shape, rates.slab))


def log_bayes_factor(r: Array, g: Array, m: Array | float, v: Array | float) -> Array:
    """Log Bayes factor of an edge whose weight has the prior N(m, v)."""
    factor = 0.5 * (r + m / v) ** 2 / (g + 1 / v) - 0.5 * m**2 / v - 0.5 * np.log1p(g * v)
    return np.asarray(factor)


def edge_odds(
    r: Array, g: Array, allowed: Mask, present: Array, rates: Rates, floor: float
) -> tuple[Array, Prior, Array]:
    """Log-odds that an allowed edge exists and exceeds ``floor``, given the other edges.

    The log-odds are 0 where an edge is not allowed. Also returns the prior of its weight, and the
    probability that a site has it if it is common, which the next call needs as ``present``.

    The evidence of the *other* sites that an edge is common is bounded from below: with the
    probabilities γ that they have it, each site's likelihood counts γ times, the shared weight μ is
    integrated out, and the entropy of γ is added. For t0 = 0 the bound is exact.
    """
    t, q1, q0 = rates.slab, GIVEN_COMMON, rates.otherwise
    own = log_bayes_factor(r, g, 0.0, t)
    # A site's likelihood as a function of μ: precision h, score u.
    spread = 1 + g * rates.td
    h, u = g / spread, r / spread
    deviation = -0.5 * np.log(spread) + 0.5 * rates.td * r * u

    def others(values: Array) -> Array:
        values = np.where(allowed, values, 0.0)
        total: Array = values.sum(axis=0) - values
        return total

    # 1/t0 + h would be infinite without a shared part.
    shared = rates.t0 / (1 + rates.t0 * others(present * h))
    m, v = shared * others(present * u), shared + rates.td
    tied = log_bayes_factor(r, g, m, v)
    present = expit(logit(q1) + tied)
    entropy = xlogy(present, q1 / np.maximum(present, 1e-300)) + xlogy(
        1 - present, (1 - q1) / np.maximum(1 - present, 1e-300)
    )
    unrelated = np.logaddexp(np.log1p(-q0), np.log(q0) + own)
    H, Q = others(present * h), others(present * u)
    shared = rates.t0 / (1 + rates.t0 * H)
    for_common = others(present * deviation + entropy - unrelated)
    for_common += 0.5 * shared * Q**2 - 0.5 * np.log1p(rates.t0 * H)
    common = expit(logit(rates.common) + for_common)

    m, v = np.where(common > 0.5, m, 0.0), np.where(common > 0.5, v, t)
    # Elsewhere there are no edges to decide on.
    common, tied, own = common[allowed], tied[allowed], own[allowed]
    with np.errstate(divide="ignore"):
        exists = np.logaddexp(np.log(common * q1) + tied, np.log((1 - common) * q0) + own)
    exists -= np.log(common * (1 - q1) + (1 - common) * (1 - q0))
    precision = g[allowed] + 1 / v[allowed]
    mean = (r[allowed] + m[allowed] / v[allowed]) / precision
    above, below = log_tails(mean, 1 / np.sqrt(precision), floor)
    log_exists = -np.logaddexp(0, -exists)
    odds = np.zeros(r.shape)
    absent = np.logaddexp(-np.logaddexp(0, exists), log_exists + below)
    odds[allowed] = log_exists + above - absent
    return odds, Prior(m, v), present


def log_tails(mean: Array, sd: Array, floor: float) -> tuple[Array, Array]:
    """Logarithms of P(|w| > floor) and of P(|w| ≤ floor) for w ~ N(mean, sd²)."""
    size = np.abs(mean)
    upper, lower = log_ndtr((floor - size) / sd), log_ndtr((-floor - size) / sd)
    above = np.logaddexp(log_ndtr((size - floor) / sd), lower)
    with np.errstate(divide="ignore"):
        below = upper + np.log(-np.expm1(np.minimum(lower - upper, 0.0)))
    return np.minimum(above, 0.0), below


def noise_variances(U: Array, n: Array, A: Mask, last: Array, rates: Rates) -> Array:
    """Variance of the noise of every ROI at every site, (K, d), given the edges A.

    The residual variance of few samples is uncertain. It is drawn to the product of a gain of the
    site and a variance of the ROI over all sites, as far as the sites' own values do not differ
    from that product more than chance explains. ``last`` is the estimate so far.
    """
    found = parent_statistics(U, n[:, None] / last, A, rates.slab)
    squares = found.residual * last
    # As many parents as samples leave nothing to estimate the noise from.
    degrees = np.maximum(n[:, None] - found.used, 0.3 * n[:, None])
    gain, roi = np.ones((len(U), 1)), np.ones(U.shape[1])
    for _ in range(4):
        roi = (squares / gain).sum(axis=0) / degrees.sum(axis=0)
        gain = ((squares / roi).sum(axis=1) / degrees.sum(axis=1))[:, None]
    expected = gain * roi
    # The ratio of squares to their expectation has the variance 2/degrees by chance.
    ratio = squares / (expected * degrees)
    excess = np.sum((ratio - 1) ** 2 * degrees / 2 - 1) / np.sum(degrees / 2)
    weight = 2 / max(float(excess), 1e-3)
    noise = (weight * expected + squares) / (weight + degrees)
    # Where there are more parents than samples, nothing is left over.
    return np.maximum(noise, 1e-6 * np.diagonal(U, axis1=1, axis2=2))


def estimate_rates(U: Array, precision: Array, A: Mask, allowed: Mask, last: Rates) -> Rates:
    """Estimate q0 and the slab's variances from the edges A.

    An edge counts as common where at least half of the sites that may have it do. Half an edge
    more, on as many pairs as half the ROIs have, keeps q0 away from zero.
    """
    n_found, n_allowed = A.sum(axis=0), allowed.sum(axis=0)
    untied = allowed & ~((n_found > 0) & (2 * n_found >= n_allowed))
    found = parent_statistics(U, precision, A, last.slab)
    t0, td = slab_variances(found.r, found.g, A) if A.any() else (last.t0, last.td)
    otherwise = float((A[untied].sum() + 0.5) / (untied.sum() + 0.5 * len(n_found)))
    return replace(last, otherwise=otherwise, t0=t0, td=td)


def slab_variances(r: Array, g: Array, A: Mask) -> tuple[float, float]:
    """Variances t0 and td under which the weights of the edges A are most likely.

    The estimates r/g of one edge have the covariance t0 11ᵀ + diag(td + 1/g) over its sites.
    """
    found = A.any(axis=0)
    on, g = A[:, found], g[:, found]
    y = r[:, found] / g
    best, variances = -np.inf, (0.0, 1.0)
    for t in SLAB_VARIANCES:
        for share in COMMON_SHARES:
            t0, td = share * t, (1 - share) * t
            spread = td + 1 / g
            H, Q = (on / spread).sum(axis=0), (on * y / spread).sum(axis=0)
            likelihood = -0.5 * (on * (np.log(spread) + y**2 / spread)).sum()
            likelihood += 0.5 * (t0 * Q**2 / (1 + t0 * H) - np.log1p(t0 * H)).sum()
            if likelihood > best:
                best, variances = likelihood, (float(t0), float(td))
    return variances


def log_posterior(U: Array, n: Array, noise: Array, evidence: Evidence) -> Array:
    """Logarithm of the posterior probability of the edges into every ROI, (K, d), as in the BIC.

    Up to a constant. ``noise``, (K,), is one variance per site: as in the objective, all ROIs count
    alike, which is what tells directions apart. To compare edges, use the same noise for all.
    """
    A = evidence.adjacency
    precision = np.broadcast_to((n / noise)[:, None], U.shape[:2])
    found = parent_statistics(U, precision, A, wide_variance(n, noise))
    prior = np.where(A, expectation(evidence) - 0.5 * np.log(n)[:, None, None], 0.0)
    value: Array = prior.sum(axis=1) - 0.5 * found.residual
    return value


def wide_variance(n: Array, noise: Array) -> Array:
    """Variance, (K, 1, 1), of priors that matter only where an ROI has more parents than samples.

    Elsewhere they leave least squares as they are.
    """
    variance: Array = (1e5 * noise / n)[:, None, None]
    return variance


def expectation(evidence: Evidence) -> Array:
    """Prior log-odds of an edge at every site, (K, d, d), given the edges of the others."""
    A = evidence.adjacency
    elsewhere = A.sum(axis=0) - A
    common = (elsewhere > 0) & (2 * elsewhere >= len(A) - 1)
    return np.where(common, logit(GIVEN_COMMON), logit(evidence.rates.otherwise))


def refit_weights(U: Array, n: Array, evidence: Evidence) -> tuple[Array, Array]:
    """Weights of the edges without the penalty, and their standard errors: two of (K, d, d).

    Least squares of every ROI on its parents. A prior a hundred times as wide as the slab keeps
    them finite where a site has no more samples than parents, and hardly matters elsewhere.
    """
    A, noise = evidence.adjacency, evidence.noise
    wide = 100 * evidence.rates.slab
    found = parent_statistics(U, n[:, None] / noise, A, wide)
    precision = found.g + 1 / wide
    return np.where(A, found.r / precision, 0.0), np.where(A, 1 / np.sqrt(precision), 0.0)
