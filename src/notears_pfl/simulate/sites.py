"""Simulated sites: the settings of section 4, and samples of x = xW + e (Eq. 4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from notears_pfl.errors import InputError
from notears_pfl.simulate.graphs import Graph, Perturbation, erdos_renyi_dag, perturb

Array = NDArray[np.float64]
Experiment = Literal["variables", "sites", "perturbation"]
EXPERIMENTS: tuple[Experiment, ...] = get_args(Experiment)
WeightDesign = Literal["per_site", "shared"]


@dataclass(frozen=True)
class Setting:
    """One point of an experiment."""

    n_variables: int
    n_sites: int
    n_samples: int
    perturbation: float


def setting_of(experiment: Experiment, value: int) -> Setting:
    """Return the setting of ``experiment`` at ``value``: d, K, or the perturbation in percent."""
    match experiment:
        case "variables":
            return Setting(value, n_sites=10, n_samples=3 * value, perturbation=0.1)
        case "sites":
            return Setting(50, n_sites=value, n_samples=256, perturbation=0.1)
        case "perturbation":
            return Setting(30, n_sites=10, n_samples=90, perturbation=value / 100)


def list_runs(preset: Mapping[str, Any], designs: Sequence[str]) -> pd.DataFrame:
    """List the runs of a preset, one row each: experiment, value, weights, run (from 1).

    ``preset`` holds the values of each experiment and the number of ``runs`` at each of them.
    """
    return pd.DataFrame(
        [
            (experiment, value, design, run)
            for experiment in EXPERIMENTS
            for value in preset[experiment]
            for design in designs
            for run in range(1, preset["runs"] + 1)
        ],
        columns=["experiment", "value", "weights", "run"],
    )


@dataclass(frozen=True)
class GraphOptions:
    """How to draw graphs: edges per variable, and the unit of the perturbation level."""

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


def draw_weights(rng: np.random.Generator, d: int) -> Array:
    """Draw a weight for every ordered pair, uniform on [−2, −0.5] ∪ [0.5, 2]."""
    size = rng.uniform(0.5, 2.0, size=(d, d))
    return np.where(rng.random((d, d)) < 0.5, -size, size)


def site_weights(rng: np.random.Generator, graphs: Sequence[Graph], design: WeightDesign) -> Array:
    """Weights of shape (K, d, d) on the sites' graphs.

    With ``per_site`` every site draws its own weights, as in the paper; with ``shared`` an edge
    has the same weight at all sites that have it.
    """
    d = len(graphs[0])
    if design == "shared":
        return np.stack(graphs) * draw_weights(rng, d)
    return np.stack([graph * draw_weights(rng, d) for graph in graphs])


def draw_samples(rng: np.random.Generator, weights: Array, n: int) -> Array:
    """Draw ``n`` samples of the network ``weights`` with standard Gaussian noise, shape (n, d)."""
    d = len(weights)
    noise = rng.standard_normal((n, d))
    return np.linalg.solve(np.eye(d) - weights.T, noise.T).T.astype(float)


def split_evenly(n_samples: int, n_sites: int) -> list[int]:
    """Split ``n_samples`` over the sites; any remainder goes to the first sites, one each."""
    share, rest = divmod(n_samples, n_sites)
    if share < 2:
        msg = (
            f"{n_samples} samples over {n_sites} sites: needed at least 2 per site, found {share}. "
            "Use more samples or fewer sites."
        )
        raise InputError(msg)
    return [share + (k < rest) for k in range(n_sites)]
