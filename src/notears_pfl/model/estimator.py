"""NOTEARS-PFL as an estimator: samples of K sites in, one acyclic network per site out."""

import inspect
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self, get_args

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from notears_pfl.errors import DoubtfulFitWarning, InputError, NotConvergedWarning
from notears_pfl.model.checks import (
    checked_moments,
    checked_samples,
    checked_subjects,
    column_names,
)
from notears_pfl.model.constraints import (
    Constraints,
    Edges,
    checked_constraints,
    free_constraints,
)
from notears_pfl.model.coordinator import (
    effective_samples,
    in_common_units,
    known_moments,
    site_gains,
)
from notears_pfl.model.doubts import doubts
from notears_pfl.model.federation import LocalSites, Site, Sites, site_from_samples
from notears_pfl.model.orders import Networks, search_from
from notears_pfl.model.problem import (
    AcyclicityName,
    Array,
    Mask,
    Parameters,
    PenaltyName,
    mean_parameters,
)
from notears_pfl.model.selection import Auto, Candidate, select
from notears_pfl.model.solution import Certificate, History, Solution, merge
from notears_pfl.model.solver import Options, solve


class NotearsPFL:
    """Personalised directed networks of several sites, learned jointly.

    Minimises Σ_k ½/n_k ‖x^k − x^k W^k‖² + R(W) over acyclic W^k (Eq. 7), where R draws the
    sites' networks together. In every round a site sends weights, never samples.

    Parameters
    ----------
    penalty : {"edgewise", "chain"}
        R. ``edgewise`` is λ1 Σ|W| + λ2 Σ_ij (‖W_ij·‖ + κ ‖W_ij· − mean_k W_ij·‖), whose result
        does not depend on the order of the sites; ``chain`` is the paper's
        λ1 Σ|W| + λ2 Σ_k ‖W^{k+1} − W^k‖_F, which does. With λ2 = 0 every site is fitted
        alone.
    lambda1, lambda2, kappa : float or "auto"
        Weights of R; κ is for ``edgewise`` alone. ``auto`` derives sparsity from the noise and
        the numbers of sites, ROIs and samples, and cross-validates the rest inside the
        sites: κ of ``edgewise``, λ2 of ``chain`` together with λ1 for one or for all sites.
    threshold : float
        An edge is kept if it more probably than not exists with an absolute weight above this,
        given the samples of its site and of the others (:mod:`notears_pfl.model.evidence`). With
        many samples this is a floor on the weight; with few, an edge also needs evidence.
    acyclicity : {"log-det", "trace-exponential"}
        The function h that keeps cycles away. The paper's is the second; the first is faster.
    center : bool
        Whether to remove the mean of every ROI at each site. For samples of a model without
        intercepts, such as small simulated sites, False is more accurate.
    tol : float
        Relative residual at which the rounds stop.
    max_rounds : int
        Cap on the rounds of the final refit.
    required, forbidden : mask of shape (d, d) or pairs (from, to), optional
        Edges that exist, and that do not, at every site; pairs are numbers or names of columns.
    tiers : sequence of d ints, optional
        No edge goes from an ROI of a higher tier to one of a lower tier.
    progress : bool, optional
        Whether to show a progress bar; by default for long fits in a terminal.

    Attributes
    ----------
    weights_ : ndarray of shape (K, d, d)
        Entry (k, i, j) weighs the edge i → j at site k; always acyclic. The weights are those of
        regressions of every ROI on its parents: the penalty takes part in the choice of the edges,
        but does not shrink their weights.
    standard_errors_ : ndarray of shape (K, d, d)
        Standard errors of the weights, from effectively independent samples, given the edges.
    probability_ : ndarray of shape (K, d, d)
        Probability that an edge exists with a weight above the threshold, given the order of the
        ROIs and the other edges.
    direction_support_ : ndarray of shape (K, d, d)
        Share of two orders, that of the fit and the one with the edge turned round at all sites
        that have it, that has the edge as it is: near ½ the samples do not tell the direction.
    penalised_weights_ : ndarray of shape (K, d, d)
        Weights that minimise the objective in the orders of the ROIs.
    adjacency_ : ndarray of bool, shape (K, d, d)
        The edges.
    order_ : ndarray of shape (K, d)
        ROIs of each site, causes first.
    converged_ : bool
        Whether the residuals of the final refit fell below ``tol``.
    n_rounds_ : int
        Rounds of the chosen fit.
    history_ : History
        Objective, primal and dual residual, and h in every round.
    certificate_ : Certificate
        Final residuals, h, and the smallest threshold at which the path's end is acyclic.
    parameters_ : Parameters
        λ1, λ2 and κ of the fit; where λ2 = 0 and sites chose different λ1, its mean.
    site_parameters_ : list of Parameters
        λ1, λ2 and κ of each site.
    ties_ : ndarray of shape (K,)
        Log-probability per sample that a site's edges gain by orders that tie it to the others;
        negative where the site fits the others badly. If the sites lose by ties on the whole, all
        keep orders of their own (``certificate_.start`` is ``own``).
    untied_ : ndarray of bool, shape (K,)
        Sites that keep an order of their own because they lose clearly by ties.
    candidates_ : list of Candidate
        The settings that were compared, with their scores (lower is better); None where the
        scores of weaker ties already showed that stronger ones would be worse.
    moments_, effective_samples_ : ndarrays of shape (K, d, d) and (K,)
        Second moments of the sites, and how many independent samples these are worth.
    doubts_ : list of str
        What makes the result doubtful: the path, loud sites, ROIs of different scales, the edge of
        a grid.
    n_features_in_, feature_names_in_ : int, ndarray of shape (d,)
        Number of ROIs, and the names of the samples' columns where these have names.
    """

    # Names of the columns of the samples of this fit.
    _names: list[str] | None = None
    weights_: Array
    standard_errors_: Array
    probability_: Array
    direction_support_: Array
    ties_: Array
    untied_: Mask
    penalised_weights_: Array
    adjacency_: Mask
    order_: npt.NDArray[np.intp]
    converged_: bool
    n_rounds_: int
    history_: History
    certificate_: Certificate
    parameters_: Parameters
    site_parameters_: list[Parameters]
    candidates_: list[Candidate]
    moments_: Array
    effective_samples_: Array
    doubts_: list[str]
    n_features_in_: int
    feature_names_in_: npt.NDArray[np.object_]

    def __init__(
        self,
        penalty: PenaltyName = "edgewise",
        lambda1: float | Auto = "auto",
        lambda2: float | Auto = "auto",
        kappa: float | Auto = "auto",
        *,
        threshold: float = 0.3,
        acyclicity: AcyclicityName = "log-det",
        center: bool = True,
        tol: float = 1e-3,
        max_rounds: int = 300,
        required: Edges = None,
        forbidden: Edges = None,
        tiers: Sequence[int] | None = None,
        progress: bool | None = None,
    ) -> None:
        self.penalty = penalty
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.kappa = kappa
        self.threshold = threshold
        self.acyclicity = acyclicity
        self.center = center
        self.tol = tol
        self.max_rounds = max_rounds
        self.required = required
        self.forbidden = forbidden
        self.tiers = tiers
        self.progress = progress

    def fit(
        self,
        samples: Sequence[npt.ArrayLike],
        *,
        subjects: Sequence[npt.ArrayLike] | None = None,
        runs: Sequence[npt.ArrayLike] | None = None,
    ) -> Self:
        """Learn from samples: one array of shape (n_k, d) per site, with the same d ROIs.

        Rows are samples. Transposed tables are recognised only where the sites have different
        numbers of samples; otherwise they look like scans shorter than the number of ROIs,
        which are fitted.

        Parameters
        ----------
        samples : sequence of array-like
            One table per site.
        subjects : sequence of array-like, optional
            For every site, whose sample each row is, (n_k,). Cross-validation then holds out whole
            subjects, and autocorrelation is measured within subjects. By default the rows of a
            site are one series.
        runs : sequence of array-like, optional
            For every site, of which run each row is, (n_k,), with different labels for different
            subjects. Autocorrelation is then measured within runs.
        """
        self._names = column_names(samples)
        arrays = checked_samples(samples, demean=self.center)
        owners = checked_subjects(subjects, arrays)
        series = checked_subjects(runs, arrays, "runs")
        sites = [
            site_from_samples(x, demean=self.center, subjects=own, runs=theirs)
            for x, own, theirs in zip(arrays, owners, series, strict=True)
        ]
        return self.fit_over(LocalSites(sites))

    def fit_moments(self, moments: Sequence[tuple[npt.ArrayLike, int]]) -> Self:
        """Learn from second moments: one pair (U = xᵀx/n, n) per site.

        n counts as independent samples: for autocorrelated series, pass as many as they are worth.
        Moments cannot be cross-validated: a parameter that would be takes its usual value
        (κ = 1, or the middle λ2 of ``chain``).
        """
        self._names = None
        return self.fit_over(LocalSites([Site(m) for m in checked_moments(moments)]))

    def fit_over(self, sites: Sites) -> Self:
        """Learn from sites that answer requests, such as hospitals on a network."""
        options = self._checked_options()
        given = (self.lambda1, self.lambda2, self.kappa)
        with tqdm(
            desc="NOTEARS-PFL",
            unit=" rounds",
            delay=2,
            disable=None if self.progress is None else not self.progress,
        ) as bar:
            described = sites.describe()
            d = len(described[0].variances)
            options = replace(options, constraints=self._constraints(d))
            # Without ties between the sites, each is fitted alone.
            if self.lambda2 == 0:
                parts = [*zip(sites.alone(), [[site] for site in described], strict=True)]
            else:
                parts = [(sites, described)]
            solutions, parameters, candidates, moments = [], [], [], []
            for part, theirs in parts:
                gains = site_gains(theirs)
                U = known_moments(part, theirs, gains, options.rho)
                moments.append(U)
                alike = in_common_units(theirs, gains)
                U = U / gains[:, None, None]
                chosen = select(part, alike, gains, U, given, options, bar.update)
                solutions.append(solve(chosen.problem, alike, U, options, bar.update, chosen.begun))
                parameters += [chosen.parameters] * len(theirs)
                candidates += chosen.candidates
        self.parameters_ = mean_parameters(parameters)
        self.site_parameters_ = parameters
        self.candidates_ = list(dict.fromkeys(candidates))
        self.moments_, self.effective_samples_ = (
            np.concatenate(moments),
            effective_samples(described),
        )
        self.n_features_in_ = d
        if self._names is not None:
            self.feature_names_in_ = np.array(self._names, dtype=object)
        solution = merge(solutions) if len(solutions) > 1 else solutions[0]
        self._keep(solution)
        self.doubts_ = [
            *doubts(
                described, sites.numbers, solution.noise, solution.certificate, candidates, options
            )
        ]
        for doubt in self.doubts_:
            warnings.warn(f"NOTEARS-PFL: {doubt}", DoubtfulFitWarning, stacklevel=3)
        return self

    def redraw(self, U: Array, n: Array) -> Networks:
        """Networks of other samples of these sites, such as a draw of subjects.

        The search over orders and the decision on edges start where this fit ended, which costs
        about a tenth of a fit. Draws that all start from one fit can be compared with each other.

        Parameters
        ----------
        U, n : ndarrays of shape (K, d, d) and (K,)
            Second moments, and how many independent samples they are worth.
        """
        known = self._constraints(U.shape[-1]) or free_constraints(U.shape[-1])
        allowed, required = known.at_sites(len(U))
        return search_from(
            U, n, list(self.order_), self.adjacency_, self.threshold, allowed, required
        )

    def _constraints(self, d: int) -> Constraints | None:
        """Return what is known about the edges of d ROIs, None if nothing is."""
        if self.required is None and self.forbidden is None and self.tiers is None:
            return None
        return checked_constraints(self.required, self.forbidden, self.tiers, d, self._names)

    def _checked_options(self) -> Options:
        """Return the options of the fit, or refuse the settings."""
        for name in ("lambda1", "lambda2", "kappa"):
            value = getattr(self, name)
            if value != "auto" and not (isinstance(value, int | float) and 0 <= value < np.inf):
                msg = f'{name} must be "auto" or a number from 0 up; found {value!r}.'
                raise InputError(msg)
        for name, known in (("penalty", PenaltyName), ("acyclicity", AcyclicityName)):
            if getattr(self, name) not in get_args(known):
                options = " or ".join(map(repr, get_args(known)))
                msg = f"{name} must be {options}; found {getattr(self, name)!r}."
                raise InputError(msg)
        if not self.threshold >= 0 or not self.tol > 0 or self.max_rounds < 1:
            msg = (
                "threshold must not be negative, tol must be positive and max_rounds at least 1; "
                f"found {self.threshold}, {self.tol} and {self.max_rounds}."
            )
            raise InputError(msg)
        return Options(
            penalty=self.penalty,
            acyclicity=self.acyclicity,
            threshold=self.threshold,
            tol=self.tol,
            max_rounds=self.max_rounds,
        )

    def _keep(self, solution: Solution) -> None:
        """Publish a solution as attributes, and warn if it did not converge."""
        self.weights_ = solution.weights
        self.standard_errors_ = solution.standard_errors
        self.probability_ = solution.probability
        self.ties_ = solution.ties
        self.untied_ = solution.untied
        self.direction_support_ = solution.direction_support
        self.penalised_weights_ = solution.penalised
        self.adjacency_ = solution.adjacency
        self.order_ = np.array(solution.orders)
        self.converged_ = solution.converged
        self.n_rounds_ = len(solution.history.h)
        self.history_ = solution.history
        self.certificate_ = end = solution.certificate
        if not solution.converged:
            msg = (
                f"NOTEARS-PFL stopped after {self.max_rounds} rounds of its refit with relative "
                f"residuals {end.primal_residual:.1e} (primal) and {end.dual_residual:.1e} (dual), "
                f"above tol = {self.tol:.1e}. Raise max_rounds or tol."
            )
            warnings.warn(msg, NotConvergedWarning, stacklevel=4)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, as scikit-learn expects."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, as scikit-learn expects."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                msg = f"NotearsPFL has no parameter {name!r}; it has {', '.join(known)}."
                raise InputError(msg)
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        """Show the parameters that differ from their defaults."""
        defaults = inspect.signature(type(self)).parameters
        # Masks have no single truth value: compare what is shown.
        values = {k: repr(v) for k, v in self.get_params().items()}
        shown = [f"{k}={v}" for k, v in values.items() if v != repr(defaults[k].default)]
        return f"NotearsPFL({', '.join(shown)})"


def edges_changed_by_reverse_order(fit: NotearsPFL, samples: Sequence[npt.ArrayLike]) -> int | None:
    """Count the edges that change when the sites are fitted in reverse order.

    Only ``chain`` depends on the order of the sites: None for ``edgewise``.
    """
    if fit.penalty == "edgewise":
        return None
    reverse = NotearsPFL(**fit.get_params()).fit(samples[::-1])
    return int((fit.adjacency_ != reverse.adjacency_[::-1]).sum())
