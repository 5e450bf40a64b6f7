"""Weights and connections of a finished phantom study, against its truth.

    python benchmarks/estimator_phantom.py [STUDY]

STUDY is the folder of the run (the current one unless named). Printed are, for networks from
preprocessed images and from true series: the slope of the reported on the true weights, over the
true edges that were found; the share of these whose interval of ± 1.96 standard errors holds the
true weight; and the F-score of every quantity in results/analysis/truth.tsv. From images a region's
mean mixes its own signal with those of its neighbours and with noise, which the interval does not
know: the slope tells how much.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

SERIES = {"preprocessed": "results/fit", "true": "results/fit/true_series"}
HALF_WIDTH = 1.96


def found_and_true(study: Path, folder: str) -> pd.DataFrame:
    """Find the true edges among the found ones, with both weights and the standard error."""
    rows = []
    for path in sorted((study / folder).glob("group-*_edges.tsv")):
        group = path.name.removeprefix("group-").removesuffix("_edges.tsv")
        for site, edges in pd.read_csv(path, sep="\t").groupby("site"):
            truth = study / f"results/phantom/truth/group-{group}_site-{site}_relmat.tsv"
            true = pd.read_csv(truth, sep="\t", index_col=0).stack().rename("true")
            rows.append(edges.join(true[true != 0], on=["from", "to"], how="inner"))
    return pd.concat(rows)


def main() -> None:
    """Print the table of weights, then the F-scores."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study", type=Path, nargs="?", default=Path())
    study = parser.parse_args().study
    rows = {}
    for name, folder in SERIES.items():
        edges = found_and_true(study, folder)
        weight, true = edges["weight"], edges["true"]
        slope = float(weight @ true / (true @ true))
        inside = (weight - true).abs() <= HALF_WIDTH * edges["standard_error"]
        # As if the slope were known: what is left are the errors of chance.
        chance = (weight - slope * true).abs() <= HALF_WIDTH * edges["standard_error"]
        rows[name] = {
            "edges": len(edges),
            "slope": slope,
            "mean ratio": float(np.mean(weight / true)),
            "coverage": inside.mean(),
            "coverage around the slope": chance.mean(),
        }
    print(pd.DataFrame(rows).T.round(3).to_string(), "\n")
    truth = pd.read_csv(study / "results/analysis/truth.tsv", sep="\t")
    counts = truth.groupby(["series", "quantity"], sort=False)[["n_true", "n_found", "n_correct"]]
    sums = counts.sum()
    sums["F"] = 2 * sums["n_correct"] / (sums["n_true"] + sums["n_found"])
    print(sums.round(3).to_string())


if __name__ == "__main__":
    main()
