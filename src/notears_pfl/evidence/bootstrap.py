"""Bootstrap of subjects within site and group: how often a connection and its direction return.

Subjects are drawn with replacement, their moments added up, and networks searched again. The search
begins in turn at the pooled fit, at the fit of the group itself and at the consensus order of the
draw: the solver ends in one of several near-equal optima, and which one it is belongs to the
uncertainty.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from notears_pfl.evidence.comparison import degrees
from notears_pfl.evidence.moments import Array, Mask, SubjectMoments
from notears_pfl.evidence.pooled import pooled_fit, resumed
from notears_pfl.model.estimator import NotearsPFL
from notears_pfl.model.orders import consensus_order
from notears_pfl.seeds import stream

Counts = npt.NDArray[np.int64]
# Starts of the search, in turn.
POOLED, OWN, CONSENSUS = range(3)


@dataclass(frozen=True)
class Bootstraps:
    """Numbers of B draws in which something was found; patients first, then controls.

    Parameters
    ----------
    numbers : ndarray of int, shape (B,)
        Numbers of the draws, from 1.
    found : ndarray of int, shape (2, K, d, d)
        Draws with each edge at each site.
    everywhere : ndarray of int, shape (2, d, d)
        Draws with the connection at every site.
    alone : ndarray of int, shape (2, K, d, d)
        Draws with the connection at this site and no other.
    degree : ndarray of shape (B, 2, 3, d)
        Out-, in- and total degree of every ROI over all sites.
    """

    numbers: npt.NDArray[np.intp]
    found: Counts
    everywhere: Counts
    alone: Counts
    degree: Array

    @staticmethod
    def joined(parts: Iterable["Bootstraps"]) -> "Bootstraps":
        """All draws of several jobs."""
        several = list(parts)
        numbers = np.concatenate([part.numbers for part in several])
        found, everywhere, alone = (
            np.sum([getattr(part, name) for part in several], axis=0)
            for name in ("found", "everywhere", "alone")
        )
        degree = np.concatenate([part.degree for part in several])[np.argsort(numbers)]
        return Bootstraps(np.sort(numbers), found, everywhere, alone, degree)

    @property
    def selection(self) -> Array:
        """Share of the draws with each edge at each site, (2, K, d, d)."""
        return self.found / len(self.numbers)

    @property
    def direction(self) -> Array:
        """Share of the draws with the edge among those that connect its ROIs, (2, K, d, d).

        NaN where no draw connects them.
        """
        either = self.found + self.found.swapaxes(2, 3)
        return np.where(either > 0, self.found / np.maximum(either, 1), np.nan)

    @property
    def at_every_site(self) -> Array:
        """Share of the draws with the connection at every site, (2, d, d)."""
        return self.everywhere / len(self.numbers)

    @property
    def at_one_site(self) -> Array:
        """Share of the draws with the connection at this site and no other, (2, K, d, d)."""
        return self.alone / len(self.numbers)

    def degree_interval(self, coverage: float = 0.95) -> tuple[Array, Array]:
        """Central interval of every degree, two of (2, 3, d)."""
        tail = 50 * (1 - coverage)
        low, high = np.percentile(self.degree, [tail, 100 - tail], axis=0)
        return low, high


def resampled(blocks: npt.NDArray[np.intp], rng: np.random.Generator) -> Array:
    """How often every subject is drawn, with replacement, within each block, (N,)."""
    counts = np.zeros(len(blocks))
    for block in np.unique(blocks):
        own = np.flatnonzero(blocks == block)
        counts += np.bincount(rng.choice(own, len(own)), minlength=len(blocks))
    return counts


def bootstrap_draws(
    pooled: NotearsPFL, own: Sequence[NotearsPFL], moments: SubjectMoments, patients: Mask,
    numbers: Sequence[int], seed: int,
) -> Bootstraps:  # fmt: skip
    """Networks of the draws with these numbers; each depends on its number alone.

    Parameters
    ----------
    pooled : NotearsPFL
        The fit of both groups.
    own : sequence of NotearsPFL
        The fits of patients and of controls.
    moments : SubjectMoments
        All subjects.
    patients : ndarray of bool, shape (N,)
        Who is a patient.
    numbers : sequence of int
        Numbers of the draws, from 1.
    seed : int
        Seed of the study.
    """
    # Patients and controls of a site are drawn separately.
    blocks = 2 * moments.site + patients
    found: list[Mask] = []
    for number in numbers:
        counts = resampled(blocks, stream(seed, "evidence", "bootstrap", str(number)))
        networks = []
        for who, fit in zip((patients, ~patients), own, strict=True):
            U, n = moments.summed(counts * who)
            turn = number % 3
            start = _from_consensus(pooled, U) if turn == CONSENSUS else (pooled, fit)[turn]
            networks.append(start.redraw(U, n).adjacency)
        found.append(np.stack(networks))
    drawn = np.array(found)
    n_sites = drawn.sum(axis=2)
    return Bootstraps(
        numbers=np.array(numbers, dtype=np.intp),
        found=drawn.sum(axis=0, dtype=np.int64),
        everywhere=(n_sites == drawn.shape[2]).sum(axis=0, dtype=np.int64),
        alone=(drawn & (n_sites == 1)[:, :, None]).sum(axis=0, dtype=np.int64),
        degree=np.array([degrees(networks) for networks in drawn]),
    )


def _from_consensus(fit: NotearsPFL, U: Array) -> NotearsPFL:
    """Return a start in the consensus order of these moments, without edges."""
    orders = np.tile(consensus_order(U), (len(U), 1))
    return resumed(fit.get_params(), orders, np.zeros(U.shape, dtype=bool))


def bootstrap(
    samples: Sequence[npt.ArrayLike], subjects: Sequence[npt.ArrayLike],
    patients: Sequence[npt.ArrayLike], *, n_bootstraps: int = 200, seed: int = 0,
    **estimator: object,
) -> Bootstraps:  # fmt: skip
    """Resample the subjects of every site and group, and count what is found again.

    Parameters
    ----------
    samples : sequence of array-like of shape (n_k, d)
        One table per site, patients and controls together.
    subjects : sequence of array-like of shape (n_k,)
        Whose sample each row is.
    patients : sequence of array-like of shape (n_k,)
        Whether each row belongs to a patient.
    n_bootstraps : int
        Number of draws.
    seed : int
        Seed of all draws.
    **estimator
        Settings of :class:`notears_pfl.NotearsPFL`.
    """
    pooled = pooled_fit(samples, subjects, patients, **estimator)
    chosen = pooled.fit.parameters_
    fixed = {"lambda1": chosen.lambda1, "lambda2": chosen.lambda2, "kappa": chosen.kappa}
    own = []
    for is_patient in (True, False):
        rows = [np.asarray(labels, dtype=bool) == is_patient for labels in patients]
        fit = NotearsPFL(**{**pooled.fit.get_params(), **fixed})
        x = [np.asarray(x, dtype=float)[keep] for x, keep in zip(samples, rows, strict=True)]
        who = [np.asarray(names)[keep] for names, keep in zip(subjects, rows, strict=True)]
        own.append(fit.fit(x, subjects=who))
    numbers = range(1, n_bootstraps + 1)
    return bootstrap_draws(pooled.fit, own, pooled.moments, pooled.patients, numbers, seed)
