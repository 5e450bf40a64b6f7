"""A permutation test of group labels that respects the overlap between draws.

Sets of subjects are drawn at every site regardless of group, a network is learned from each, and
y_nk indicates whether set n has the connection at site k. A subject's contribution is the mean over
the sets that include it,

    c_i = mean_{n ∋ i} (y_nk − mean_n y_nk),

large if these have the connection more often than others. A sum would also depend on how often a
subject was drawn, and rank subjects where hardly any set has the connection. The statistic is
T = Σ_{i a patient} c_i. Under the null hypothesis, labels are unrelated to series within every
site. Labels can then be exchanged among the subjects of a site while sets, networks and c_i stay
fixed: nothing is refitted, and the test is exact whatever the method, the overlap of the sets or
the temporal dependence.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
# Sums of the same contributions in a different order may differ by rounding.
ROUNDING = 1e-9


@dataclass(frozen=True)
class PermutationTest:
    """P-values of shape (n_tests,): one-sided (more often in patients) and two-sided."""

    p: Array
    p_two_sided: Array


def contributions(members: Mask, presence: Array) -> Array:
    """Contributions of a site's subjects, shape (n_subjects, n_tests); 0 for one in no set.

    Parameters
    ----------
    members : ndarray of bool, shape (n_sets, n_subjects)
        Whether a subject is in a set.
    presence : ndarray of shape (n_sets, n_tests)
        Whether the site's network of each set has the connection, 0 or 1.
    """
    n_sets = np.maximum(members.sum(axis=0), 1)
    summed: Array = members.T @ (presence - presence.mean(axis=0))
    return summed / n_sets[:, None]


def permutation_test(
    site_contributions: Sequence[Array],
    site_patients: Sequence[Mask],
    n_permutations: int,
    rng: np.random.Generator,
) -> PermutationTest:
    """Compare T with its values under permuted labels.

    Parameters
    ----------
    site_contributions : sequence of ndarray of shape (n_subjects, n_tests)
        As from :func:`contributions`, one per site.
    site_patients : sequence of ndarray of bool, shape (n_subjects,)
        Whether each subject is a patient.
    n_permutations : int
        Number of permutations, in addition to the observed labels.
    rng : Generator
        Draws the permutations, which all tests share.
    """
    observed, permuted = 0.0, 0.0
    for c, patients in zip(site_contributions, site_patients, strict=True):
        centred = c - c.mean(axis=0)
        labels = rng.permuted(np.tile(patients, (n_permutations, 1)), axis=1)
        observed = observed + patients @ centred
        permuted = permuted + labels @ centred
    T, T_permuted = np.asarray(observed), np.asarray(permuted)
    as_large = (T_permuted >= T - ROUNDING).sum(axis=0)
    as_far = (np.abs(T_permuted) >= np.abs(T) - ROUNDING).sum(axis=0)
    return PermutationTest(
        (1 + as_large) / (1 + n_permutations), (1 + as_far) / (1 + n_permutations)
    )
