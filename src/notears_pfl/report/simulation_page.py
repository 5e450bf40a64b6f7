"""The page of the simulations, in Markdown: what was run, who wins where, and at what cost."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from notears_pfl.report.simulation_claims import HEAD, paper_claims
from notears_pfl.report.simulation_figures import (
    DESIGN_LABELS,
    FIXED,
    METHOD_LOOKS,
    METRIC_LABELS,
    VALUE_LABELS,
)

TITLE = "# Simulations (section 4 of the paper)"
SEEDS = """\
Every random draw comes from a stream that is named for its purpose. The settings of the baselines
below were chosen, in their favour, on streams named `tune`, and the constants of NOTEARS-PFL on
streams named `tune` and `benchmark`; what this page reports comes from streams named `report`,
which nothing was tuned on. NOTEARS-PFL chooses its penalties from each run's own samples, without
the true graphs."""
METRICS_TEXT = """\
Scores compare directed edges (ordered pairs of variables) with each site's own true graph, and are
averaged over the sites, then over the runs. An edge learned the wrong way round counts as one
false positive and one false negative in error, precision and F-score, and as one step in the
structural Hamming distance (SHD). A learned graph without edges has precision 0."""
METHODS_TEXT = """\
All methods drop edges of absolute weight {threshold} or less, then the weakest until no cycle is
left. The weight of the l1 norm is c √(ln d / n): c = {sig_sparsity} for SIG with n the samples of
a site, c = {avg_sparsity} for AVG and {admm_sparsity} for ADMM with n the samples of all sites.
L-BFGS-B ends a subproblem when the objective falls by less than {notears_tolerance:g} of itself
(SIG, AVG) or {admm_tolerance:g} (ADMM)."""
CLAIMS_TEXT = """\
The paper's NOTEARS-PFL has the chain penalty. It draws whole networks together, so that it can gain
only where neighbouring sites have nearly the same weights; the paper draws the weights per site.
The edge-wise penalty is ours. The paper shows its results as curves, its perturbation taken to the
letter gives other graphs (see `simulation.graphs.perturbation`), and its penalties are not stated:
what follows compares statements, not values."""
GRAPHS_TEXT = {
    "edges": "A perturbation level is a share of the graph's edges: half of the changes add an "
    "edge, a quarter delete one and a quarter reverse one, and every graph stays acyclic.",
    "entries": "A perturbation level is a share of all ordered pairs of variables, as appendix C "
    "has it to the letter; moves that would close a cycle are left out.",
}


def simulation_page(
    wins: pd.DataFrame, cost: pd.DataFrame, methods: Mapping[str, Any], graphs: Mapping[str, Any]
) -> str:
    """Write the page.

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
        TITLE,
        f"{runs}; edges per variable of the random graphs: {graphs['edges_per_variable']:g}. "
        f"{GRAPHS_TEXT[graphs['perturbation']]}",
        SEEDS,
        METRICS_TEXT,
        METHODS_TEXT.format(**methods),
        "## Who wins where",
        _tally(wins),
        "## The paper's claims, and what these runs show",
        CLAIMS_TEXT,
        _table(HEAD, paper_claims(wins)),
        *(_experiment_section(wins, cost, experiment) for experiment in experiments),
    ]
    return "\n\n".join(parts) + "\n"


def _tally(wins: pd.DataFrame) -> str:
    """Count the settings at which each method is best, by metric and weight design."""
    counts = wins.groupby(["weights", "best", "metric"], sort=False).size()
    rows = [
        [DESIGN_LABELS[design], METHOD_LOOKS[method][0]]
        + [str(counts.get((design, method, metric), 0)) for metric in METRIC_LABELS]
        for design in wins["weights"].unique()
        for method in METHOD_LOOKS
    ]
    n_settings = len(wins[["experiment", "value"]].drop_duplicates())
    head = f"Settings, of {n_settings}, at which a method has the best mean:"
    return head + "\n\n" + _table(["weights", "method", *METRIC_LABELS], rows)


def _experiment_section(wins: pd.DataFrame, cost: pd.DataFrame, experiment: str) -> str:
    """Show the figure, the F-scores and the cost of one experiment."""
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
            "Mean F-score, the best in bold; its lead over the second with the standard error of "
            "the run-by-run difference:",
            _table(["weights", VALUE_LABELS[experiment], *labels, "lead"], scores),
            "CPU seconds for all sites together, mean over runs and weight designs, choice of the "
            "penalties included:",
            _table([VALUE_LABELS[experiment], *labels], costs),
        ]
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
