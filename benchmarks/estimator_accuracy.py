"""Accuracy of NOTEARS-PFL beside SIG, AVG and ADMM, on samples that nothing was tuned on.

    OMP_NUM_THREADS=1 python benchmarks/estimator_accuracy.py [--runs 10] [--rows accuracy.tsv]

Every finished row is appended to ``--rows`` at once, and rows that it holds are not computed
again: the benchmark can be stopped, resumed, and split over methods and machines. The verdicts
are those of the rows that are there.
"""

import argparse
from pathlib import Path

import pandas as pd
import yaml

from notears_pfl.simulate.experiments import (
    METHODS,
    MethodOptions,
    Run,
    score_method,
    simulate_run,
)
from notears_pfl.simulate.metrics import LOWER_IS_BETTER
from notears_pfl.simulate.metrics import METRICS as METRIC_NAMES
from notears_pfl.simulate.sites import GraphOptions, SimulatedSites

POINTS = [
    *(("variables", d, design) for d in (20, 30, 50) for design in ("per_site", "shared")),
    *(("perturbation", p, "per_site") for p in (20, 30)),
    *(("sites", K, "per_site") for K in (16, 64)),
]
METRICS = list(METRIC_NAMES)
GRAPHS = GraphOptions(edges_per_variable=1.0, perturbation="edges")
POINT = ["experiment", "value", "weights"]
KEY = ["seed", *POINT, "run", "method"]
OURS, BASELINES = "pfl_edgewise", ["sig", "avg", "admm"]


def read_rows(path):
    """Rows that earlier calls finished."""
    return pd.read_csv(path, sep="\t") if path.exists() else pd.DataFrame(columns=KEY)


def complete(path, points, methods, options, arguments):
    """Compute the rows that ``path`` lacks and append each as soon as it is there."""
    done = set(read_rows(path)[KEY].itertuples(index=False, name=None))
    for point in points:
        for run in range(1, arguments.runs + 1):
            missing = [m for m in methods if (arguments.seed, *point, run, m) not in done]
            if not missing:
                continue
            sites = simulate_run(
                Run(*point, run), seed=arguments.seed, graph_options=GRAPHS, purpose="benchmark"
            )
            for method in missing:
                scored = first_sites(sites, arguments.sig_sites if method == "sig" else None)
                row = dict(zip(KEY, (arguments.seed, *point, run, method), strict=True))
                row |= {"sites_scored": len(scored.graphs)}
                row |= score_method(method, scored, options)
                pd.DataFrame([row]).to_csv(
                    path, sep="\t", mode="a", header=not path.exists(), index=False
                )


def first_sites(sites, n):
    """Keep the first n sites, or all: enough for a method that fits each site by itself."""
    return SimulatedSites(sites.graphs[:n], sites.samples[:n])


def print_point(point, rows):
    """Print the means over runs at one point."""
    table = rows.groupby("method")[[*METRICS, "cpu_seconds", "sites_scored"]].mean()
    table.insert(0, "runs", rows.groupby("method").size())
    print(f"\n{point[0]} = {point[1]}, weights {point[2]}")
    print(table.reindex([m for m in METHODS if m in table.index]).round(3).to_string())


def verdicts(means):
    """Every claim with the numbers it rests on, and whether it holds: (claim, numbers, bool)."""
    for point, table in means.items():
        experiment, value, design = point
        if OURS not in table.index or not set(BASELINES) <= set(table.index):
            yield f"{point}: all methods", "rows are missing", False
            continue
        ours, theirs = table.loc[OURS], table.loc[BASELINES]
        place = f"{experiment} = {value}, {design}"
        if design == "per_site":
            names = METRICS if experiment == "variables" else ["f_score"]
            for name in names:
                sign = -1 if name in LOWER_IS_BETTER else 1
                best = (sign * theirs[name]).max() * sign
                ahead = sign * (ours[name] - best) > 0
                yield f"{place}: better {name}", f"{ours[name]:.3f}, best {best:.3f}", ahead
        else:
            best = theirs["f_score"].max()
            numbers = f"{ours['f_score']:.3f}, best {best:.3f}"
            yield f"{place}: F at most .01 behind", numbers, ours["f_score"] >= best - 0.01
        if (experiment, value) == ("variables", 50):
            goal = 0.90 if design == "per_site" else 0.88
            yield f"{place}: F >= {goal}", f"{ours['f_score']:.3f}", ours["f_score"] >= goal


def report(rows):
    """Print the table of every point, then the verdicts."""
    means = {}
    for point in POINTS:
        here = rows[(rows[POINT] == list(point)).all(axis=1)]
        if len(here):
            print_point(point, here)
            means[point] = here.groupby("method")[METRICS].mean()
    print("\nSIG is scored on the first sites of a run where sites_scored says fewer than K.\n")
    for claim, numbers, holds in verdicts(means):
        print(f"{'holds' if holds else 'FAILS'}  {claim}: {numbers}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    # Seeds 1 and 2 were looked at while the estimator was made.
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--rows", type=Path, default=Path("accuracy.tsv"))
    parser.add_argument("--only", nargs="+", choices=["variables", "sites", "perturbation"])
    parser.add_argument("--values", nargs="+", type=int, help="of d, K or p_l; all")
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--sig-sites", type=int, help="sites of a run to score SIG on; all")
    parser.add_argument("--config", default="config/config.yaml")
    arguments = parser.parse_args()
    with open(arguments.config) as file:
        options = MethodOptions(**yaml.safe_load(file)["simulation"]["methods"])
    points = [
        point
        for point in POINTS
        if point[0] in (arguments.only or point) and point[1] in (arguments.values or point)
    ]
    complete(arguments.rows, points, arguments.methods, options, arguments)
    rows = read_rows(arguments.rows)
    report(rows[(rows["seed"] == arguments.seed) & (rows["run"] <= arguments.runs)])
