"""What makes a fit doubtful although it is complete, in sentences that name the cause."""

from collections.abc import Iterator, Sequence

import numpy as np

from notears_pfl.model.federation import Description
from notears_pfl.model.problem import Array
from notears_pfl.model.selection import KAPPAS, Candidate
from notears_pfl.model.solution import Certificate
from notears_pfl.model.solver import Options

# The typical variance of a loud site exceeds that of the others by this factor (or falls below).
LOUD = 10.0
# Noise variances of the ROIs that differ by more than this do not tell directions any more: at
# standard deviations from ¼ to 4 times the typical one, a third of the edges were wrong.
UNEQUAL_NOISE = 50.0
# A path is doubtful where cycles remain above this share of ``order_threshold``, or where its
# residual exceeds ``tol`` by this factor.
ACYCLIC_SHARE, PATH_RESIDUAL = 0.5, 10.0


def doubts(
    described: Sequence[Description], numbers: Sequence[int], noise: Array,
    certificate: Certificate, candidates: Sequence[Candidate], options: Options,
) -> Iterator[str]:  # fmt: skip
    """Yield one sentence per doubt.

    Parameters
    ----------
    described, numbers : sequences
        What the sites said about themselves, and their numbers.
    noise : ndarray of shape (K, d)
        Noise variances of the fit.
    certificate : Certificate
        How well the fit solves its problem.
    candidates : sequence of Candidate
        Settings that were compared.
    options : Options
        Settings of the fit.
    """
    yield from _loud_sites(described, numbers)
    yield from _unequal_noise(noise)
    yield from _path(certificate, options)
    yield from _edge_of_grid(candidates)


def _loud_sites(described: Sequence[Description], numbers: Sequence[int]) -> Iterator[str]:
    typical = np.array([np.median(site.variances) for site in described])
    ratio = typical / np.median(typical)
    for k in np.flatnonzero((ratio > LOUD) | (ratio < 1 / LOUD)).tolist():
        yield (
            f"site {numbers[k]}: its typical variance is {ratio[k]:.2g} times that of the median "
            "site. The penalty treats all sites alike, so this site has too much or too little "
            "weight. Scale every site to the same units."
        )


def _unequal_noise(noise: Array) -> Iterator[str]:
    typical = np.median(noise / np.median(noise, axis=1, keepdims=True), axis=0)
    low, high = np.quantile(typical, [0.05, 0.95])
    if high > UNEQUAL_NOISE * low:
        yield (
            f"ROIs differ in scale: their noise variances differ by a factor of {high / low:.0f}. "
            "Directions follow from the scale of the ROIs and cannot be trusted here. Use one unit "
            "for all ROIs, or give every ROI unit variance."
        )


def _path(certificate: Certificate, options: Options) -> Iterator[str]:
    # Orders that do not come from the path do not depend on how it ended.
    if certificate.start not in ("path", "several"):
        return
    limit = ACYCLIC_SHARE * options.order_threshold
    if certificate.acyclic_threshold > limit:
        yield (
            f"the path ended with cycles of weights up to {certificate.acyclic_threshold:.2g}, "
            f"above {limit:.2g}: the order of the ROIs, and so the directions, rest on weights "
            "that are not clear. Look at direction_support_."
        )
    # A finer tolerance than the default is for the weights, not for the path.
    limit = PATH_RESIDUAL * max(options.tol, Options.tol)
    if certificate.path_residual > limit:
        yield (
            f"the path ended with a relative residual of {certificate.path_residual:.2g}, above "
            f"{limit:.2g}: it did not settle, and directions may be those of "
            "another optimum. Look at direction_support_."
        )


def _edge_of_grid(candidates: Sequence[Candidate]) -> Iterator[str]:
    scored = [c for c in candidates if c.score is not None]
    if len(scored) < 2:
        return
    best = min(scored, key=lambda c: c.score or 0.0)
    if best.parameters.kappa == max(KAPPAS):
        yield (
            f"cross-validation chose the largest κ that it compares, {max(KAPPAS):g}: the sites "
            "may share one network. Compare with a fit at a larger κ."
        )
