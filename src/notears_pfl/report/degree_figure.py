"""The figure of important nodes: degrees of patients against controls."""

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from notears_pfl.report.style import GREY, GROUP_LOOKS, RC

DIRECTION_TITLES = {"out": "out degree (edges that leave)", "in": "in degree (edges that enter)"}


def degree_figure(
    degree: pd.DataFrame, top: pd.DataFrame, groups: tuple[str, str], n_sites: int
) -> Figure:
    """Draw the degrees, summed over the sites, of all regions in the top list of either group.

    Parameters
    ----------
    degree : DataFrame
        ``group``, ``site`` (``all`` where summed), ``roi``, ``out_degree``, ``in_degree``.
    top : DataFrame
        ``direction`` (``out`` or ``in``) and ``roi``: the regions to show.
    groups : tuple of str
        Patients and controls.
    n_sites : int
        How many sites the sums are over.
    """
    summed = degree[degree["site"] == "all"]
    tables = {
        direction: _ordered(summed, top, direction, groups[0]) for direction in DIRECTION_TITLES
    }
    most = max(len(table) for table in tables.values())
    with mpl.rc_context(RC):
        figure = Figure(figsize=(9, 1.3 + 0.24 * most))
        for axis, (direction, table) in zip(figure.subplots(1, 2), tables.items(), strict=True):
            _draw(axis, table, groups)
            axis.set_title(DIRECTION_TITLES[direction])
            axis.set_xlabel(f"edges, summed over {n_sites} sites")
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=8)
    return figure


def _ordered(
    summed: pd.DataFrame, top: pd.DataFrame, direction: str, patients: str
) -> pd.DataFrame:
    """Degrees by ROI and group, the patients' highest last (at the top of an axis)."""
    names = top.loc[top["direction"] == direction, "roi"].unique()
    table = summed.pivot(index="roi", columns="group", values=f"{direction}_degree").loc[names]
    return table.sort_values(patients, kind="stable")


def _draw(axis: Axes, table: pd.DataFrame, groups: tuple[str, str]) -> None:
    places = np.arange(len(table))
    axis.hlines(places, table.min(axis=1), table.max(axis=1), color=GREY, linewidth=1, zorder=1)
    for group, shift, (colour, marker) in zip(groups, (0.13, -0.13), GROUP_LOOKS, strict=True):
        # Side by side, so that equal degrees do not hide each other.
        axis.scatter(
            table[group], places + shift, color=colour, marker=marker, s=28, label=group, zorder=2
        )
    axis.set_yticks(places, list(table.index), fontsize=8)
    axis.set_xlim(left=-0.3)
    axis.grid(axis="x", linewidth=0.3)
