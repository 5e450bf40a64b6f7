"""One run of an experiment of section 4: simulate the sites, let every method learn, compare."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from notears_pfl.seeds import stream
from notears_pfl.simulate.graphs import Graph, Perturbation, erdos_renyi_dag, perturb
from notears_pfl.simulate.methods import METHODS, MethodOptions, learn
from notears_pfl.simulate.metrics import compare_sites
from notears_pfl.simulate.samples import (
    Array,
    WeightDesign,
    draw_samples,
    site_weights,
    split_evenly,
)
from notears_pfl.simulate.settings import Experiment, Setting, setting_of


@dataclass(frozen=True)
class GraphOptions:
    """How graphs are drawn: edges per variable, and what a perturbation level counts."""

    edges_per_variable: float
    perturbation: Perturbation


@dataclass(frozen=True)
class SimulatedSites:
    """True graphs (K, d, d), and the samples (n_k, d) of every site."""

    graphs: Sequence[Graph]
    samples: Sequence[Array]


def simulate_sites(
    rng: np.random.Generator, setting: Setting, design: WeightDesign, options: GraphOptions
) -> SimulatedSites:
    """Draw a graph, its perturbed copies, their weights and their samples."""
    truth = erdos_renyi_dag(rng, setting.n_variables, options.edges_per_variable)
    graphs = [
        perturb(rng, truth, setting.perturbation, options.perturbation)
        for _ in range(setting.n_sites)
    ]
    weights = site_weights(rng, graphs, design)
    sizes = split_evenly(setting.n_samples, setting.n_sites)
    samples = [draw_samples(rng, W, n) for W, n in zip(weights, sizes, strict=True)]
    return SimulatedSites(graphs, samples)


def simulate_run(
    experiment: Experiment,
    value: int,
    design: WeightDesign,
    run: int,
    *,
    seed: int,
    graph_options: GraphOptions,
    purpose: str = "report",
) -> SimulatedSites:
    """Simulate the sites of one run.

    ``purpose`` names the random stream: what was tuned on one purpose never saw another's
    samples.
    """
    rng = stream(seed, "simulation", purpose, experiment, str(value), design, str(run))
    return simulate_sites(rng, setting_of(experiment, value), design, graph_options)


def score_method(method: str, sites: SimulatedSites, options: MethodOptions) -> dict[str, float]:
    """Metrics of a method, its CPU seconds for all sites, and the share of fits that converged."""
    started = time.process_time()
    learned = learn(method, sites.samples, options)
    seconds = time.process_time() - started
    scores = asdict(compare_sites(sites.graphs, list(learned.graphs)))
    return scores | {"cpu_seconds": seconds, "converged": learned.converged}


def run_simulation(
    experiment: Experiment,
    value: int,
    design: WeightDesign,
    run: int,
    *,
    seed: int,
    graph_options: GraphOptions,
    method_options: MethodOptions,
    methods: Sequence[str] = tuple(METHODS),
    purpose: str = "report",
) -> pd.DataFrame:
    """Simulate once and let the methods learn from the same samples, one row per method."""
    sites = simulate_run(
        experiment, value, design, run, seed=seed, graph_options=graph_options, purpose=purpose
    )
    setting = asdict(setting_of(experiment, value))
    identity = {"experiment": experiment, "value": value, "weights": design, "run": run} | setting
    return pd.DataFrame(
        [identity | {"method": m} | score_method(m, sites, method_options) for m in methods]
    )
