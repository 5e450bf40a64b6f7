"""Second moments of single subjects, and their sums over any set of subjects.

A fit reads nothing of a site's samples but U = xᵀx/n and how many independent samples they are
worth. Both are sums over subjects, so that resampled or relabelled subjects are added up and no
series is read again:

    U = Σ_i c_i S_i / N − m mᵀ,   m = Σ_i c_i s_i / N,   N = Σ_i c_i n_i

with S_i = x_iᵀx_i, s_i = Σ_t x_i(t), n_i volumes and c_i how often subject i counts. m is the mean
of every ROI at the site, zero where subjects are centred.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from notears_pfl.autocorrelation import effective_sample_size
from notears_pfl.errors import InputError

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class SubjectMoments:
    """Moments of the subjects of all sites.

    Parameters
    ----------
    S : ndarray of shape (N, d, d)
        Sum of xᵀx over the volumes of every subject.
    s : ndarray of shape (N, d)
        Sum of x over the volumes.
    n : ndarray of shape (N,)
        Volumes.
    n_effective : ndarray of shape (N,)
        How many independent samples the volumes are worth.
    site : ndarray of int, shape (N,)
        Site of every subject, counted from 0.
    center : bool
        Whether a site's mean is removed.
    """

    S: Array
    s: Array
    n: Array
    n_effective: Array
    site: npt.NDArray[np.intp]
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
            need at least one subject.
        """
        c = np.asarray(counts, dtype=float)
        d = self.S.shape[-1]
        U = np.empty((*c.shape[:-1], self.n_sites, d, d))
        n_effective = np.empty(U.shape[:-2])
        for k in range(self.n_sites):
            own = self.site == k
            N = (c[..., own] @ self.n[own])[..., None]
            m = c[..., own] @ self.s[own] / N if self.center else np.zeros((*N.shape[:-1], d))
            total = c[..., own] @ self.S[own].reshape(-1, d * d) / N
            U[..., k, :, :] = total.reshape(*N.shape[:-1], d, d) - m[..., :, None] * m[..., None, :]
            n_effective[..., k] = c[..., own] @ self.n_effective[own]
        return U, n_effective

    def subset(self, keep: Mask) -> "SubjectMoments":
        """Moments of some of the subjects, a mask of shape (N,)."""
        return SubjectMoments(
            self.S[keep], self.s[keep], self.n[keep], self.n_effective[keep], self.site[keep],
            self.center,
        )  # fmt: skip


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
    runs = runs or [np.zeros(len(x), dtype=np.intp) for x in tables]
    _refuse_identical(tables, names or [f"subject {i}" for i in range(len(tables))])
    sums = np.array([x.sum(axis=0) for x in tables])
    effective = [
        sum(
            effective_sample_size(x - x.mean(axis=0) if center else x)
            for x in (table[own == run] for run in np.unique(own))
        )
        for table, own in zip(tables, runs, strict=True)
    ]
    return SubjectMoments(
        S=np.array([x.T @ x for x in tables]),
        s=sums,
        n=np.array([len(x) for x in tables], dtype=float),
        n_effective=np.array(effective),
        site=np.asarray(sites, dtype=np.intp),
        center=center,
    )


def _refuse_identical(tables: Sequence[Array], names: Sequence[str]) -> None:
    """Refuse a series that two subjects share: permuted or resampled, they are not independent."""
    same: dict[bytes, list[str]] = {}
    for x, name in zip(tables, names, strict=True):
        same.setdefault(x.tobytes(), []).append(name)
    twins = [" and ".join(who) for who in same.values() if len(who) > 1]
    if twins:
        msg = (
            f"{'; '.join(twins)} have identical series. Subjects must be different persons: remove "
            "all but one of them from the participants table."
        )
        raise InputError(msg)
