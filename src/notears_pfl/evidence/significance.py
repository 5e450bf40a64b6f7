"""P-values, false discovery rates and intervals from the draws of a permutation test."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from notears_pfl.evidence.comparison import COMPARED
from notears_pfl.evidence.moments import Array, Mask
from notears_pfl.false_discovery import benjamini_hochberg

# Sums of the same subjects in another order differ by rounding.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Draws:
    """Figures of B labellings.

    Parameters
    ----------
    numbers : ndarray of int, shape (B,)
        Numbers of the draws; 0 is the observed labelling.
    sites : ndarray of shape (B, E)
        Patients' minus controls' number of sites with each tested connection.
    degree : ndarray of shape (B, 3, d)
        Patients' minus controls' degree of every ROI: out, in, total.
    counts : ndarray of shape (B, 2, C)
        Numbers of connections (:data:`~comparison.COUNTS`): directed, undirected.
    """

    numbers: npt.NDArray[np.intp]
    sites: Array
    degree: Array
    counts: Array

    @staticmethod
    def joined(parts: Iterable["Draws"]) -> "Draws":
        """All draws of several jobs, in the order of their numbers."""
        found = list(parts)
        numbers = np.concatenate([part.numbers for part in found])
        order = np.argsort(numbers)
        sites, degree, counts = (
            np.concatenate([getattr(part, name) for part in found])[order]
            for name in ("sites", "degree", "counts")
        )
        return Draws(numbers[order], sites, degree, counts)


def p_two_sided(null: Array) -> Array:
    """P-values of |T|, with the observed labelling first along the first axis of ``null``."""
    size = np.abs(null)
    return np.asarray((size >= size[0] - ROUNDING).mean(axis=0))


def p_either_side(null: Array) -> Array:
    """P-values of figures that are not zero by chance: twice the smaller tail, at most 1."""
    above = (null >= null[0] - ROUNDING).mean(axis=0)
    below = (null <= null[0] + ROUNDING).mean(axis=0)
    return np.asarray(np.minimum(1.0, 2 * np.minimum(above, below)))


def p_largest(null: Array) -> Array:
    """P-values of |T| against the largest |T| of a labelling, over the last axis (max-T).

    They control the chance of any false finding (Westfall and Young). Where T is not in units of
    its own spread, divide by that of all labellings, the observed one included, first.
    """
    largest = np.abs(null).max(axis=-1)
    observed = np.abs(null[0])
    return np.asarray((largest[..., None] >= observed - ROUNDING).mean(axis=0))


def standardised(null: Array) -> Array:
    """Draws in units of their standard deviation; zero where they do not vary."""
    spread = null.std(axis=0)
    return (null - null.mean(axis=0)) / np.where(spread > 0, spread, np.inf)


def interval(null: Array, coverage: float = 0.95) -> tuple[Array, Array, Array]:
    """Mean and central interval of the random labellings: expected, low, high."""
    tail = 50 * (1 - coverage)
    low, high = np.percentile(null[1:], [tail, 100 - tail], axis=0)
    return null[1:].mean(axis=0), low, high


def compared(counts: Array) -> Array:
    """Differences of counts between the groups, (..., 3), in the order of ``COMPARED``."""
    first, second = np.array(COMPARED).T
    return np.asarray(counts[..., first] - counts[..., second])


@dataclass(frozen=True)
class PermutationResult:
    """Differences between patients and controls, each with its chance level.

    Attributes
    ----------
    tested : ndarray of bool, shape (d, d)
        The E connections that were tested: those of the pooled fit, chosen without labels.
    difference, p, q, p_largest : ndarrays of shape (d, d)
        Patients' minus controls' weight, averaged over sites, with its p-value, its false discovery
        rate (Benjamini and Hochberg) and its p-value against the largest of all connections;
        NaN where not tested.
    sites, sites_p : ndarrays of shape (d, d)
        Patients' minus controls' number of sites with the connection, and its p-value; NaN where
        not tested.
    degree, degree_p, degree_q, degree_p_largest : ndarrays of shape (3, d)
        Patients' minus controls' out-, in- and total degree over all sites.
    counts, counts_p : ndarrays of shape (2, C)
        Numbers of connections (:data:`~notears_pfl.evidence.comparison.COUNTS`), directed and
        undirected.
    counts_expected, counts_low, counts_high : ndarrays of shape (2, C)
        What random labellings give: mean and 95 % interval.
    compared_p : ndarray of shape (2, 3)
        P-values of the differences between groups in all edges, those at every site in one group
        only, and those at exactly one site.
    draws : Draws
        Figures of all labellings, the observed one first.
    """

    tested: Mask
    difference: Array
    p: Array
    q: Array
    p_largest: Array
    sites: Array
    sites_p: Array
    degree: Array
    degree_p: Array
    degree_q: Array
    degree_p_largest: Array
    counts: Array
    counts_p: Array
    counts_expected: Array
    counts_low: Array
    counts_high: Array
    compared_p: Array
    draws: Draws


@dataclass(frozen=True)
class WeightTest:
    """Tests of E weights, all of shape (E,).

    Parameters
    ----------
    difference, statistic : ndarrays
        Patients' minus controls' weight, averaged over sites, and T.
    low, high : ndarrays
        95 % interval of the difference under permuted labels.
    p, q, p_largest : ndarrays
        P-value, false discovery rate, and p-value against the largest of all.
    """

    difference: Array
    statistic: Array
    low: Array
    high: Array
    p: Array
    q: Array
    p_largest: Array


def weight_test(differences: Array, T: Array) -> WeightTest:
    """Test weights by their draws, two of (1 + B, E) with the observed labelling first."""
    _, low, high = interval(differences)
    p = p_two_sided(T)
    q, largest = (benjamini_hochberg(p), p_largest(T)) if len(p) else (p, p)
    return WeightTest(differences[0], T[0], low, high, p, q, largest)


def summarise(tested: Mask, weights: WeightTest, draws: Draws) -> PermutationResult:
    """P-values and intervals of all figures.

    Parameters
    ----------
    tested : ndarray of bool, shape (d, d)
        The E tested connections.
    weights : WeightTest
        Tests of their weights.
    draws : Draws
        Networks of all labellings.
    """

    def spread(values: Array) -> Array:
        table = np.full(tested.shape, np.nan)
        table[tested] = values
        return table

    expected, low, high = interval(draws.counts)
    degree_p = p_two_sided(draws.degree)
    return PermutationResult(
        tested=tested,
        difference=spread(weights.difference),
        p=spread(weights.p),
        q=spread(weights.q),
        p_largest=spread(weights.p_largest),
        sites=spread(draws.sites[0]),
        sites_p=spread(p_two_sided(draws.sites)),
        degree=draws.degree[0],
        degree_p=degree_p,
        degree_q=benjamini_hochberg(degree_p),
        degree_p_largest=p_largest(standardised(draws.degree)),
        counts=draws.counts[0],
        counts_p=p_either_side(draws.counts),
        counts_expected=expected,
        counts_low=low,
        counts_high=high,
        compared_p=p_two_sided(compared(draws.counts)),
        draws=draws,
    )
