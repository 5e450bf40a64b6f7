"""Whether connections of the discovery set return in the validation set.

Two questions, each with its chance level. Does a fit of the validation subjects alone have the
connection at the same site? By chance, a random edge is one of its m among d(d − 1). And does the
weight return: every ROI is regressed, in validation subjects, on the parents that it has in the
discovery network. The chance level of the sign is that of as many random edges, each added to the
parents of its target in both sets.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from notears_pfl.evidence.contrast import weights_given
from notears_pfl.evidence.moments import Array, Mask
from notears_pfl.model.estimator import NotearsPFL

# Half the width of a 95 % interval in standard errors.
HALF_WIDTH = 1.96
# Times that as many random edges are drawn.
RANDOM_DRAWS = 20


@dataclass(frozen=True)
class Replication:
    """Replication of networks at K sites.

    Attributes
    ----------
    found : ndarray of bool, shape (K, d, d)
        Edges of the discovery networks that the validation networks have.
    weight, low, high : ndarrays of shape (K, d, d)
        Weights of the discovery edges in validation subjects, with their 95 % interval.
    same_sign : ndarray of bool, shape (K, d, d)
        Discovery edges whose weight has the same sign in validation subjects.
    expected_found : ndarray of shape (K,)
        How many of as many random edges the validation networks would have.
    expected_same_sign : ndarray of shape (K,)
        How many of as many random edges would have weights of the same sign.
    """

    found: Mask
    weight: Array
    low: Array
    high: Array
    same_sign: Mask
    expected_found: Array
    expected_same_sign: Array


def replicate(
    discovery: tuple[Array, Mask], validation: tuple[Array, Array], validation_edges: Mask,
    rng: np.random.Generator,
) -> Replication:  # fmt: skip
    """Look for the edges of discovery networks in validation subjects.

    Parameters
    ----------
    discovery : tuple of ndarrays
        Moments and edges of the discovery set, (K, d, d) each.
    validation : tuple of ndarrays
        Moments, (K, d, d), and effective samples, (K,), of the validation set.
    validation_edges : ndarray of bool, shape (K, d, d)
        Edges of a fit of the validation set by itself.
    rng : Generator
        Draws random edges.
    """
    (U, edges), (U_new, n_new) = discovery, validation
    K, d, _ = U.shape
    weight, error, first = (np.zeros(U.shape) for _ in range(3))
    chance_sign = np.zeros(K)
    for k in range(K):
        first[k], _ = weights_given(U[k], edges[k])
        weight[k], variance = weights_given(U_new[k], edges[k])
        error[k] = np.sqrt(variance / n_new[k])
        chance_sign[k] = edges[k].sum() * _random_sign_share(U[k], U_new[k], edges[k], rng)
    return Replication(
        found=edges & validation_edges,
        weight=weight,
        low=np.where(edges, weight - HALF_WIDTH * error, 0.0),
        high=np.where(edges, weight + HALF_WIDTH * error, 0.0),
        same_sign=edges & (np.sign(first) == np.sign(weight)),
        expected_found=edges.sum(axis=(1, 2)) * validation_edges.sum(axis=(1, 2)) / (d * (d - 1)),
        expected_same_sign=chance_sign,
    )


def _random_sign_share(U: Array, U_new: Array, edges: Mask, rng: np.random.Generator) -> float:
    """Share of random edges whose weights have the same sign in both sets of subjects.

    One edge at a time is added to the discovery parents of its target; edges that exist, in either
    direction, are not drawn.
    """
    free = ~(edges | edges.T | np.eye(len(edges), dtype=bool))
    pairs = np.argwhere(free)
    if not edges.any() or not len(pairs):
        return 0.5
    drawn = pairs[rng.integers(len(pairs), size=RANDOM_DRAWS * int(edges.sum()))]
    same = []
    # Targets whose random sources come one at a time share their parents.
    for j in np.unique(drawn[:, 1]):
        S = np.flatnonzero(edges[:, j])
        sources = drawn[drawn[:, 1] == j, 0]
        signs = [np.sign(_partial(moments, S, sources, j)) for moments in (U, U_new)]
        same.append(signs[0] == signs[1])
    return float(np.concatenate(same).mean())


def _partial(U: Array, S: np.ndarray, sources: np.ndarray, j: int) -> Array:
    """Covariance of each source with ROI j given ROIs S; its sign is that of the weight."""
    if not len(S):
        return U[sources, j]
    return np.asarray(
        U[sources, j] - U[np.ix_(sources, S)] @ np.linalg.solve(U[np.ix_(S, S)], U[S, j])
    )


def validation_fit(validation: tuple[Array, Array], estimator: Mapping[str, Any]) -> Mask:
    """Edges of a fit of moments, (K, d, d), worth so many samples, (K,), with fixed λ and κ."""
    pairs = [(U, max(2, round(n))) for U, n in zip(*validation, strict=True)]
    return NotearsPFL(**estimator).fit_moments(pairs).adjacency_
