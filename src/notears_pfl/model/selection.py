"""Choose λ1, λ2 and κ from the data alone; sites return scores, never samples.

λ follows from the numbers of sites, ROIs and samples: it must exceed what noise alone adds to the
gradient of the loss. The remaining parameter (κ for ``edgewise``; λ2 for ``chain``, with the λ1 of
one site and of all sites pooled) is cross-validated inside every site, in orders of the ROIs: with
many samples in the sites' consensus order, which needs no fit
(:func:`notears_pfl.model.orders.consensus_order`), with few in those of a pilot fit, because the
consensus then favours strong ties. For each candidate and fold the refit runs without the held-out
samples, each site returns the squared residuals of its own, summed per ROI, and the score of a
candidate is

    Σ_j log Σ_k (squared residuals of ROI j at site k)

which is, up to constants, minus the held-out Gaussian log-likelihood.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

import numpy as np

from notears_pfl.model.constraints import free_constraints
from notears_pfl.model.coordinator import effective_samples, site_orders
from notears_pfl.model.evidence import FEW
from notears_pfl.model.federation import Description, Sites
from notears_pfl.model.orders import consensus_order
from notears_pfl.model.problem import (
    Array,
    Order,
    Parameters,
    PenaltyName,
    penalty_terms,
    row_scale,
)
from notears_pfl.model.solver import (
    BegunPath,
    ConsensusProblem,
    Log,
    Options,
    begin_path,
    follow_path,
    refit,
)

Auto = Literal["auto"]
KAPPAS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
# That of the pilot, and of a fit without cross-validation.
USUAL_KAPPA = 1.0
# Chain: λ2 in units of the difference that noise makes between neighbouring sites.
FUSIONS = (0.1, 0.3, 1.0, 3.0, 10.0)
USUAL_FUSION = 1.0
# Cross-validation compares candidates, so its refits may stop early.
CV_TOL, CV_ROUNDS = 5e-3, 40
# The pilot only provides orders for cross-validation: it skips stages of the path.
PILOT_STRIDE = 4


@dataclass(frozen=True)
class Candidate:
    """One setting of the comparison; lower scores are better, None means not scored."""

    parameters: Parameters
    score: float | None


@dataclass(frozen=True)
class Selection:
    """The chosen parameters, the problem that they pose, and all candidates with their scores.

    ``begun`` is the first stage of the problem's path where the pilot has run it.
    """

    parameters: Parameters
    problem: ConsensusProblem
    candidates: list[Candidate]
    begun: BegunPath | None = None


def select(
    sites: Sites,
    described: Sequence[Description],
    gains: Array,
    U: Array,
    given: tuple[float | Auto, float | Auto, float | Auto],
    options: Options,
    tick: Callable[[], None] = lambda: None,
) -> Selection:
    """Choose what is ``auto`` among λ1, λ2 and κ.

    Parameters
    ----------
    sites : Sites
        The sites that answer.
    described : sequence of Description
        What the sites said about themselves, in common units.
    gains : ndarray of shape (K,)
        Units of the sites' variances.
    U : ndarray of shape (K, d, d)
        Moments of the sites, in common units.
    given : tuple
        λ1, λ2 and κ, each a number or ``auto``.
    options : Options
        All other settings.
    tick : callable
        Called after every round.
    """
    settings, usual = candidates(options.penalty, *given, described)
    variances = np.array([site.variances for site in described])
    noise = noise_variance(described)
    problems = []
    for setting in settings:
        terms = penalty_terms(options.penalty, setting)
        problems.append(ConsensusProblem(sites, terms, row_scale(terms, variances), noise, gains))

    scores: Sequence[float | None] = [None] * len(settings)
    chosen, begun = usual, None
    if len(settings) > 1 and (folds := n_folds(described)):
        if typical_samples(described) >= FEW * U.shape[-1]:
            known = options.constraints or free_constraints(U.shape[-1])
            orders = [known.order(consensus_order(U))] * len(U)
        else:
            begun = begin_path(problems[usual], options, tick)
            shorter = replace(options, path=options.path[::PILOT_STRIDE])
            Z = follow_path(problems[usual], shorter, Log(tick), begun)
            orders = site_orders(Z, variances, options.path_threshold)
        scores = cross_validate(problems, settings, orders, folds, options, Log(tick))
        chosen = int(np.argmin([np.inf if score is None else score for score in scores]))
    compared = [Candidate(*pair) for pair in zip(settings, scores, strict=True)]
    reused = begun if chosen == usual else None
    return Selection(settings[chosen], problems[chosen], compared, reused)


def sparsity_level(n_sites: int, n_rois: int, n_samples: float) -> float:
    """Weight λ of a group norm over ``n_sites`` that noise does not exceed.

    A group of pure noise has a norm of about √K + √(2 ln(number of groups)), in units of
    1/√n; the floor keeps out edges that large samples make significant but not relevant.
    """
    noise = np.sqrt(n_sites) + np.sqrt(2 * np.log(n_rois * (n_rois - 1)))
    return float(max(0.2 * noise / np.sqrt(n_samples), 0.1 * np.sqrt(n_sites)))


def typical_samples(sites: Sequence[Description]) -> float:
    """Median of the sites' effective samples: a tiny site does not set the sparsity of all."""
    return float(np.median(effective_samples(sites)))


def noise_variance(sites: Sequence[Description]) -> float:
    """Estimate the variance of the noise from the lower ROI variances.

    With equal noise, an ROI without causes has the variance of the noise, and no ROI has less.
    The median over sites ignores the few sites where it does have a cause. λ thus follows the
    units of the samples.
    """
    typical = np.median([site.variances for site in sites], axis=0)
    return float(np.quantile(typical, 0.2))


def candidates(
    penalty: PenaltyName,
    lambda1: float | Auto,
    lambda2: float | Auto,
    kappa: float | Auto,
    sites: Sequence[Description],
) -> tuple[list[Parameters], int]:
    """Return the settings to compare and the usual one's index; ties grow at each λ1."""
    K, d, n_samples = len(sites), len(sites[0].variances), typical_samples(sites)
    noise = noise_variance(sites)
    alone = noise * sparsity_level(1, d, n_samples)
    separate = lambda2 == 0
    if penalty == "edgewise":
        l1 = (alone if separate else 0.0) if lambda1 == "auto" else lambda1
        l2 = noise * sparsity_level(K, d, n_samples) if lambda2 == "auto" else lambda2
        if kappa != "auto" or separate or K == 1:
            return [Parameters(l1, l2, 0.0 if kappa == "auto" else kappa)], 0
        return [Parameters(l1, l2, k) for k in KAPPAS], KAPPAS.index(USUAL_KAPPA)
    l1 = alone if lambda1 == "auto" else lambda1
    if lambda2 != "auto" or K == 1:
        return [Parameters(l1, 0.0 if lambda2 == "auto" else lambda2, 0.0)], 0
    # Fused sites have the noise of all samples together, and need less sparsity.
    pooled = noise * sparsity_level(1, d, K * n_samples)
    # With large samples both are at the floor: one ladder then, not two equal ones.
    sparsities = list(dict.fromkeys([alone, pooled])) if lambda1 == "auto" else [lambda1]
    unit = noise * d / np.sqrt(n_samples)
    settings = [Parameters(l1, float(unit * f), 0.0) for l1 in sparsities for f in FUSIONS]
    return settings, FUSIONS.index(USUAL_FUSION)


def n_folds(sites: Sequence[Description]) -> int:
    """Return the number of folds: three, two for tiny sites, none where a site kept no samples."""
    if not all(site.has_samples for site in sites):
        return 0
    return 3 if min(site.n for site in sites) >= 6 else 2


def cross_validate(
    problems: Sequence[ConsensusProblem],
    settings: Sequence[Parameters],
    orders: Sequence[Order],
    folds: int,
    options: Options,
    log: Log,
) -> list[float | None]:
    """Score the candidates' problems by their held-out residuals, given the sites' orders.

    Candidates of one λ1 form a ladder from the weakest to the strongest ties; after two steps
    in a row that raise the score, the rest of the ladder is not scored.
    """
    sites = problems[0].sites
    sites.split(folds)
    loose = replace(options, tol=CV_TOL, max_rounds=CV_ROUNDS)
    scores: list[float | None] = [None] * len(problems)
    for _, ladder in groupby(range(len(problems)), key=lambda index: settings[index].lambda1):
        starts: list[Array | None] = [None] * folds
        last, rises = np.inf, 0
        for index in ladder:
            residuals = np.zeros(len(problems[0].D))
            for fold in range(folds):
                # Start from the step below or, on the lowest, from the fold before.
                start = starts[fold] if starts[fold] is not None else starts[fold - 1]
                ended = refit(problems[index], orders, loose, log, fold=fold, start=start)
                starts[fold] = ended.T
                held_out = np.array(sites.score(ended.Z[0], fold))
                residuals += (held_out / problems[index].gains[:, None]).sum(axis=0)
            score = float(np.log(residuals).sum())
            rises = rises + 1 if score > last else 0
            scores[index] = last = score
            if rises == 2:
                break
    return scores
