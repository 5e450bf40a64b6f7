"""Permutation of labels within sites, with networks searched again for every labelling.

Draw 0 is the observed labelling, every other draw a random one, and all are treated alike: networks
of equal numbers of patients and controls, searched from the pooled fit of both groups, which does
not know labels. With B random labellings

    p = (1 + number of random labellings at least as extreme as the observed one) / (1 + B)

is then exact. Connections are tested by the difference of their weights (:mod:`contrast`), degrees
and counts by networks.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from notears_pfl.evidence.comparison import Comparison, averaged, compare
from notears_pfl.evidence.contrast import contrast
from notears_pfl.evidence.labels import (
    Blocks,
    blocks_of,
    check_labels,
    equal_numbers,
    is_balanced,
    permuted,
)
from notears_pfl.evidence.moments import Array, Mask, SubjectMoments
from notears_pfl.evidence.pooled import Redraws, compared_connections, pooled_fit
from notears_pfl.evidence.significance import (
    Draws,
    PermutationResult,
    summarise,
    weight_test,
)
from notears_pfl.seeds import stream

# Labellings whose regressions are solved together: at most so many, with at most so many values in
# the moments of all of them (64 MB).
BATCH, MOST_VALUES = 100, 2**23


@dataclass(frozen=True)
class Labels:
    """Who is a patient, and among whom labels are exchanged.

    Parameters
    ----------
    patients : ndarray of bool, shape (N,)
        Observed labels.
    blocks : ndarray of int, shape (N,)
        Site, or stratum within a site.
    """

    patients: Mask
    blocks: Blocks


def fair_comparison(
    start: Redraws, moments: SubjectMoments, patients: Mask, n_subsamples: int,
    rng: np.random.Generator,
) -> Comparison:  # fmt: skip
    """Compare networks of equal numbers of patients and controls, averaged over subsamples."""
    if is_balanced(patients, moments.site):
        n_subsamples = 1
    known: dict[bytes, Mask] = {}
    parts = []
    for _ in range(n_subsamples):
        networks = []
        for counts in equal_numbers(patients, moments.site, rng):
            # A group that is the smaller one everywhere is the same in every subsample.
            key = counts.tobytes()
            if key not in known:
                known[key] = start.redraw(*moments.summed(counts)).adjacency
            networks.append(known[key])
        parts.append(compare(np.stack(networks)))
    return averaged(parts)


def permutation_draws(
    start: Redraws, moments: SubjectMoments, labels: Labels, tested: Mask, numbers: Sequence[int],
    n_subsamples: int, seed: int,
) -> Draws:  # fmt: skip
    """Figures of the draws with these numbers; each depends on its number alone.

    Parameters
    ----------
    start : Redraws
        The pooled fit of both groups.
    moments : SubjectMoments
        All subjects.
    labels : Labels
        Observed labels.
    tested : ndarray of bool, shape (d, d)
        Connections whose numbers of sites are kept.
    numbers : sequence of int
        Numbers of the draws; 0 is the observed labelling.
    n_subsamples : int
        Subsamples of equal size per draw, where a site's groups differ in size.
    seed : int
        Seed of the study.
    """
    found = []
    for number in numbers:
        rng = stream(seed, "evidence", "permutation", str(number))
        drawn = labels.patients if number == 0 else permuted(labels.patients, labels.blocks, rng)
        found.append(fair_comparison(start, moments, drawn, n_subsamples, rng))
    return Draws(
        numbers=np.array(numbers, dtype=np.intp),
        sites=np.array([(f.sites[0] - f.sites[1])[tested] for f in found]),
        degree=np.array([f.degree[0] - f.degree[1] for f in found]),
        counts=np.array([f.counts for f in found]),
    )


def contrast_draws(
    moments: SubjectMoments, labels: Labels, tested: Mask, n_permutations: int, smallest: float,
    seed: int,
) -> tuple[Array, Array]:  # fmt: skip
    """Difference of every tested weight, and T, of the observed and of random labellings.

    Both have the shape (1 + n_permutations, E), the observed labelling first.
    """
    rng = stream(seed, "evidence", "permutation of weights")
    differences, statistics = [], []
    batch = max(1, min(BATCH, MOST_VALUES // (moments.n_sites * moments.s.shape[1] ** 2)))
    for first in range(0, n_permutations + 1, batch):
        size = min(batch, n_permutations + 1 - first)
        drawn = [permuted(labels.patients, labels.blocks, rng) for _ in range(size)]
        if first == 0:
            drawn[0] = labels.patients
        who = np.array(drawn)
        mean, T = contrast(moments.summed(who), moments.summed(~who), tested, smallest)
        differences.append(mean)
        statistics.append(T)
    return np.concatenate(differences), np.concatenate(statistics)


def permutation(
    samples: Sequence[npt.ArrayLike], subjects: Sequence[npt.ArrayLike],
    patients: Sequence[npt.ArrayLike], *, n_permutations: int = 999,
    n_weight_permutations: int = 9999, n_subsamples: int = 2, smallest_difference: float = 0.0,
    strata: npt.ArrayLike | None = None, seed: int = 0, **estimator: object,
) -> PermutationResult:  # fmt: skip
    """Compare the networks of patients and controls, with refits under permuted labels.

    Parameters
    ----------
    samples : sequence of array-like of shape (n_k, d)
        One table per site, patients and controls together.
    subjects : sequence of array-like of shape (n_k,)
        Whose sample each row is.
    patients : sequence of array-like of shape (n_k,)
        Whether each row belongs to a patient.
    n_permutations : int
        Labellings whose networks are searched again: for degrees and counts.
    n_weight_permutations : int
        Labellings for the weights of connections, which cost far less.
    n_subsamples : int
        Subsamples of equal size per labelling, where a site's groups differ in size.
    smallest_difference : float
        Mean differences of weights that do not exceed this count as none.
    strata : array-like of shape (N,), optional
        Stratum of every subject, in order of appearance: labels are exchanged within strata only.
    seed : int
        Seed of all draws.
    **estimator
        Settings of :class:`notears_pfl.NotearsPFL`.
    """
    pooled = pooled_fit(samples, subjects, patients, **estimator)
    moments = pooled.moments
    labels = Labels(pooled.patients, blocks_of(moments.site, strata))
    check_labels(labels.patients, moments.site, labels.blocks)
    tested = compared_connections(pooled.fit, moments)
    weights = weight_test(
        *contrast_draws(moments, labels, tested, n_weight_permutations, smallest_difference, seed)
    )
    numbers = range(n_permutations + 1)
    draws = permutation_draws(pooled.fit, moments, labels, tested, numbers, n_subsamples, seed)
    return summarise(tested, weights, draws)
