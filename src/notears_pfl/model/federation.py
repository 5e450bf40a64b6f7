"""What a site answers, and how requests reach the sites.

The local update (Eq. 15 and 16) is all that a site computes in a round:

    W = argmin ½ tr (I − W)ᵀ U (I − W) + ρ/2 ‖D^½ (W − V)‖²,   diag W = 0

with U = xᵀx/n and V = Z − β/(ρD) from the coordinator. D is diagonal, one value per row: the
penalty then weighs every ROI in its own units. Without the constraint on the diagonal,
W = P (ρDV + U) with P = (U + ρD)⁻¹; the constrained minimiser is W − P diag(W)/diag(P).

The coordinator reaches the sites through :class:`Sites` alone: :class:`LocalSites` calls sites of
this process, ``federated.courier`` sends the same requests to hospitals.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh, solve_triangular

from notears_pfl.autocorrelation import effective_sample_size
from notears_pfl.model.problem import Array, Moments, Order, second_moments


class FreeUpdate:
    """Local update without an order: one eigendecomposition serves every ρ."""

    def __init__(self, U: Array, D: Array) -> None:
        self._D, root = D, np.sqrt(D)
        eigenvalues, Q = eigh(U / np.outer(root, root))
        self._eigenvalues, self._Q = np.maximum(eigenvalues, 0.0), Q / root[:, None]
        self._rho = np.nan

    def __call__(self, V: Array, rho: float) -> Array:
        """Minimiser W with a zero diagonal, for the coordinator's V and ρ."""
        if rho != self._rho:
            self._rho = rho
            self._P = (self._Q / (self._eigenvalues + rho)) @ self._Q.T
            # P U = I − ρ P D, which is exact where U is singular.
            self._PU = np.eye(len(V)) - rho * self._P * self._D
            self._pull, self._diagonal = rho * self._D[:, None], np.diag(self._P)
        W = self._P @ (self._pull * V) + self._PU
        W -= self._P * (np.diag(W) / self._diagonal)
        np.fill_diagonal(W, 0.0)
        return W


class OrderedUpdate:
    """Local update restricted to edges that respect an order of the ROIs.

    In that order column j may use rows i < j only: its normal equations are the leading
    block of those of the last column, so one Cholesky factor solves them all.
    """

    def __init__(self, U: Array, D: Array, order: Order) -> None:
        # Where the entries of a matrix are whose rows and columns are put in order.
        self._places = order[:, None] * len(D) + order
        self._U, self._D = U.take(self._places), D[order]
        self._earlier = np.triu(np.ones(U.shape), k=1)
        self._rho = np.nan

    def __call__(self, V: Array, rho: float) -> Array:
        """Minimiser W that respects the order, for the coordinator's V and ρ."""
        if rho != self._rho:
            self._rho = rho
            L = np.linalg.cholesky(self._U + rho * np.diag(self._D))
            self._Linv = solve_triangular(L, np.eye(len(L)), lower=True)
            self._pull = rho * self._D[:, None]
        right = self._earlier * (self._pull * V.take(self._places) + self._U)
        W = np.empty(V.size)
        W[self._places] = self._Linv.T @ (self._earlier * (self._Linv @ right))
        return W.reshape(V.shape)


@dataclass(frozen=True)
class Description:
    """What a site tells about itself before the first round.

    ``n_effective`` is the number of independent samples that its n samples are worth; None where a
    site does not tell.
    """

    variances: Array
    n: int
    has_samples: bool
    n_effective: float | None = None


class Site:
    """One site: it keeps its samples and answers the coordinator's requests.

    The public methods are the requests; nothing but their arguments and answers crosses the
    site's border. D, V, ρ and orders come in. Variances, n, W with its loss and, from
    cross-validation, one sum of squares per ROI and fold go out. Samples stay, but weights are
    not anonymous: an answer W to V = 0 reveals U.

    Parameters
    ----------
    moments : Moments
        Second moments of the site's samples.
    x : ndarray of shape (n, d), optional
        The samples, without which the site cannot cross-validate.
    demean : bool
        Whether to remove the mean of every ROI from the samples.
    subjects : ndarray of shape (n,), optional
        Whose sample each row is; folds then do not divide a subject.
    n_effective : float, optional
        Number of independent samples that the samples are worth.
    """

    def __init__(
        self,
        moments: Moments,
        x: Array | None = None,
        demean: bool = True,
        *,
        subjects: npt.NDArray[np.intp] | None = None,
        n_effective: float | None = None,
    ) -> None:
        self._moments, self._x, self._demean = moments, x, demean
        self._subjects, self._n_effective = subjects, n_effective
        self._folds: list[tuple[Moments, Moments]] = []

    def describe(self) -> Description:
        """Variance of every ROI, (d,), and the number of samples."""
        variances = np.diag(self._moments.U).copy()
        has_samples = self._x is not None
        return Description(variances, self._moments.n, has_samples, self._n_effective)

    def split(self, n_folds: int) -> None:
        """Hold out each of ``n_folds`` folds in turn, whole subjects where these are known.

        Held-out samples are centred on the mean of the others.
        """
        assert self._x is not None
        self._folds = []
        for held_out in folds_of(len(self._x), n_folds, self._subjects):
            rest = np.delete(self._x, held_out, axis=0)
            mean = rest.mean(axis=0) if self._demean else 0.0
            pair = second_moments(rest - mean), second_moments(self._x[held_out] - mean)
            self._folds.append(pair)

    def begin(self, D: Array, order: Order | None, fold: int | None) -> None:
        """Prepare for steps: on all samples or without those of a fold, in an order or free."""
        self._U = (self._moments if fold is None else self._folds[fold][0]).U
        self._D, self._variance = D[:, None], float(np.trace(self._U))
        self._update = FreeUpdate(self._U, D) if order is None else OrderedUpdate(self._U, D, order)

    def step(self, V: Array, rho: float) -> tuple[Array, float]:
        """Update the local weights; return W and its loss ½ tr (I − W)ᵀ U (I − W)."""
        W = self._update(V, rho)
        # U W = U + ρD(V − W) wherever W is free, which saves the product.
        pull = rho * np.vdot(W, self._D * (V - W))
        return W, 0.5 * float(self._variance - np.vdot(self._U, W) + pull)

    def score(self, W: Array, fold: int) -> Array:
        """Squared residuals of every ROI, summed over the fold's samples: (d,)."""
        held_out = self._folds[fold][1]
        residual = np.eye(len(W)) - W
        return held_out.n * np.einsum("ij,ij->j", residual, held_out.U @ residual)


def folds_of(
    n: int, n_folds: int, subjects: npt.NDArray[np.intp] | None
) -> list[npt.NDArray[np.intp]]:
    """Rows of every fold: as many whole subjects each, in their order, or contiguous rows.

    Contiguous, because neighbouring volumes of a series are not independent. Fewer subjects than
    folds are divided like one series.
    """
    if subjects is None or len(named := np.unique(subjects)) < n_folds:
        return np.array_split(np.arange(n), n_folds)
    parts = np.array_split(named, n_folds)
    return [np.flatnonzero(np.isin(subjects, part)) for part in parts]


def site_from_samples(
    x: Array, *, demean: bool, subjects: npt.NDArray[np.intp] | None = None,
    runs: npt.NDArray[np.intp] | None = None,
) -> Site:  # fmt: skip
    """Site that holds samples x, (n, d), of these subjects and runs, (n,), or of one."""
    series = subjects if runs is None else runs
    series = np.zeros(len(x), dtype=np.intp) if series is None else series
    n_effective = 0.0
    for one in np.unique(series):
        part = x[series == one]
        n_effective += effective_sample_size(part - part.mean(axis=0) if demean else part)
    moments = second_moments(x, demean=demean)
    return Site(moments, x, demean, subjects=subjects, n_effective=n_effective)


class Sites(Protocol):
    """Sites as the coordinator sees them: each request goes to all of them, K answers come back.

    Methods are those of :class:`Site`. What all sites are told is said once; what differs from
    site to site, D, orders, V and W, has one entry per site.
    """

    @property
    def numbers(self) -> tuple[int, ...]:
        """Numbers of these sites in the study."""
        ...

    def alone(self) -> Sequence["Sites"]:
        """Return every site by itself."""
        ...

    def describe(self) -> list[Description]:
        """Ask for variances and numbers of samples."""
        ...

    def split(self, n_folds: int) -> None:
        """Have the sites hold out each of ``n_folds`` folds in turn."""
        ...

    def begin(self, D: Array, orders: Sequence[Order | None], fold: int | None) -> None:
        """Have the sites prepare for steps, with D of shape (K, d)."""
        ...

    def step(self, V: Array, rho: float) -> list[tuple[Array, float]]:
        """Ask for the local weights, given V of shape (K, d, d), and their losses."""
        ...

    def score(self, W: Array, fold: int) -> list[Array]:
        """Ask for the held-out squared residuals of W, (K, d, d), summed per ROI."""
        ...


class LocalSites:
    """Sites that live in this process."""

    def __init__(self, sites: Sequence[Site], numbers: Sequence[int] | None = None) -> None:
        self._sites = list(sites)
        self.numbers = tuple(range(len(self._sites)) if numbers is None else numbers)

    def alone(self) -> list["LocalSites"]:
        """Return every site by itself."""
        return [LocalSites([s], [k]) for k, s in zip(self.numbers, self._sites, strict=True)]

    def describe(self) -> list[Description]:
        """Describe every site."""
        return [site.describe() for site in self._sites]

    def split(self, n_folds: int) -> None:
        """Split the samples of every site."""
        for site in self._sites:
            site.split(n_folds)

    def begin(self, D: Array, orders: Sequence[Order | None], fold: int | None) -> None:
        """Prepare every site for steps."""
        for site, scale, order in zip(self._sites, D, orders, strict=True):
            site.begin(scale, order, fold)

    def step(self, V: Array, rho: float) -> list[tuple[Array, float]]:
        """Update the local weights of every site."""
        return [site.step(v, rho) for site, v in zip(self._sites, V, strict=True)]

    def score(self, W: Array, fold: int) -> list[Array]:
        """Score the weights at every site."""
        return [site.score(w, fold) for site, w in zip(self._sites, W, strict=True)]
