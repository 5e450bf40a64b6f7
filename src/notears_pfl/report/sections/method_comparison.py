"""Comparison with other methods: proportion tests of connections over draws of subjects."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from notears_pfl.report.figure_style import RC
from notears_pfl.report.page_parts import Caption, Picture, Section, page_table, reason_not_shown
from notears_pfl.report.palette import BLACK, BLUE, GREEN, ORANGE, PURPLE, VERMILION

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
# Name of the file with the connections that the paper tests.
DEFAULT_LIST = "tested_connections.tsv"
# Maximum number of this study's own connections in the figure; the table lists all.
MOST_OWN = 14
# Positions of the columns of numbers beside the differences.
COLUMNS = (1.65, 2.6, 3.5)
# P-values up to BOLD are bold, if a group has the connection in at least FEWEST draws: the test
# looks at other draws, of both groups together, and may tell apart next to nothing.
BOLD, FEWEST = 0.05, 2
# Panels side by side.
PANELS_PER_ROW = 3
TRUST = (
    "Trust the permutation test: draws share subjects, so z-tests and intervals are too optimistic."
)
CAPTIONS = {
    "figure_proportions": Caption(
        "Proportion tests of the tested connections by method, with intervals",
        "Share of draws in which a connection is found, {patients} minus {controls}, by method, "
        "with Newcombe's interval. Draws share subjects: trust the permutation test, not the "
        "interval. This test exchanges the labels of single subjects, in other draws, of "
        "{patients} and {controls} together, and counts every site: its p can be small where the "
        "draws of one group hardly have the connection. P-values are bold up to .05 where a group "
        "has the connection in two or more draws.",
        "The groups differ in a connection where q of the permutation test (in the table) is "
        "small and one group has it in several draws, not wherever p is bold; a method that finds "
        "more differences is not for that reason better.",
    ),
}


def comparison_section(
    tests: pd.DataFrame | None,
    groups: tuple[str, str],
    pictures: Mapping[str, Picture],
    outdated: Sequence[str] | None = None,
    published: str = "",
    command: str = "",
) -> Section:
    """Show the proportion tests of every connection and method.

    ``outdated`` lists what has changed since the existing results were computed; ``published`` is
    the file of the published connections, ``command`` the command of the run.
    """
    title = "Comparison with other methods"
    if tests is None:
        return Section(
            "comparison", title, missing=reason_not_shown("comparison", outdated, command)
        )
    ordered = _own_first(tests)
    shown = ordered.assign(
        connection=ordered["from"] + " → " + ordered["to"],
        method=[METHOD_LOOKS[method][0] for method in ordered["method"]],
        interval=[
            # Minus signs as in the other columns, and no line break within the interval.
            f"{low:+.2f}\N{NO-BREAK SPACE}to\N{NO-BREAK SPACE}{high:+.2f}".replace("-", "−")
            for low, high in ordered[["low", "high"]].to_numpy()
        ],
    )
    for group in groups:
        shown[group] = [f"{k}/{n}" for k, n in ordered[[f"count_{group}", "n_draws"]].to_numpy()]
    titles = {
        "connection": "connection", "source": "tested because", "method": "method",
        groups[0]: f"{groups[0]}: draws", groups[1]: f"{groups[1]}: draws",
        "difference": "difference", "interval": "95 % interval",
        "p_permutation": "p, permutation", "q_permutation": "q, permutation",
        "p_z": "p, z-test of the paper",
    }  # fmt: skip
    formats = {"difference": "+.2f", "p_permutation": ".3g", "q_permutation": ".3g", "p_z": ".2g"}
    n_draws = int(tests["n_draws"].max())
    caption = f"Connections found in draws of validation subjects (n = {n_draws} draws)"
    table = page_table(
        "proportions", caption, shown, titles, formats, interactive=True, extra=("source", "p_z"),
        file="results/compare/proportion_tests.tsv",
    )  # fmt: skip
    notes = tests["note"].dropna().unique().tolist() if "note" in tests else []
    picture = pictures.get("figure_proportions")
    given = tests.loc[tests["source"] == "published", ["from", "to"]].drop_duplicates()
    content = {
        "tests": table, "picture": picture, "notes": notes, "published": published,
        "n_published": len(given), "is_default": Path(published).name == DEFAULT_LIST,
    }  # fmt: skip
    return Section("comparison", title, content)


def _own_first(tests: pd.DataFrame) -> pd.DataFrame:
    """Move the published connections behind the study's own."""
    return tests.sort_values(
        "source", key=lambda source: source == "published", kind="stable", ignore_index=True
    )


# Without a published list, when no connection is at every site of one group only.
NOTHING_SHOWN = "No published connection was given, and none is at every site of one group alone."


def comparison_figure(tests: pd.DataFrame, groups: tuple[str, str], rule: str) -> Figure:
    """Draw the difference between the groups for every connection, a panel per method.

    Parameters
    ----------
    tests : DataFrame
        The table of proportion tests.
    groups : tuple of str
        Patients and controls.
    rule : str
        Key of ``RULES``: at which sites a draw must have a connection to count.
    """
    shown, n_omitted = _shown(tests)
    if shown.empty:
        with mpl.rc_context(RC):
            figure = Figure(figsize=(6.8, 0.8))
            figure.text(0.5, 0.5, NOTHING_SHOWN, ha="center", va="center", wrap=True)
        return figure
    rows = shown[["source", "from", "to"]].drop_duplicates().reset_index(drop=True)
    methods = [method for method in METHOD_LOOKS if method in set(shown["method"])]
    with mpl.rc_context(RC):
        n_across = min(len(methods), PANELS_PER_ROW)
        n_down = -(-len(methods) // n_across)
        size = (1.8 + 2.7 * n_across, 1.4 + n_down * (0.8 + 0.27 * len(rows)))
        figure = Figure(figsize=size)
        grid = figure.subplots(n_down, n_across, sharey=True, squeeze=False)
        panels = list(grid.flat)
        for axes in panels[len(methods) :]:
            axes.remove()
        panels = panels[: len(methods)]
        for axes, method in zip(panels, methods, strict=True):
            of_method = shown[shown["method"] == method].set_index(["source", "from", "to"])
            _draw_panel(axes, of_method.loc[list(rows.itertuples(index=False))], method, groups)
        panels[0].set_yticks(range(len(rows)), _labels(rows))
        panels[0].set_ylim(len(rows) - 0.4, -0.6)
        n_own = int((rows["source"] != "published").sum())
        if 0 < n_own < len(rows):
            for axes in panels:
                axes.axhline(n_own - 0.5, color=BLACK, linewidth=0.6)
        n_draws = int(shown["n_draws"].iloc[0])
        figure.supxlabel(_caption(groups, rule, n_draws, n_omitted), fontsize=8, wrap=True)
    return figure


def _shown(tests: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Select those that all sites of exactly one group share, then the published connections."""
    tests = _own_first(tests)
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
        # Faint where no draw has the connection: there is nothing to compare.
        alpha = 1.0 if any(counts) else 0.25
        axes.plot([row["low"], row["high"]], [place] * 2, color=colour, linewidth=1.4, alpha=alpha)
        axes.plot(row["difference"], place, marker, color=colour, markersize=5, alpha=alpha)
        bold = row["p_permutation"] <= BOLD and max(counts) >= FEWEST
        weight = "bold" if bold else "normal"
        texts = (":".join(map(str, counts)), _short(row["p_z"]), _short(row["p_permutation"]))
        for at, text in zip(COLUMNS, texts, strict=True):
            axes.text(at, place, text, fontsize=8, va="center", ha="right", fontweight=weight)
    for at, text in zip(COLUMNS, ("draws", "p_z", "p_perm"), strict=True):
        axes.text(at, -0.7, text, fontsize=8, va="bottom", ha="right", style="italic")
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


def _caption(groups: tuple[str, str], rule: str, n_draws: int, n_omitted: int) -> str:
    patients, controls = groups
    lines = [
        f"Share of {n_draws} draws of {patients} that have the connection {RULES[rule]}, minus "
        f"that of {controls},",
        "with Newcombe's 95 % interval; every method has as many edges as NOTEARS-PFL.",
        f"draws: {patients}:{controls}. p_z: the paper's one-sided z-test. p_perm: labels of "
        f"subjects permuted within sites, {patients} more often,",
        "in draws of both groups together and at single sites; bold up to .05 where a group has "
        "two or more draws.",
        TRUST,
        "Above the line: connections at every site of one group alone in this study's discovery "
        "fit; below: published ones."
        + (f" {n_omitted} more are in the table." if n_omitted else ""),
    ]
    return "\n".join(lines)
