"""The methods that the simulations compare: samples of all sites in, a graph per site out."""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from notears_pfl.baselines import BaselineFit, notears, notears_admm, notears_average
from notears_pfl.errors import NotConvergedWarning
from notears_pfl.model.estimator import NotearsPFL
from notears_pfl.simulate.graphs import Graph
from notears_pfl.simulate.samples import Array


@dataclass(frozen=True)
class MethodOptions:
    """Settings of the methods.

    Attributes
    ----------
    threshold : float
        Edges of ``abs(weight) <= threshold`` are dropped, whatever the method.
    sig_sparsity, avg_sparsity, admm_sparsity : float
        c in λ1 = c √(ln d / n), the weight of the baselines' ℓ1 norm, where n counts the samples
        of a site for SIG and of all sites for AVG and ADMM: the noise in a moment falls as
        1/√n, so that one c serves every setting. NOTEARS-PFL chooses from the samples.
    notears_tolerance, admm_tolerance : float
        Relative decrease of the objective at which NOTEARS (SIG and AVG) and NOTEARS-ADMM end
        a subproblem.
    """

    threshold: float
    sig_sparsity: float
    avg_sparsity: float
    admm_sparsity: float
    notears_tolerance: float
    admm_tolerance: float


@dataclass(frozen=True)
class Learned:
    """Graphs of shape (K, d, d), and the share of the method's fits that converged."""

    graphs: Graph
    converged: float


def learn(method: str, samples: Sequence[Array], options: MethodOptions) -> Learned:
    """Run one of :data:`METHODS`; non-convergence is a result here, not a warning.

    The simulated model has no intercept and a site may have three samples: nothing is centred.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        return METHODS[method](samples, options)


def _pfl(penalty: Literal["edgewise", "chain"]) -> Callable[..., Learned]:
    def fit(samples: Sequence[Array], options: MethodOptions) -> Learned:
        model = NotearsPFL(penalty, threshold=options.threshold, center=False, progress=False)
        model.fit(samples)
        return Learned(model.adjacency_, float(model.converged_))

    return fit


def _separate(samples: Sequence[Array], options: MethodOptions) -> Learned:
    fits = [
        notears(
            x,
            lambda1=_lambda1(options.sig_sparsity, [x]),
            threshold=options.threshold,
            center=False,
            tolerance=options.notears_tolerance,
        )
        for x in samples
    ]
    return Learned(
        np.stack([fit.weights != 0 for fit in fits]), float(np.mean([f.converged for f in fits]))
    )


def _average(samples: Sequence[Array], options: MethodOptions) -> Learned:
    fit = notears_average(
        samples,
        lambda1=_lambda1(options.avg_sparsity, samples),
        threshold=options.threshold,
        center=False,
        tolerance=options.notears_tolerance,
    )
    return _everywhere(fit, len(samples))


def _admm(samples: Sequence[Array], options: MethodOptions) -> Learned:
    fit = notears_admm(
        samples,
        lambda1=_lambda1(options.admm_sparsity, samples),
        threshold=options.threshold,
        center=False,
        tolerance=options.admm_tolerance,
    )
    return _everywhere(fit, len(samples))


def _lambda1(sparsity: float, samples: Sequence[Array]) -> float:
    """λ1 = c √(ln d / n) for the samples that a method fits together."""
    n, d = sum(len(x) for x in samples), samples[0].shape[1]
    return sparsity * math.sqrt(math.log(d) / n)


def _everywhere(fit: BaselineFit, n_sites: int) -> Learned:
    """One graph for every site."""
    return Learned(np.stack([fit.weights != 0] * n_sites), float(fit.converged))


METHODS: Mapping[str, Callable[[Sequence[Array], MethodOptions], Learned]] = {
    "pfl_edgewise": _pfl("edgewise"),
    "pfl_chain": _pfl("chain"),
    "sig": _separate,
    "avg": _average,
    "admm": _admm,
}
