"""Labels of patients and controls: permuted within sites, and thinned to equal numbers.

Under the null hypothesis that labels say nothing about the series of a site, every labelling with
the same numbers of patients and controls per site is as probable as the observed one. A statistic
of the observed labelling then has a uniformly distributed rank among those of random labellings.
"""

from math import comb

import numpy as np
import numpy.typing as npt

from notears_pfl.errors import InputError
from notears_pfl.evidence.moments import Array, Mask

Blocks = npt.NDArray[np.intp]


def blocks_of(site: npt.NDArray[np.intp], strata: npt.ArrayLike | None = None) -> Blocks:
    """Blocks of subjects among whom labels are exchanged, (N,): sites, or strata within sites."""
    if strata is None:
        return site.copy()
    _, stratum = np.unique(np.asarray(strata), return_inverse=True)
    return np.unique(np.stack([site, stratum]), axis=1, return_inverse=True)[1].ravel()


def n_labellings(patients: Mask, blocks: Blocks) -> int:
    """How many labellings have as many patients in every block."""
    total = 1
    for block in np.unique(blocks):
        own = patients[blocks == block]
        total *= comb(len(own), int(own.sum()))
    return total


def share_of_one(patients: Mask, blocks: Blocks) -> float:
    """Share of one labelling in all: no p-value can be smaller; zero for very many labellings."""
    return 1 / n_labellings(patients, blocks)


def check_labels(patients: Mask, site: npt.NDArray[np.intp], blocks: Blocks) -> None:
    """Refuse labels that cannot be compared or permuted."""
    for k in np.unique(site):
        n, p = int((site == k).sum()), int(patients[site == k].sum())
        if p in (0, n):
            msg = (
                f"site {k}: both groups are needed to compare them; found {p} patients and "
                f"{n - p} controls. Leave the site out."
            )
            raise InputError(msg)
    if (found := n_labellings(patients, blocks)) < 2:
        msg = (
            f"labels cannot be permuted: at least 2 labellings are needed, but only {found} keeps "
            f"the numbers of patients ({int(patients.sum())}) and controls "
            f"({int((~patients).sum())}) in every stratum of every site. Use fewer strata."
        )
        raise InputError(msg)


def permuted(patients: Mask, blocks: Blocks, rng: np.random.Generator) -> Mask:
    """Random labels, with as many patients in every block."""
    labels = np.empty_like(patients)
    for block in np.unique(blocks):
        labels[blocks == block] = rng.permutation(patients[blocks == block])
    return labels


def is_balanced(patients: Mask, site: npt.NDArray[np.intp]) -> bool:
    """Whether all sites have as many patients as controls."""
    return all(2 * patients[site == k].sum() == (site == k).sum() for k in np.unique(site))


def equal_numbers(patients: Mask, site: npt.NDArray[np.intp], rng: np.random.Generator) -> Array:
    """Random subsample with as many patients as controls at every site: 0 or 1 by group, (2, N).

    The smaller group stays whole. Networks of unequal groups differ by their sizes alone: more
    subjects find more edges.
    """
    counts = np.stack([patients, ~patients]).astype(float)
    for k in np.unique(site):
        members = [np.flatnonzero((site == k) & own.astype(bool)) for own in counts]
        size = min(map(len, members))
        for group, own in enumerate(members):
            if len(own) > size:
                counts[group, rng.permutation(own)[size:]] = 0.0
    return counts
