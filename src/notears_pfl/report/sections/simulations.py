"""The simulations of the paper's section 4: figures, section of the report and Markdown page."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from notears_pfl.report.figure_style import RC
from notears_pfl.report.page_parts import (
    Caption,
    PageTable,
    Picture,
    Section,
    page_table,
    reason_not_shown,
)
from notears_pfl.report.palette import BLACK, BLUE, GREEN, ORANGE, VERMILION
from notears_pfl.simulate.metrics import LOWER_IS_BETTER

# Label, colour, marker and line style of each method; no two differ by colour alone.
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
CAPTIONS = {
    "simulation": Caption(
        "Four metrics of all methods against: {experiment}",
        "Simulations: {experiment}. Points: means over runs; bars: smallest to largest run.",
        "One method is better than another here where their bars do not overlap; their order may "
        "differ in fMRI, whose volumes are not independent samples.",
    ),
}
# The paper's claims. Its NOTEARS-PFL has the chain penalty; the edge-wise penalty is ours.
OURS = ("pfl_chain", "pfl_edgewise")
BASELINES = ["sig", "avg", "admm"]
CLAIMS_HEAD = ["the paper says", "weights", *(METHOD_LOOKS[method][0] for method in OURS)]
BEST = {
    "variables": "NOTEARS-PFL is best at every number of variables",
    "sites": "NOTEARS-PFL is best at every number of sites",
    "perturbation": "NOTEARS-PFL is best at every perturbation level",
}
ERRORS = "error of NOTEARS-PFL 0.02 to 0.13 over the numbers of variables, of SIG 0.04 to 0.43"
DECLINE = "F-score of SIG and AVG falls rapidly with the number of sites, that of NOTEARS-PFL less"
ADVANTAGE = "the advantage in F-score grows with the perturbation level"
PAGE_TITLE = "# Simulations (section 4 of the paper)"
SEEDS_TEXT = """\
Each random draw comes from a stream named for its purpose. We tuned the settings of the baselines
below, in their favour, on streams named `tune`, and the constants of NOTEARS-PFL on streams named
`tune` and `benchmark`. The results on this page come from streams named `report`, which we used for
no tuning. NOTEARS-PFL chooses its penalties from the samples of each run, without the true
graphs."""
METRICS_TEXT = """\
Scores compare directed edges (ordered pairs of variables) with the true graph of each site, and are
averaged over sites, then over runs. A reversed edge counts as one false positive and one false
negative in error, precision and F-score, and as one step in the structural Hamming distance (SHD).
An estimated graph without edges has precision 0."""
METHODS_TEXT = """\
All methods drop edges of absolute weight {threshold} or less, then the weakest edges until no cycle
is left. The weight of the l1 norm is c √(ln d / n): c = {sig_sparsity} for SIG, where n is the
number of samples of a site; c = {avg_sparsity} for AVG and {admm_sparsity} for ADMM, where n is the
number of samples of all sites. L-BFGS-B ends a subproblem when the objective decreases by less than
{notears_tolerance:g} of its value (SIG, AVG) or {admm_tolerance:g} (ADMM)."""
CLAIMS_TEXT = """\
The paper's NOTEARS-PFL uses the chain penalty. It pulls whole networks together, so it can help
only where neighbouring sites have nearly the same weights; the paper draws the weights per site.
The edge-wise penalty is ours. The paper shows its results as curves, does not state its penalties,
and its perturbation, taken literally, gives different graphs (see
`simulation.graphs.perturbation`). We therefore compare statements, not values."""
GRAPHS_TEXT = {
    "edges": "A perturbation level is a share of the graph's edges: half of the changes add an "
    "edge, a quarter delete one and a quarter reverse one, and every graph stays acyclic.",
    "entries": "A perturbation level is a share of all ordered pairs of variables, as appendix C "
    "literally says; moves that would close a cycle are skipped.",
}


def simulations_captions() -> dict[str, Caption]:
    """Fill the caption for each experiment."""
    return {
        f"simulation_{experiment}": CAPTIONS["simulation"].filled(experiment=experiment)
        for experiment in VALUE_LABELS
    }


def simulations_section(
    wins: pd.DataFrame | None,
    cost: pd.DataFrame | None,
    pictures: Mapping[str, Picture],
    outdated: Sequence[str] | None = None,
    command: str = "",
) -> Section:
    """Show the figures of the experiments, how often each method is best, and its cost.

    ``outdated`` lists what has changed since the existing results were computed; ``command`` is
    the command of the run.
    """
    title = "Simulations"
    if wins is None or cost is None:
        missing = reason_not_shown("simulation", outdated, command)
        return Section("simulations", title, missing=missing)
    shown = [p for name, p in pictures.items() if name.startswith("simulation_")]
    content = {"tally": _tally(wins), "cost": _cost(cost), "pictures": shown}
    return Section("simulations", title, {**content, "n_runs": int(wins["runs"].min())})


def _wins_by_method(wins: pd.DataFrame) -> pd.DataFrame:
    """Count the settings at which each method is best, by weight design and metric."""
    counts = wins.groupby(["weights", "best", "metric"], sort=False).size()
    return pd.DataFrame(
        [
            {"design": DESIGN_LABELS[design], "method": look[0]}
            | {metric: int(counts.get((design, method, metric), 0)) for metric in METRIC_LABELS}
            for design in wins["weights"].unique()
            for method, look in METHOD_LOOKS.items()
        ]
    )


def _n_settings(wins: pd.DataFrame) -> int:
    return len(wins[["experiment", "value"]].drop_duplicates())


def _tally(wins: pd.DataFrame) -> PageTable:
    titles = {"design": "design", "method": "method", **METRIC_LABELS}
    caption = f"Number of settings, of {_n_settings(wins)}, at which a method has the best mean"
    return page_table("simulation_wins", caption, _wins_by_method(wins), titles)


def _cost(cost: pd.DataFrame) -> PageTable:
    labels = {method: look[0] for method, look in METHOD_LOOKS.items()}
    keys = ["experiment", "value", "method"]
    # Not a pivot table, which may reorder the rows even with sort=False.
    seconds = cost.groupby(keys, sort=False)["cpu_seconds"].mean().unstack(sort=False)
    titles = {"experiment": "experiment", "value": "value", **labels}
    caption = "CPU seconds for all sites together, including the choice of the penalties"
    return page_table(
        "simulation_cost", caption, seconds.reset_index(), titles, dict.fromkeys(labels, ".2f")
    )


def simulation_figure(metrics: pd.DataFrame, experiment: str) -> Figure:
    """Draw the four metrics of one experiment, one row of panels per weight design.

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
        # Draw the methods side by side, so that no bar hides another.
        at = places + 0.08 * (offset - (len(METHOD_LOOKS) - 1) / 2)
        axis.vlines(at, low[values], high[values], color=colour, linewidth=1.5, alpha=0.7)
        axis.plot(
            at, mean[values], color=colour, marker=marker, linestyle=line, label=label,
            markersize=4.5, linewidth=1.3,
        )  # fmt: skip
    axis.set_xticks(places, [str(value) for value in values])
    # With few values the automatic margins would spread the methods apart.
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


def simulation_page(
    wins: pd.DataFrame, cost: pd.DataFrame, methods: Mapping[str, Any], graphs: Mapping[str, Any]
) -> str:
    """Write ``results/simulate/README.md``.

    Parameters
    ----------
    wins, cost : DataFrame
        As in ``wins.tsv`` and ``cost.tsv``.
    methods, graphs : mapping
        The settings of the methods and of the graphs.
    """
    experiments = wins["experiment"].unique()
    n_runs = wins["runs"].min()
    runs = f"{n_runs} run{'s' if n_runs > 1 else ''} of every setting"
    parts = [
        PAGE_TITLE,
        f"{runs}; edges per variable of the random graphs: {graphs['edges_per_variable']:g}. "
        f"{GRAPHS_TEXT[graphs['perturbation']]}",
        SEEDS_TEXT,
        METRICS_TEXT,
        METHODS_TEXT.format(**methods),
        "## Which method is best, and where",
        f"Number of settings, of {_n_settings(wins)}, at which a method has the best mean:",
        _markdown(["weights", "method", *METRIC_LABELS], _wins_by_method(wins).to_numpy()),
        "## The paper's claims, and what these runs show",
        CLAIMS_TEXT,
        _markdown(CLAIMS_HEAD, paper_claims(wins)),
        *(_experiment_section(wins, cost, experiment) for experiment in experiments),
    ]
    return "\n\n".join(parts) + "\n"


def _experiment_section(wins: pd.DataFrame, cost: pd.DataFrame, experiment: str) -> str:
    """Write the figure, the F-scores and the cost of one experiment."""
    shown = wins[(wins["experiment"] == experiment) & (wins["metric"] == "f_score")]
    scores = []
    for _, row in shown.iterrows():
        cells = [
            f"**{row[method]:.3f}**" if method == row["best"] else f"{row[method]:.3f}"
            for method in METHOD_LOOKS
        ]
        lead = f"{row['lead']:.3f}"
        if row["runs"] > 1:
            lead += f" ± {row['lead_standard_error']:.3f}"
        scores.append([DESIGN_LABELS[row["weights"]], str(row["value"]), *cells, lead])
    labels = [look[0] for look in METHOD_LOOKS.values()]
    seconds = (
        cost[cost["experiment"] == experiment]
        .groupby(["value", "method"])["cpu_seconds"]
        .mean()
        .unstack()[list(METHOD_LOOKS)]
    )
    costs = [[str(value), *(f"{s:.2f}" for s in row)] for value, row in seconds.iterrows()]
    return "\n\n".join(
        [
            f"## Performance against the {VALUE_LABELS[experiment]}",
            f"{FIXED[experiment]}.",
            f"![Four metrics](figure_{experiment}.png)",
            "Mean F-score, best in bold, and its lead over the second best with the standard error "
            "of the run-by-run difference:",
            _markdown(["weights", VALUE_LABELS[experiment], *labels, "lead"], scores),
            "CPU seconds for all sites together, mean over runs and weight designs, including the "
            "choice of the penalties:",
            _markdown([VALUE_LABELS[experiment], *labels], costs),
        ]
    )


def _markdown(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def paper_claims(wins: pd.DataFrame) -> list[list[str]]:
    """Judge the claims about the experiments that were run: rows under :data:`CLAIMS_HEAD`."""
    rows = []
    for experiment, claim in BEST.items():
        for design in wins["weights"].unique():
            shown = wins[(wins["experiment"] == experiment) & (wins["weights"] == design)]
            if len(shown) == 0:
                continue
            label = DESIGN_LABELS[design]
            rows.append([claim, label, *(_ahead(shown, method) for method in OURS)])
            if experiment == "variables":
                rows.append([ERRORS, label, *(_errors(shown, method) for method in OURS)])
            elif shown["value"].nunique() > 1:
                compare, claim_2 = {
                    "sites": (_decline, DECLINE),
                    "perturbation": (_advantage, ADVANTAGE),
                }[experiment]
                rows.append([claim_2, label, *(compare(shown, method) for method in OURS)])
    return rows


def _ahead(shown: pd.DataFrame, method: str) -> str:
    """Count the settings at which a method beats all three baselines, by metric."""
    n_settings = shown["value"].nunique()
    counts = {}
    for metric, scores in shown.groupby("metric"):
        sign = -1 if metric in LOWER_IS_BETTER else 1
        best = (sign * scores[BASELINES]).max(axis=1)
        counts[metric] = int((sign * scores[method] > best).sum())
    found = ", ".join(f"{METRIC_LABELS[m].split(' (')[0]} {counts[m]}" for m in METRIC_LABELS)
    return f"{_verdict(min(counts.values()) == n_settings)}: at {found} of {n_settings}"


def _errors(shown: pd.DataFrame, method: str) -> str:
    """Range of the error of a method and of SIG."""
    errors = shown[shown["metric"] == "error"]
    ours, sig = errors[method], errors["sig"]
    ranges = f"{ours.min():.3f} to {ours.max():.3f}, SIG {sig.min():.3f} to {sig.max():.3f}"
    return f"{_verdict(bool((ours < sig).all()), 'lower', 'not always lower')}: {ranges}"


def _decline(shown: pd.DataFrame, method: str) -> str:
    """Compare the fall of the F-score from the fewest to the most sites with SIG and AVG."""
    few, many = _ends(shown)
    fall = few - many
    falls = ", ".join(
        f"{'it' if m == method else m.upper()} {few[m]:.2f} to {many[m]:.2f}"
        for m in (method, "sig", "avg")
    )
    return f"{_verdict(fall[method] < min(fall['sig'], fall['avg']))}: {falls}"


def _advantage(shown: pd.DataFrame, method: str) -> str:
    """Lead over the best baseline at the lowest and at the highest perturbation."""
    low, high = (scores[method] - scores[BASELINES].max() for scores in _ends(shown))
    return f"{_verdict(high > max(low, 0))}: lead {low:+.2f} to {high:+.2f}"


def _ends(shown: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """F-scores of the methods at the smallest and the largest value."""
    scores = shown[shown["metric"] == "f_score"].sort_values("value")
    methods = [*OURS, *BASELINES]
    return scores.iloc[0][methods].astype(float), scores.iloc[-1][methods].astype(float)


def _verdict(holds: bool, yes: str = "holds", no: str = "does not hold") -> str:
    return yes if holds else f"**{no}**"
