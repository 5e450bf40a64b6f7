"""CPU time of NOTEARS-PFL beside NOTEARS and NOTEARS-ADMM, and how it grows with d and K.

OMP_NUM_THREADS=1 python benchmarks/estimator_speed.py [--runs 10] [--grid]
"""

import argparse
import time
import warnings

import numpy as np
import pandas as pd

from notears_pfl import NotearsPFL
from notears_pfl.baselines import notears, notears_admm
from notears_pfl.errors import DoubtfulFitWarning, NotConvergedWarning
from notears_pfl.model.problem import LogDeterminant
from notears_pfl.model.solver import Options
from notears_pfl.seeds import stream
from notears_pfl.simulate.metrics import compare_sites
from notears_pfl.simulate.sites import GraphOptions, Setting, simulate_sites

GRAPHS = GraphOptions(edges_per_variable=1.0, perturbation="edges")


def simulate(d, K, n, run):
    """Sites with per-site weights, from streams that nothing was tuned on."""
    rng = stream(1, "benchmark", "speed", str(d), str(K), str(n), str(run))
    return simulate_sites(rng, Setting(d, K, K * n, perturbation=0.1), "per_site", GRAPHS)


def cpu_seconds(fit, samples):
    """CPU time of ``fit(samples)``, and what it returned."""
    started = time.process_time()
    result = fit(samples)
    return time.process_time() - started, result


def compare_methods(runs):
    """Time and distance to the truth at d = 56, K = 5, n = 10,000 per site."""
    methods = {
        "PFL": lambda xs: NotearsPFL(center=False, progress=False).fit(xs).adjacency_,
        "PFL, given λ and κ": lambda xs: (
            NotearsPFL(kappa=0.0, center=False, progress=False).fit(xs).adjacency_
        ),
        "NOTEARS, site by site": lambda xs: [notears(x, center=False).weights for x in xs],
        "NOTEARS-ADMM": lambda xs: [notears_admm(xs, center=False).weights] * len(xs),
    }
    rows = []
    for run in range(runs):
        sites = simulate(56, 5, 10_000, run)
        for name, method in methods.items():
            seconds, graphs = cpu_seconds(method, sites.samples)
            shd = compare_sites(sites.graphs, list(graphs)).shd
            rows.append({"method": name, "run": run, "cpu_s": seconds, "shd": shd})
            print(f"run {run}: {name}: {seconds:.2f} s CPU, SHD per site {shd:.2f}", flush=True)
    table = pd.DataFrame(rows).groupby("method", sort=False)[["cpu_s", "shd"]].mean()
    table["ratio"] = table["cpu_s"] / table.loc["PFL", "cpu_s"]
    print("\nd = 56, K = 5, n = 10,000 per site, mean of", runs, "runs\n")
    print(table.round(2).to_string(), "\n")
    for name, goal in (("NOTEARS, site by site", 40), ("NOTEARS-ADMM", 10)):
        ratio = table.loc[name, "ratio"]
        print(f"{verdict(ratio >= goal)}  {goal} times below {name}: {ratio:.1f} times")
    ours, theirs = table.loc["PFL", "shd"], table.loc["NOTEARS, site by site", "shd"]
    print(f"{verdict(ours <= theirs)}  SHD no worse than NOTEARS: {ours:.2f}, {theirs:.2f}")


def verdict(holds):
    """Word of a claim that holds, or does not."""
    return "holds" if holds else "FAILS"


def measure_growth(points):
    """Time of a fit with given λ and κ, n = 2,000 per site, at the (d, K) of ``points``."""
    model = NotearsPFL(kappa=0.0, center=False, progress=False)
    rows = []
    for d, K in points:
        samples = simulate(d, K, 2000, 0).samples
        seconds, _ = cpu_seconds(model.fit, samples)
        # One factorisation and inverse per site and round is the least that the path needs.
        floor, _ = cpu_seconds(lambda Z: [LogDeterminant().evaluate(Z, 1.0)], model.weights_ / 4)
        rounds = sum(stage.rounds for stage in Options().path)
        share = floor * rounds / seconds
        rows.append({"d": d, "K": K, "cpu_s": seconds, "rounds": model.n_rounds_, "floor": share})
        print(
            f"d = {d}, K = {K}: {seconds:.1f} s CPU, {model.n_rounds_} rounds, "
            f"inverses {share:.0%}",
            flush=True,
        )
    table = pd.DataFrame(rows)
    cost = table["cpu_s"] / table["rounds"]
    design = np.column_stack([np.ones(len(table)), np.log(table["d"]), np.log(table["K"])])
    exponents = np.linalg.lstsq(design, np.log(cost).to_numpy(), rcond=None)[0]
    print("\nCPU seconds of a fit, λ by the rule, κ = 0 given, n = 2,000 per site\n")
    print(table.pivot_table(index="d", columns="K", values="cpu_s").round(1).to_string())
    print(f"\nper round: d^{exponents[1]:.2f} K^{exponents[2]:.2f}")
    print(
        "bound: per site and round, products and one inverse of d by d matrices, O(K d³); below\n"
        "d of about 100 the passes over K d² numbers and calls weigh as much. n enters once."
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--skip-growth", action="store_true")
    parser.add_argument("--grid", action="store_true", help="growth at all nine (d, K), not five")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", NotConvergedWarning)
    warnings.simplefilter("ignore", DoubtfulFitWarning)
    if arguments.runs:
        compare_methods(arguments.runs)
    if not arguments.skip_growth:
        grid = [(d, K) for d in (56, 116, 300) for K in (5, 16, 64)]
        measure_growth([p for p in grid if arguments.grid or p[0] == 56 or p[1] == 5])
