"""Search over orders of the ROIs, from the end of the path and from elsewhere.

The path ends in one of many near-equal optima, and which one depends on its schedule. So the search
also starts from a consensus order that needs no path: the ROI with the smallest variance given
those already placed comes next, over all sites (with equal noise an ROI whose causes are all placed
has the variance of the noise, and no other has less); and from such orders of the sites' own, for
sites that have little in common. From each start, an edge a → b is turned round, at all sites that
have it or at one, where the samples ask for it:

    B = Σ_k ½ n_k/s_k (r²/g of b → a given the parents of a  −  r²/g of a → b given the others of b)

with score r and curvature g of a weight (:mod:`notears_pfl.model.evidence`) and one noise variance
s_k per site. B is the log-odds of the order with the edge turned round; what the penalty takes from
weights, which can favour either direction, is not in it. A single site departs from the others
against the odds that it has edges as most of them have. One of the ends is kept
(:func:`choose`). The share of its order and of the one with the edge turned round that has
the edge as it is, 1/(1 + exp B), is the support of the edge's direction.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from notears_pfl.model.coordinator import respecting
from notears_pfl.model.evidence import (
    MAX_ROUNDS,
    Evidence,
    decide,
    decide_columns,
    expectation,
    log_posterior,
    refit_weights,
    wide_variance,
)
from notears_pfl.model.problem import Array, Mask, Order
from notears_pfl.model.regressions import all_statistics

# Share of an ROI's variance that counts as known of nothing: fewer samples than ROIs would
# otherwise explain everything.
RIDGE = 0.02
# Log-odds from which an edge is turned round (odds of 50), and rounds of the search at most.
LEAST_ODDS, SEARCH_ROUNDS = 4.0, 12
# Share by which the objective of a poor optimum exceeds another one; schedules of the path differ
# by about as much on the same series.
POOR = 0.003
# Places of the starts.
_, CONSENSUS, OWN = range(3)


@dataclass(frozen=True)
class Directed:
    """Orders at the end of the search, the edges in them, and the log-odds B against each edge."""

    orders: list[Order]
    evidence: Evidence
    against: Array

    @property
    def support(self) -> Array:
        """Share of the order and of the one with the edge turned round that has the edge as it is.

        All sites with the edge are turned round together; zero where there is no edge.
        """
        A = self.evidence.adjacency
        return np.where(A, expit(-np.where(A, self.against, 0.0).sum(axis=0)), 0.0)


@dataclass(frozen=True)
class Networks:
    """Networks of K sites, and the share of orders that has every edge as it is, all (K, d, d)."""

    weights: Array
    adjacency: Mask
    direction_support: Array


def search_from(
    U: Array, n: Array, orders: Sequence[Order], start: Mask, threshold: float, allowed: Mask,
    required: Mask,
) -> Networks:  # fmt: skip
    """Networks of moments U, from orders and edges that were found in other samples."""
    found = direct(U, n, orders, start, threshold, allowed, required)
    weights, _ = refit_weights(U, n, found.evidence)
    return Networks(weights, found.evidence.adjacency, found.support)


def consensus_order(U: Array) -> Order:
    """Order of the ROIs over all sites: the smallest remaining variance first."""
    variances = np.diagonal(U, axis1=1, axis2=2)
    # Every site in its own units: a loud one does not decide alone.
    R = U / np.median(variances, axis=1)[:, None, None]
    R = R + RIDGE * np.diag(np.median(np.diagonal(R, axis1=1, axis2=2), axis=0))
    order = np.empty(R.shape[-1], dtype=np.intp)
    left = np.ones(len(order), dtype=bool)
    for position in range(len(order)):
        remaining = np.where(left, np.diagonal(R, axis1=1, axis2=2).mean(axis=0), np.inf)
        order[position] = j = int(np.argmin(remaining))
        left[j] = False
        R = R - np.einsum("ki,kj->kij", R[:, :, j], R[:, j, :]) / R[:, j, j][:, None, None]
    return order


def direct(
    U: Array, n: Array, orders: Sequence[Order], start: Mask, threshold: float, allowed: Mask,
    required: Mask, max_rounds: int = SEARCH_ROUNDS,
) -> Directed:  # fmt: skip
    """Decide on the edges, turning round those that the samples ask for.

    Parameters
    ----------
    U, n : ndarrays of shape (K, d, d) and (K,)
        Moments and effective samples.
    orders : sequence of Order
        Orders to begin with.
    start : ndarray of bool, shape (K, d, d)
        Edges to begin with.
    threshold : float
        Weights that do not exceed this do not count.
    allowed, required : ndarrays of bool, shape (K, d, d)
        Edges that may exist in some order, and those that do for certain.
    max_rounds : int
        How often edges are turned round at most.
    """
    orders, turned, d = list(orders), np.zeros(U.shape, dtype=bool), U.shape[-1]
    possible = respecting(orders) & allowed
    # Without a search, the edges are wanted for a comparison only.
    exact = MAX_ROUNDS if max_rounds else 1
    evidence = decide(U, n, possible, start, threshold, required, exact)
    noise = evidence.noise.mean(axis=1)
    kept, highest = (orders, evidence), log_posterior(U, n, noise, evidence).sum()
    for _ in range(max_rounds):
        A = evidence.adjacency
        touched: set[int] = set()
        expected = expectation(evidence)
        # Nothing is turned round twice: the search ends.
        open_ = A & ~turned & allowed.swapaxes(1, 2) & ~required
        departure = expected.swapaxes(1, 2) - expected
        orders = list(orders)
        for a, b, sites in _candidates(reversal_odds(U, n, evidence), departure, open_):
            # Another way from a to b would close a cycle.
            free = [k for k in sites if not _reached(A[k], A[k, a] & (np.arange(d) != b))[b]]
            if touched & {a, b} or not free:
                continue
            for k in free:
                orders[k] = moved(orders[k], a, b, A[k])
                turned[k, [a, b], [b, a]] = True
            touched |= {a, b}
        if not touched:
            break
        before, possible = possible, respecting(orders) & allowed
        changed = np.flatnonzero((before != possible).any(axis=(0, 1)))
        start = (A | A.swapaxes(1, 2)) & possible
        evidence = decide_columns(U, n, possible, start, threshold, required, evidence, changed)
        # Other edges follow an edge that is turned round, which may cost more than it gained.
        if (now := log_posterior(U, n, noise, evidence).sum()) > highest:
            kept, highest = (orders, evidence), now
    orders, evidence = kept
    return Directed(orders, evidence, reversal_odds(U, n, evidence))


def poor(objectives: Sequence[float]) -> Mask:
    """Which starts are poor optima: their objective is clearly higher than the lowest.

    Another schedule of the path would have found another one. The consensus is the simplest order
    and always counts.
    """
    found = np.array(objectives) > (1 + POOR) * min(objectives)
    found[CONSENSUS] = False
    return found


def choose(U: Array, n: Array, ends: Sequence[Directed], is_poor: Mask) -> tuple[int, Array]:
    """Which end to keep, from the path, the consensus or own orders; what ties are worth to sites.

    The most probable edges win, but not from poor starts. What ties are worth to a site is the
    logarithm of the probability that its edges gain by them, per sample, (K,); a single site has
    no orders of its own to compare with.
    """
    noise = np.mean([end.evidence.noise.mean(axis=1) for end in ends], axis=0)
    by_site = np.array([log_posterior(U, n, noise, end.evidence).sum(axis=1) for end in ends])
    total = np.where(is_poor, -np.inf, by_site.sum(axis=1))
    chosen = int(np.argmax(total))
    if len(ends) == OWN:
        return chosen, np.zeros(len(U))
    tied = by_site[int(np.argmax(total[:OWN]))]
    return chosen, (tied - by_site[OWN]) / n


def untie(
    U: Array, n: Array, ends: Sequence[Directed], chosen: int, ties: Array, threshold: float,
    allowed: Mask, required: Mask,
) -> tuple[Directed, Mask]:  # fmt: skip
    """Let sites that lose clearly by ties keep orders of their own; say which do, (K,).

    The others search on without them. Where this is less probable, nothing changes.
    """
    found = ends[chosen]
    if chosen == OWN:
        return found, np.ones(len(U), dtype=bool)
    apart = ties * n < -LEAST_ODDS
    if not apart.any():
        return found, apart
    own = ends[OWN]
    pairs = zip(apart, own.orders, found.orders, strict=True)
    orders = [theirs if leaves else shared for leaves, theirs, shared in pairs]
    edges = np.where(apart[:, None, None], own.evidence.adjacency, found.evidence.adjacency)
    mixed = direct(U, n, orders, edges, threshold, allowed, required)
    noise = np.mean([end.evidence.noise.mean(axis=1) for end in (found, mixed)], axis=0)
    before, now = (log_posterior(U, n, noise, end.evidence).sum() for end in (found, mixed))
    return (mixed, apart) if now > before else (found, np.zeros(len(U), dtype=bool))


def reversal_odds(U: Array, n: Array, evidence: Evidence) -> Array:
    """Log-odds B, (K, d, d), of every edge turned round at its site alone; −∞ without an edge."""
    A = evidence.adjacency
    precision = (n / evidence.noise.mean(axis=1))[:, None] * np.ones(U.shape[:2])
    r, g = all_statistics(U, precision, A, wide_variance(n, evidence.noise.mean(axis=1)))
    value = 0.5 * r**2 / g
    return np.where(A, value.swapaxes(1, 2) - value, -np.inf)


def _candidates(odds: Array, prior: Array, open_: Mask) -> Iterator[tuple[int, int, list[int]]]:
    """Edges a → b to turn round and their sites, the clearest first: all together, or single ones.

    ``prior`` is added at single sites; where all move together, none departs from the others.
    """
    found = []
    joint = np.where(open_, odds, 0.0).sum(axis=0)
    single = np.where(open_, odds + prior, -np.inf)
    for a, b in np.argwhere((joint > LEAST_ODDS) | (single > LEAST_ODDS).any(axis=0)).tolist():
        sites = np.flatnonzero(open_[:, a, b]).tolist()
        if joint[a, b] > LEAST_ODDS and len(sites) > 1:
            found.append((float(joint[a, b]), a, b, sites))
        clear = [k for k in sites if single[k, a, b] > LEAST_ODDS]
        found += [(float(single[k, a, b]), a, b, [k]) for k in clear]
    for _, a, b, sites in sorted(found, key=lambda one: (-one[0], *one[1:])):
        yield a, b, sites


def moved(order: Order, a: int, b: int, edges: Mask) -> Order:
    """Order in which b comes before a, with its ancestors; as it is where it does so already.

    Of the edges (d, d), only those from a to these ROIs are no longer possible.
    """
    position = np.argsort(order)
    if position[b] < position[a]:
        return order
    segment = order[position[a] : position[b] + 1]
    inner = edges[np.ix_(segment, segment)]
    # Against the direction of the edges: the ROIs from which b is reached.
    first = _reached(inner.T, np.arange(len(segment)) == len(segment) - 1)
    first[0] = False
    new = np.concatenate([segment[first], segment[~first]])
    return np.concatenate([order[: position[a]], new, order[position[b] + 1 :]])


def _reached(edges: Mask, start: Mask) -> Mask:
    """ROIs that can be reached from ``start``, which is included."""
    new = start
    while new.any():
        new = edges[new].any(axis=0) & ~start
        start = start | new
    return start
