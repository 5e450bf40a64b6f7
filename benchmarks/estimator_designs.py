"""F-score of NOTEARS-PFL on designs of many kinds, beside an earlier version on the same samples.

    OMP_NUM_THREADS=1 python benchmarks/estimator_designs.py [--before COMMIT] [--runs 10]

Every version runs in a process of its own, on the same samples. ``own F`` is the F-score of the
edges that exactly one site has. Nothing was tuned on the streams of the default seed.
"""

import argparse
import time
import warnings

import numpy as np
import pandas as pd
from versions import rows_of, source_of

from notears_pfl import NotearsPFL
from notears_pfl.seeds import stream
from notears_pfl.simulate.graphs import add_edge, erdos_renyi_dag, perturb
from notears_pfl.simulate.metrics import compare_sites
from notears_pfl.simulate.sites import (
    GraphOptions,
    Setting,
    SimulatedSites,
    draw_samples,
    simulate_sites,
    site_weights,
)

# What the mean F must reach, and by how much the F of single sites' edges must rise.
GOALS = {
    "d=20 own": 0.85, "d=30 own": 0.90, "d=50 own": 0.94, "K=64": 0.72, "ER4": 0.90,
    "scale-free": 0.90, "unrelated": 0.94, "outlier": 0.96, "band-limited": 0.96,
}  # fmt: skip
NO_WORSE = ("d=20 shared", "d=30 shared", "d=50 shared")
GAINS = {"single d=30": 0.10, "single d=50": 0.10}


def related(d, design, K=10, n=None, edges_per_variable=1.0):
    """Sites with a perturbed copy of one graph each; n samples per site, by default 0.3 d."""

    def draw(rng):
        setting = Setting(d, K, 3 * d if n is None else K * n, perturbation=0.1)
        return simulate_sites(rng, setting, design, GraphOptions(edges_per_variable, "edges"))

    return draw


def sampled(rng, graphs, n):
    """Draw samples of graphs with weights of the sites' own."""
    weights = site_weights(rng, graphs, "per_site")
    return SimulatedSites(graphs, [draw_samples(rng, W, n) for W in weights])


def scale_free(rng):
    """Ten perturbed copies of a graph by preferential attachment, two parents per variable."""
    d, order, degree = 20, rng.permutation(20), np.ones(20)
    graph = np.zeros((d, d), dtype=bool)
    for t in range(1, d):
        share = degree[:t] / degree[:t].sum()
        for i in rng.choice(t, size=min(2, t), replace=False, p=share):
            graph[order[i], order[t]] = True
            degree[[i, t]] += 1
    return sampled(rng, [perturb(rng, graph, 0.1) for _ in range(10)], 60)


def unrelated(rng):
    """Ten sites with a graph of their own."""
    return sampled(rng, [erdos_renyi_dag(rng, 20) for _ in range(10)], 60)


def outlier(rng):
    """Nine sites with copies of one graph, and one with another."""
    graph = erdos_renyi_dag(rng, 20)
    graphs = [perturb(rng, graph, 0.1) for _ in range(9)]
    return sampled(rng, [*graphs, erdos_renyi_dag(rng, 20)], 60)


def band_limited(rng):
    """Three hundred volumes between 0.02 and 0.16 of the sampling rate: worth 84 samples."""
    graph = erdos_renyi_dag(rng, 20)
    graphs = [perturb(rng, graph, 0.1) for _ in range(10)]
    samples = []
    for W in site_weights(rng, graphs, "per_site"):
        spectrum = np.fft.rfft(rng.standard_normal((300, 20)), axis=0)
        frequency = np.fft.rfftfreq(300)
        spectrum[(frequency < 0.02) | (frequency > 0.16)] = 0
        noise = np.fft.irfft(spectrum, 300, axis=0)
        samples.append(np.linalg.solve(np.eye(20) - W.T, (noise / noise.std()).T).T)
    return SimulatedSites(graphs, samples)


def unequal(rng):
    """Ten sites whose ROIs have noise with standard deviations from 0.5 to 2, the same at all."""
    graph, scale = erdos_renyi_dag(rng, 20), np.exp(rng.uniform(np.log(0.5), np.log(2), size=20))
    graphs = [perturb(rng, graph, 0.1) for _ in range(10)]
    samples = []
    for W in site_weights(rng, graphs, "per_site"):
        noise = scale * rng.standard_normal((60, 20))
        samples.append(np.linalg.solve(np.eye(20) - W.T, noise.T).T)
    return SimulatedSites(graphs, samples)


def standardised(rng):
    """Ten sites whose ROIs all have unit variance, so that scale tells no direction."""
    graph = erdos_renyi_dag(rng, 20)
    sites = sampled(rng, [perturb(rng, graph, 0.1) for _ in range(10)], 60)
    units = [x / np.sqrt((x**2).mean(axis=0)) for x in sites.samples]
    return SimulatedSites(sites.graphs, units)


def single(d):
    """One common graph, and 0.2 d more edges at every site that no other site has."""

    def draw(rng):
        common = erdos_renyi_dag(rng, d)
        taken, graphs = common | common.T | np.eye(d, dtype=bool), []
        for _ in range(10):
            graph = common
            while graph.sum() < common.sum() + round(0.2 * d):
                i, j = rng.integers(d, size=2)
                wider = None if taken[i, j] else add_edge(graph, i, j)
                if wider is not None:
                    graph = wider
                    taken[[i, j], [j, i]] = True
            graphs.append(graph)
        return sampled(rng, graphs, round(0.3 * d))

    return draw


DESIGNS = {
    "d=20 own": related(20, "per_site"), "d=20 shared": related(20, "shared"),
    "d=30 own": related(30, "per_site"), "d=30 shared": related(30, "shared"),
    "d=50 own": related(50, "per_site"), "d=50 shared": related(50, "shared"),
    "K=64": related(50, "per_site", K=64, n=4),
    "ER4": related(20, "per_site", n=60, edges_per_variable=4.0), "scale-free": scale_free,
    "unrelated": unrelated, "outlier": outlier, "band-limited": band_limited,
    "single d=20": single(20), "single d=30": single(30), "single d=50": single(50),
    "unequal noise": unequal, "standardised": standardised,
}  # fmt: skip


def own_edges(graphs):
    """Edges that exactly one site has, (K, d, d)."""
    graphs = np.asarray(graphs) != 0
    return graphs & (graphs.sum(axis=0) == 1)


def measure(seed, runs, names):
    """Fit the version on the path to every design; print one line per fit."""
    warnings.simplefilter("ignore")
    for name in names:
        for run in range(runs):
            sites = DESIGNS[name](stream(seed, "benchmark", "designs", name, str(run)))
            started = time.process_time()
            fit = NotearsPFL(center=False, progress=False).fit(sites.samples)
            seconds = time.process_time() - started
            f = compare_sites(sites.graphs, list(fit.adjacency_)).f_score
            true, found = own_edges(sites.graphs), own_edges(fit.adjacency_)
            own = 2 * (true & found).sum() / max(true.sum() + found.sum(), 1)
            print(name, run, f, own, seconds, sep="\t", flush=True)


def run_version(source, arguments):
    """Rows that the version in the folder ``source`` gives, measured in another process."""
    rows = rows_of(
        source, __file__, "--worker", "--seed", str(arguments.seed), "--runs", str(arguments.runs),
        "--designs", *arguments.designs,
    )  # fmt: skip
    table = pd.DataFrame(rows, columns=["design", "run", "F", "own F", "CPU s"])
    return table.astype({"F": float, "own F": float, "CPU s": float})


def verdicts(now, before):
    """Every goal with its number, and whether it is reached."""
    for name, goal in GOALS.items():
        if name in now.index:
            yield f"{name}: F >= {goal}", now["F"][name], now["F"][name] >= goal
    if before is None:
        return
    for name in NO_WORSE:
        if name in now.index:
            yield (
                f"{name}: F >= {before['F'][name]:.3f}",
                now["F"][name],
                (now["F"][name] >= before["F"][name]),
            )
    for name, gain in GAINS.items():
        if name in now.index:
            rise = now["own F"][name] - before["own F"][name]
            yield f"{name}: own F rises by {gain}", rise, rise >= gain


def main(arguments):
    """Measure both versions and print the table and the verdicts."""
    versions = {}
    for name, commit in {"now": None, "before": arguments.before}.items():
        if name == "now" or commit:
            with source_of(commit) as source:
                versions[name] = run_version(source, arguments)
    means = {
        name: rows.groupby("design", sort=False)[["F", "own F", "CPU s"]].mean()
        for name, rows in versions.items()
    }
    print(pd.concat(means, axis=1).round(3).to_string(), "\n")
    for claim, number, holds in verdicts(means["now"], means.get("before")):
        print(f"{'holds' if holds else 'FAILS'}  {claim}: {number:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", metavar="COMMIT", help="an earlier version to measure too")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--designs", nargs="+", default=list(DESIGNS), choices=list(DESIGNS))
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        measure(arguments.seed, arguments.runs, arguments.designs)
    else:
        main(arguments)
