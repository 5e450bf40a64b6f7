"""The paper's table of proportion tests as a figure, with intervals and the tests beside it."""

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from notears_pfl.report.style import BLACK, BLUE, GREEN, ORANGE, PURPLE, RC, VERMILION

# Title, colour and marker of every method.
METHOD_LOOKS = {
    "pfl": ("NOTEARS-PFL", VERMILION, "o"),
    "sig": ("NOTEARS-SIG", BLUE, "s"),
    "ges": ("GES", GREEN, "^"),
    "pc": ("PC", ORANGE, "D"),
    "granger": ("Granger causality", PURPLE, "v"),
}
RULES = {
    "any": "at any site",
    "majority": "at most sites",
    "all": "at all sites",
}
# Connections of this study shown at most; the table has all.
MOST_OWN = 14
# Where the numbers stand, right of the differences, and up to which p they are bold.
COLUMNS = (1.65, 2.55, 3.4)
BOLD = 0.05
TRUST = (
    "Trust the permutation test: draws share subjects, so that z-tests and intervals promise "
    "too much."
)


def comparison_figure(tests: pd.DataFrame, groups: tuple[str, str], rule: str) -> Figure:
    """Draw the difference between the groups for every connection, a panel per method.

    Parameters
    ----------
    tests : DataFrame
        The table of proportion tests.
    groups : tuple of str
        Patients and controls.
    rule : str
        At how many sites a draw must have a connection.
    """
    shown, left_out = _shown(tests)
    rows = shown[["source", "from", "to"]].drop_duplicates().reset_index(drop=True)
    methods = [method for method in METHOD_LOOKS if method in set(shown["method"])]
    with mpl.rc_context(RC):
        figure = Figure(figsize=(1.8 + 2.5 * len(methods), 1.9 + 0.3 * len(rows)))
        panels = figure.subplots(1, len(methods), sharey=True, squeeze=False)[0]
        for axes, method in zip(panels, methods, strict=True):
            of_method = shown[shown["method"] == method].set_index(["source", "from", "to"])
            _draw_panel(axes, of_method.loc[list(rows.itertuples(index=False))], method, groups)
        panels[0].set_yticks(range(len(rows)), _labels(rows))
        panels[0].set_ylim(len(rows) - 0.4, -0.6)
        n_published = int((rows["source"] == "published").sum())
        if 0 < n_published < len(rows):
            for axes in panels:
                axes.axhline(n_published - 0.5, color=BLACK, linewidth=0.6)
        n_draws = int(shown["n_draws"].iloc[0])
        figure.supxlabel(_caption(groups, rule, n_draws, left_out), fontsize=8)
    return figure


def _shown(tests: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """All published connections, then those that all sites of one group alone share."""
    published = tests["source"] == "published"
    own = ~published & (tests["found_in"] != "both")
    keys = tests.loc[own, ["from", "to"]].drop_duplicates()
    kept = set(map(tuple, keys.head(MOST_OWN).to_numpy()))
    chosen = [pair in kept for pair in zip(tests["from"], tests["to"], strict=True)]
    return tests[published | (own & np.array(chosen))], len(keys) - len(kept)


def _draw_panel(axes: Axes, rows: pd.DataFrame, method: str, groups: tuple[str, str]) -> None:
    title, colour, marker = METHOD_LOOKS[method]
    axes.axvline(0, color=BLACK, linewidth=0.6)
    for place, (_, row) in enumerate(rows.iterrows()):
        counts = [int(row[f"count_{group}"]) for group in groups]
        # Where no draw has the connection there is nothing to compare.
        alpha = 1.0 if any(counts) else 0.25
        axes.plot([row["low"], row["high"]], [place] * 2, color=colour, linewidth=1.4, alpha=alpha)
        axes.plot(row["difference"], place, marker, color=colour, markersize=5, alpha=alpha)
        weight = "bold" if row["p_permutation"] <= BOLD else "normal"
        texts = (":".join(map(str, counts)), _short(row["p_z"]), _short(row["p_permutation"]))
        for at, text in zip(COLUMNS, texts, strict=True):
            axes.text(at, place, text, fontsize=7, va="center", ha="right", fontweight=weight)
    for at, text in zip(COLUMNS, ("draws", "p_z", "p_perm"), strict=True):
        axes.text(at, -0.7, text, fontsize=7, va="bottom", ha="right", style="italic")
    axes.set_title(title, fontsize=10, loc="left", pad=16)
    axes.set_xlim(-1.05, COLUMNS[-1])
    axes.set_xticks([-1, 0, 1])
    axes.set_xlabel(f"{groups[0]} minus {groups[1]}", fontsize=8, loc="left")
    axes.spines["bottom"].set_bounds(-1, 1)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)


def _short(p: float) -> str:
    """Four digits as in the paper, without the leading zero."""
    if p > 0.99995:
        return "1"
    return "<.0001" if p < 5e-5 else f"{p:.4f}".removeprefix("0")


def _labels(rows: pd.DataFrame) -> Sequence[str]:
    return [f"{source} → {target}" for source, target in zip(rows["from"], rows["to"], strict=True)]


def _caption(groups: tuple[str, str], rule: str, n_draws: int, left_out: int) -> str:
    patients, controls = groups
    lines = [
        f"Share of {n_draws} draws of {patients} that have the connection {RULES[rule]}, minus "
        f"that of {controls}, with Newcombe's 95 % interval; every method has as many edges as "
        "NOTEARS-PFL.",
        f"draws: {patients}:{controls}. p_z: the paper's one-sided z-test. p_perm: permutation of "
        f"labels within sites, {patients} more often; bold up to .05. {TRUST}",
        "Above the line: published connections; below: those of all sites in this study's "
        "discovery fit, in one group alone."
        + (f" {left_out} more are in the table." if left_out else ""),
    ]
    return "\n".join(lines)
