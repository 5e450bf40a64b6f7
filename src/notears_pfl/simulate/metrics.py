"""The paper's four metrics of a learned graph (section 4, appendix C), summarised over runs.

A positive is an ordered pair (i, j), i ≠ j, with an edge i → j. An edge learned in the wrong
direction counts as a false positive and a false negative, but as one step of the Hamming distance.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from notears_pfl.simulate.graphs import Graph

SETTING = ["experiment", "value", "weights"]
METRICS = ("error", "shd", "precision", "f_score")
LOWER_IS_BETTER = frozenset({"error", "shd"})


@dataclass(frozen=True)
class Metrics:
    """Difference between a learned graph and the true one.

    Attributes
    ----------
    error : float
        (FP + FN) / (TP + TN + FP + FN); the denominator is d(d − 1).
    shd : float
        Structural Hamming distance: edges to add, delete or reverse.
    precision : float
        TP / (TP + FP); 0 if no edge was learned but the true graph has edges.
    f_score : float
        2 TP / (2 TP + FP + FN), the harmonic mean of precision and recall.
    """

    error: float
    shd: float
    precision: float
    f_score: float


def compare(true: Graph, learned: Graph) -> Metrics:
    """Compare one learned graph with the true one, both of shape (d, d)."""
    true, learned = true != 0, learned != 0
    d = len(true)
    true_positive = int((true & learned).sum())
    false_positive = int((learned & ~true).sum())
    false_negative = int((true & ~learned).sum())
    wrong = false_positive + false_negative
    # A pair that differs is one step, whether in one direction or in both.
    differs = true != learned
    steps = int(np.triu(differs | differs.T, k=1).sum())
    n_learned = true_positive + false_positive
    return Metrics(
        error=wrong / (d * (d - 1)),
        shd=float(steps),
        precision=true_positive / n_learned if n_learned else float(not true.any()),
        f_score=2 * true_positive / (2 * true_positive + wrong) if true_positive + wrong else 1.0,
    )


def compare_sites(true: Sequence[Graph], learned: Sequence[Graph]) -> Metrics:
    """Mean of each metric over the sites."""
    per_site = [asdict(compare(t, g)) for t, g in zip(true, learned, strict=True)]
    return Metrics(**{name: float(np.mean([m[name] for m in per_site])) for name in per_site[0]})


def long_form(runs: pd.DataFrame) -> pd.DataFrame:
    """Reshape one row per run and method to one row per run, method and metric."""
    identity = [*SETTING, "run", "n_variables", "n_sites", "n_samples", "perturbation", "method"]
    return runs.melt(identity, list(METRICS), var_name="metric", value_name="score")


def wins(metrics: pd.DataFrame) -> pd.DataFrame:
    """Find the best method for every setting and metric.

    Parameters
    ----------
    metrics : DataFrame
        From :func:`long_form`.

    Returns
    -------
    DataFrame
        One row per setting and metric: the ``best`` method by its mean over runs, the
        ``second``, the ``lead`` between the two (positive, in units of the metric), the
        ``lead_standard_error`` of the paired differences over runs, the number of ``runs``, and
        the mean of every method.
    """
    rows = []
    for key, scores in metrics.groupby([*SETTING, "metric"], sort=False):
        setting = dict(zip([*SETTING, "metric"], key, strict=True))
        by_run = scores.pivot(index="run", columns="method", values="score")
        methods = scores["method"].unique()
        means = by_run.mean()[methods]
        sign = -1 if setting["metric"] in LOWER_IS_BETTER else 1
        best, second = (sign * means).sort_values(ascending=False, kind="stable").index[:2]
        lead = sign * (by_run[best] - by_run[second])
        rows.append(
            setting
            | {"best": best, "second": second, "lead": lead.mean()}
            | {"lead_standard_error": lead.sem(), "runs": len(by_run)}
            | means.to_dict()
        )
    table = pd.DataFrame(rows)
    # Keep the four metrics of a setting together, and settings in the order of their runs.
    settings = table.groupby(SETTING, sort=False).ngroup()
    return table.loc[settings.sort_values(kind="stable").index].reset_index(drop=True)


def cost(runs: pd.DataFrame) -> pd.DataFrame:
    """CPU seconds of each method for all sites of a setting, and how often it converges."""
    return (
        runs.groupby([*SETTING, "method"], sort=False)
        .agg(
            runs=("run", "count"),
            cpu_seconds=("cpu_seconds", "mean"),
            cpu_seconds_min=("cpu_seconds", "min"),
            cpu_seconds_max=("cpu_seconds", "max"),
            converged=("converged", "mean"),
        )
        .reset_index()
    )
