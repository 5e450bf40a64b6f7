"""Second moments of single subjects, and their sums over any set of subjects.

A fit reads nothing of a site's samples but U = xᵀx/n and how many independent samples they are
worth. Both are sums over subjects, so that resampled or relabelled subjects are added up and no
series is read again:

    U = Σ_i c_i S_i / N − m mᵀ,   m = Σ_i c_i s_i / N,   N = Σ_i c_i n_i

with S_i = x_iᵀx_i, s_i = Σ_t x_i(t), n_i volumes and c_i how often subject i counts. m is the mean
of every ROI at the site, zero where subjects are centred. Of S_i, the lower triangle is kept: 13 kB
per subject at 56 ROIs, 642 kB at 400.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from notears_pfl.autocorrelation import effective_sample_size
from notears_pfl.errors import InputError

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.intp]


class Rows(Protocol):
    """Rows of a table, (N, m), which may stay in a file until they are needed."""

    def __getitem__(self, rows: Numbers, /) -> Array:
        """Rows with these numbers."""
        ...


class SubjectSums(NamedTuple):
    """Sums over the volumes of one subject.

    Parameters
    ----------
    S : ndarray of shape (d(d+1)/2,)
        Lower triangle of the sum of xᵀx, row after row.
    s : ndarray of shape (d,)
        Sum of x.
    n, n_effective : float
        Volumes, and how many independent samples they are worth.
    """

    S: Array
    s: Array
    n: float
    n_effective: float


@dataclass(frozen=True)
class SubjectMoments:
    """Moments of the subjects of all sites.

    Parameters
    ----------
    S : Rows
        Lower triangles of the sums of xᵀx, of these subjects and perhaps of others.
    s : ndarray of shape (N, d)
        Sum of x over the volumes.
    n : ndarray of shape (N,)
        Volumes.
    n_effective : ndarray of shape (N,)
        How many independent samples the volumes are worth.
    site : ndarray of int, shape (N,)
        Site of every subject, counted from 0.
    row : ndarray of int, shape (N,)
        Row of every subject in S.
    center : bool
        Whether a site's mean is removed.
    """

    S: Rows
    s: Array
    n: Array
    n_effective: Array
    site: Numbers
    row: Numbers
    center: bool = True

    @property
    def n_sites(self) -> int:
        """Number of sites K."""
        return int(self.site.max()) + 1

    def summed(self, counts: npt.ArrayLike) -> tuple[Array, Array]:
        """Moments U, (..., K, d, d), and effective samples, (..., K), of subjects that count so.

        Parameters
        ----------
        counts : array-like of shape (..., N)
            How often every subject counts: 0 or 1 for a subset, more for a bootstrap. All sites
            need at least one subject. S is read site by site.
        """
        c = np.asarray(counts, dtype=float)
        d = self.s.shape[-1]
        places = _places(d)
        U = np.empty((*c.shape[:-1], self.n_sites, d, d))
        n_effective = np.empty(U.shape[:-2])
        for k in range(self.n_sites):
            own = self.site == k
            N = (c[..., own] @ self.n[own])[..., None]
            m = c[..., own] @ self.s[own] / N if self.center else np.zeros((*N.shape[:-1], d))
            total = c[..., own] @ self.S[self.row[own]] / N
            U[..., k, :, :] = total.take(places, axis=-1) - m[..., :, None] * m[..., None, :]
            n_effective[..., k] = c[..., own] @ self.n_effective[own]
        return U, n_effective

    def subset(self, keep: Mask) -> "SubjectMoments":
        """Moments of some of the subjects, a mask of shape (N,)."""
        return replace(
            self, s=self.s[keep], n=self.n[keep], n_effective=self.n_effective[keep],
            site=self.site[keep], row=self.row[keep],
        )  # fmt: skip


def _places(d: int) -> Numbers:
    """Where every entry of a symmetric matrix, (d, d), is in its lower triangle."""
    i, j = np.indices((d, d))
    low, high = np.minimum(i, j), np.maximum(i, j)
    places: Numbers = high * (high + 1) // 2 + low
    return places


def subject_moments(
    series: Sequence[npt.ArrayLike],
    sites: npt.ArrayLike,
    *,
    center: bool = True,
    names: Sequence[str] | None = None,
    runs: Sequence[npt.NDArray[np.intp]] | None = None,
) -> SubjectMoments:
    """Moments of subjects from their series.

    Parameters
    ----------
    series : sequence of array-like of shape (n_volumes, d)
        One table per subject, with the same ROIs.
    sites : array-like of int, shape (N,)
        Site of every subject, counted from 0.
    center : bool
        Whether fits remove the mean of every ROI at each site.
    names : sequence of str, optional
        Names of the subjects in error messages.
    runs : sequence of ndarray, optional
        Of which run each volume of a subject is, (n_volumes,): autocorrelation is measured within
        runs. By default each subject has one.
    """
    tables = [np.asarray(x, dtype=float) for x in series]
    owners = runs or [np.zeros(len(x), dtype=np.intp) for x in tables]
    called = names or [f"subject {i}" for i in range(len(tables))]
    sums = [*subject_sums(zip(called, tables, owners, strict=True), center=center)]
    S, s, n, n_effective = (np.array(values) for values in zip(*sums, strict=True))
    site = np.asarray(sites, dtype=np.intp)
    return SubjectMoments(S, s, n, n_effective, site, np.arange(len(sums)), center)


def subject_sums(
    subjects: Iterable[tuple[str, Array, Numbers]], *, center: bool = True
) -> Iterator[SubjectSums]:
    """Give the sums of one subject after the other; at the end, refuse identical series.

    Parameters
    ----------
    subjects : iterable of tuples
        Name, series of shape (n_volumes, d), and of which run each volume is, (n_volumes,).
    center : bool
        Whether fits remove the mean of every ROI at each site.
    """
    same: dict[bytes, list[str]] = {}
    for name, x, runs in subjects:
        parts = (x[runs == run] for run in np.unique(runs))
        n_effective = sum(
            effective_sample_size(part - part.mean(axis=0) if center else part) for part in parts
        )
        same.setdefault(hashlib.sha256(x.tobytes()).digest(), []).append(name)
        S = (x.T @ x)[np.tril_indices(x.shape[1])]
        yield SubjectSums(S, x.sum(axis=0), float(len(x)), n_effective)
    _refuse_identical(same.values())


def _refuse_identical(same: Iterable[Sequence[str]]) -> None:
    """Refuse a series that two subjects share: permuted or resampled, they are not independent."""
    twins = [" and ".join(who) for who in same if len(who) > 1]
    if twins:
        msg = (
            f"{'; '.join(twins)} have identical series. Subjects must be different persons: remove "
            "all but one of them from the participants table."
        )
        raise InputError(msg)
