"""The figure of docs/guide/scaling.md: how costs grow with sites, subjects and ROIs.

    python benchmarks/scaling_figure.py docs/guide/scaling.tsv docs/scaling.png

The table is what ``benchmarks/consortium.py`` printed. The number behind each name is the slope of
the line through the logarithms: a cost with slope 2 is four times as large when the size doubles.
"""

import sys
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure
from scaling import exponent

from notears_pfl.report.figure_style import RC, save_figure


class Curve(NamedTuple):
    """Rows of the table with one quantity, and their name in the figure.

    ``per_site`` is their number of subjects per site, where the table has several.
    """

    part: str
    quantity: str
    name: str
    per_site: int | None = None


class Panel(NamedTuple):
    """Curves against one size, at fixed others."""

    title: str
    unit: str
    size: str
    fixed: dict[str, int | str]
    curves: tuple[Curve, ...]


def fit_and_evidence(per_site: int) -> tuple[Curve, ...]:
    """Curves of a fit, and of draws with this number of subjects per site."""
    draws = (Curve("evidence", f"a {k}", f"a {k}", per_site) for k in ("permutation", "bootstrap"))
    return Curve("fit", "a fit", "a fit"), *draws


FIRST = "measured in the first 20 rounds"
CENTRE, SITE = "the centre's computation per round", "a site's computation per round"
PANELS = (
    Panel("Planning, 50 sites", "CPU s", "subjects", {}, tuple(
        Curve("planning", f"{kind}: first dry run", name)
        for kind, name in (
            ("bids", "raw BIDS"), ("fmriprep", "fMRIPrep's output"), ("timeseries", "ROI series"),
        )
    )),
    Panel("Report, 5 to 50 sites", "CPU s", "subjects", {}, (
        Curve("report", "made: pages of subjects", "pages of subjects"),
        Curve("report", "made: figures of the networks", "figures of networks"),
        Curve("report", "made: front page", "front page"),
    )),
    Panel("Federation, 56 ROIs, per round", "CPU ms", "sites", {"ROIs": 56, "how": "measured"}, (
        Curve("federation", CENTRE, "centre"),
        Curve("federation", SITE, "one site"),
    )),
    Panel("Fit and evidence, 56 ROIs", "CPU s", "sites", {"ROIs": 56}, fit_and_evidence(150)),
    Panel("Fit and evidence, 5 sites", "CPU s", "ROIs", {"sites": 5}, fit_and_evidence(60)),
    Panel("Federation, 2 sites, first rounds", "CPU ms", "ROIs", {"sites": 2, "how": FIRST}, (
        Curve("federation", CENTRE, "centre"),
        Curve("federation", SITE, "one site"),
    )),
)  # fmt: skip


def scaling_figure(table: pd.DataFrame) -> Figure:
    """Draw every panel on logarithmic axes."""
    with mpl.rc_context(RC):
        figure = Figure(figsize=(9.5, 5.4))
        for axes, panel in zip(figure.subplots(2, 3).flat, PANELS, strict=True):
            draw(axes, panel, table)
    return figure


def draw(axes: Any, panel: Panel, table: pd.DataFrame) -> None:
    """Draw the curves of a panel."""
    for (part, quantity, name, per_site), marker in zip(panel.curves, "o^s", strict=False):
        wanted = {"part": part, "quantity": quantity} | panel.fixed
        rows = table[(table[[*wanted]] == pd.Series(wanted)).all(axis=1)].sort_values(panel.size)
        if per_site is not None:
            rows = rows[rows["subjects"] == per_site * rows["sites"]]
        slope = exponent(rows[panel.size], rows["value"])
        label = f"{name} ({round(slope, 1) + 0:.1f})"  # not −0.0
        axes.plot(rows[panel.size], rows["value"], marker=marker, markersize=4, label=label)
    sizes = sorted({x for line in axes.lines for x in line.get_xdata()})
    axes.set(xscale="log", yscale="log", title=panel.title, xlabel=panel.size, ylabel=panel.unit)
    axes.set_xticks(sizes, [f"{x:,.0f}" for x in sizes])
    axes.minorticks_off()
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * (high / low) ** 0.4)
    axes.legend(loc="upper left", title="slope in brackets", title_fontsize=8, fontsize=8)


if __name__ == "__main__":
    table, picture = sys.argv[1:]
    save_figure(scaling_figure(pd.read_csv(table, sep="\t")), Path(picture))
