"""The simulations' figures: four metrics against what an experiment varies, per weight design."""

from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from notears_pfl.report.style import BLACK, BLUE, GREEN, ORANGE, RC, VERMILION

# Label, colour, marker and line of every method; no two differ by colour alone.
METHOD_LOOKS = {
    "pfl_edgewise": ("NOTEARS-PFL, edge-wise", VERMILION, "o", "-"),
    "pfl_chain": ("NOTEARS-PFL, chain", ORANGE, "D", "-"),
    "sig": ("NOTEARS-SIG (each site alone)", BLUE, "s", "--"),
    "avg": ("NOTEARS-AVG (pooled)", GREEN, "^", "-."),
    "admm": ("NOTEARS-ADMM (one consensus)", BLACK, "v", ":"),
}
METRIC_LABELS = {
    "error": "Error (lower is better)",
    "shd": "SHD (lower is better)",
    "precision": "Precision (higher is better)",
    "f_score": "F-score (higher is better)",
}
DESIGN_LABELS = {"per_site": "weights drawn per site", "shared": "weights shared by the sites"}
VALUE_LABELS = {
    "variables": "number of variables d",
    "sites": "number of sites K",
    "perturbation": "perturbation level, %",
}
FIXED = {
    "variables": "K = 10 sites, perturbation 10 %, 0.3 d samples per site",
    "sites": "d = 50 variables, perturbation 10 %, 256 samples over all sites",
    "perturbation": "d = 30 variables, K = 10 sites, 9 samples per site",
}


def simulation_figure(metrics: pd.DataFrame, experiment: str) -> Figure:
    """Draw the four metrics of one experiment, a row of panels per weight design.

    Parameters
    ----------
    metrics : DataFrame
        Long form: ``experiment``, ``value``, ``weights``, ``run``, ``method``, ``metric`` and
        ``score``, the last averaged over the sites of a run.
    experiment : str
        ``variables``, ``sites`` or ``perturbation``.
    """
    shown = metrics[metrics["experiment"] == experiment]
    designs = shown["weights"].unique()
    with mpl.rc_context(RC):
        figure = Figure(figsize=(12, 0.9 + 2.9 * len(designs)))
        rows: Any = figure.subfigures(len(designs), 1, squeeze=False)[:, 0]
        for row, design in zip(rows, designs, strict=True):
            axes = row.subplots(1, len(METRIC_LABELS))
            row.suptitle(DESIGN_LABELS[design], fontsize=10, fontweight="bold")
            for axis, metric in zip(axes, METRIC_LABELS, strict=True):
                of_panel = (shown["weights"] == design) & (shown["metric"] == metric)
                _draw_panel(axis, shown[of_panel], metric, experiment)
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), fontsize=8)
        figure.supxlabel(_caption(shown, experiment), fontsize=8)
    return figure


def _draw_panel(axis: Axes, scores: pd.DataFrame, metric: str, experiment: str) -> None:
    values = np.sort(scores["value"].unique())
    places = np.arange(len(values))
    for offset, (method, (label, colour, marker, line)) in enumerate(METHOD_LOOKS.items()):
        by_value = scores[scores["method"] == method].groupby("value")["score"]
        mean, low, high = by_value.mean(), by_value.min(), by_value.max()
        # The methods stand side by side, so that no bar hides another.
        at = places + 0.08 * (offset - (len(METHOD_LOOKS) - 1) / 2)
        axis.vlines(at, low[values], high[values], color=colour, linewidth=1.5, alpha=0.7)
        axis.plot(
            at, mean[values], color=colour, marker=marker, linestyle=line, label=label,
            markersize=4.5, linewidth=1.3,
        )  # fmt: skip
    axis.set_xticks(places, [str(value) for value in values])
    # With few values the automatic margins would pull the methods apart.
    axis.set_xlim(-0.5, len(values) - 0.5)
    axis.set_xlabel(VALUE_LABELS[experiment])
    axis.set_title(METRIC_LABELS[metric], fontsize=9)
    if metric in ("precision", "f_score"):
        axis.set_ylim(0, 1.02)
    else:
        axis.set_ylim(bottom=0)


def _caption(shown: pd.DataFrame, experiment: str) -> str:
    n_runs = shown["run"].nunique()
    runs = f"n = {n_runs} runs" if n_runs > 1 else "n = 1 run"
    return (
        f"{FIXED[experiment]}. Points: mean over {runs}, each averaged over its sites; "
        "bars: smallest to largest run."
    )
