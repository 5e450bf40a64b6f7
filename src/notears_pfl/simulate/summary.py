"""What the runs add up to: metrics in long form, who wins where, and what a fit costs."""

import pandas as pd

SETTING = ["experiment", "value", "weights"]
METRICS = ("error", "shd", "precision", "f_score")
LOWER_IS_BETTER = frozenset({"error", "shd"})


def long_form(runs: pd.DataFrame) -> pd.DataFrame:
    """Give one row per run, method and metric, from one row per run and method."""
    identity = [*SETTING, "run", "n_variables", "n_sites", "n_samples", "perturbation", "method"]
    return runs.melt(identity, list(METRICS), var_name="metric", value_name="score")


def wins(metrics: pd.DataFrame) -> pd.DataFrame:
    """Name the best method of every setting and metric.

    Parameters
    ----------
    metrics : DataFrame
        As :func:`long_form` gives it.

    Returns
    -------
    DataFrame
        One row per setting and metric: the ``best`` method by its mean over runs, the
        ``second``, the ``lead`` between the two (positive, in units of the metric), the
        ``lead_standard_error`` from the differences run by run, the number of ``runs``, and
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
    # The four metrics of a setting stand together, settings in the order they were run.
    settings = table.groupby(SETTING, sort=False).ngroup()
    return table.loc[settings.sort_values(kind="stable").index].reset_index(drop=True)


def cost(runs: pd.DataFrame) -> pd.DataFrame:
    """CPU seconds that a method takes for all sites of a setting, and how often it converges."""
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
