"""The experiments of section 4: simulate the sites, fit every method, compare with the truth."""

import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from notears_pfl.baselines import BaselineFit, notears, notears_admm, notears_average
from notears_pfl.errors import DoubtfulFitWarning, NotConvergedWarning
from notears_pfl.model.estimator import NotearsPFL
from notears_pfl.model.problem import PenaltyName
from notears_pfl.seeds import stream
from notears_pfl.simulate.graphs import Graph
from notears_pfl.simulate.metrics import compare_sites
from notears_pfl.simulate.sites import (
    Array,
    Experiment,
    GraphOptions,
    SimulatedSites,
    WeightDesign,
    setting_of,
    simulate_sites,
)


@dataclass(frozen=True)
class MethodOptions:
    """Settings of the methods.

    Attributes
    ----------
    threshold : float
        Every method drops edges with ``abs(weight) <= threshold``; NOTEARS-PFL those that do not
        exceed it more probably than not (see ``model.evidence``).
    sig_sparsity, avg_sparsity, admm_sparsity : float
        c in λ1 = c √(ln d / n), the weight of the baselines' ℓ1 norm; n is the number of samples
        that a method fits together: those of one site for SIG, of all sites for AVG and ADMM. The
        noise in a moment falls as 1/√n, so one c fits every setting. NOTEARS-PFL chooses its own λ.
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
    """Run one of :data:`METHODS`; the result records non-convergence, without a warning.

    The simulated model has no intercept, and a site may have as few as three samples, so no method
    removes the mean.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        warnings.simplefilter("ignore", DoubtfulFitWarning)
        return METHODS[method](samples, options)


def _pfl(penalty: PenaltyName, samples: Sequence[Array], options: MethodOptions) -> Learned:
    model = NotearsPFL(penalty, threshold=options.threshold, center=False, progress=False)
    model.fit(samples)
    return Learned(model.adjacency_, float(model.converged_))


def _separate(samples: Sequence[Array], options: MethodOptions) -> Learned:
    """One network per site, each from its own samples."""
    c, tolerance = options.sig_sparsity, options.notears_tolerance
    fits = [_baseline(notears, x, [x], c, tolerance, options) for x in samples]
    graphs = np.stack([fit.weights != 0 for fit in fits])
    return Learned(graphs, float(np.mean([fit.converged for fit in fits])))


def _average(samples: Sequence[Array], options: MethodOptions) -> Learned:
    c, tolerance = options.avg_sparsity, options.notears_tolerance
    return _shared(_baseline(notears_average, samples, samples, c, tolerance, options), samples)


def _admm(samples: Sequence[Array], options: MethodOptions) -> Learned:
    c, tolerance = options.admm_sparsity, options.admm_tolerance
    return _shared(_baseline(notears_admm, samples, samples, c, tolerance, options), samples)


def _baseline(
    method: Callable[..., BaselineFit], data: Any, samples: Sequence[Array], c: float,
    tolerance: float, options: MethodOptions,
) -> BaselineFit:  # fmt: skip
    """Fit ``data`` with λ1 = c √(ln d / n), where n is the number of ``samples`` in it."""
    n, d = sum(len(x) for x in samples), samples[0].shape[1]
    lambda1 = c * math.sqrt(math.log(d) / n)
    return method(
        data, lambda1=lambda1, threshold=options.threshold, center=False, tolerance=tolerance
    )


def _shared(fit: BaselineFit, samples: Sequence[Array]) -> Learned:
    """Use the same network for every site."""
    return Learned(np.stack([fit.weights != 0] * len(samples)), float(fit.converged))


METHODS: Mapping[str, Callable[[Sequence[Array], MethodOptions], Learned]] = {
    "pfl_edgewise": partial(_pfl, "edgewise"),
    "pfl_chain": partial(_pfl, "chain"),
    "sig": _separate,
    "avg": _average,
    "admm": _admm,
}


@dataclass(frozen=True)
class Run:
    """One run of an experiment, as in the columns of its table; ``run`` counts from 1."""

    experiment: Experiment
    value: int
    weights: WeightDesign
    run: int


def simulate_run(
    run: Run, *, seed: int, graph_options: GraphOptions, purpose: str = "report"
) -> SimulatedSites:
    """Simulate the sites of one run.

    ``purpose`` names the random stream, so methods tuned for one purpose have never seen the
    samples of another.
    """
    rng = stream(seed, "simulation", purpose, *map(str, asdict(run).values()))
    return simulate_sites(rng, setting_of(run.experiment, run.value), run.weights, graph_options)


def score_method(method: str, sites: SimulatedSites, options: MethodOptions) -> dict[str, float]:
    """Metrics of a method, its CPU seconds for all sites, and the share of fits that converged."""
    started = time.process_time()
    learned = learn(method, sites.samples, options)
    seconds = time.process_time() - started
    scores = asdict(compare_sites(sites.graphs, list(learned.graphs)))
    return scores | {"cpu_seconds": seconds, "converged": learned.converged}


def run_simulation(
    run: Run, *, seed: int, graph_options: GraphOptions, method_options: MethodOptions,
    methods: Sequence[str] = tuple(METHODS), purpose: str = "report",
) -> pd.DataFrame:  # fmt: skip
    """Simulate once and fit all methods to the same samples; one row per method."""
    sites = simulate_run(run, seed=seed, graph_options=graph_options, purpose=purpose)
    identity = asdict(run) | asdict(setting_of(run.experiment, run.value))
    return pd.DataFrame(
        [identity | {"method": m} | score_method(m, sites, method_options) for m in methods]
    )
