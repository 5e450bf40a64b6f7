"""Important nodes: the regions of highest degree in patients and controls."""

from collections.abc import Mapping

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from notears_pfl.report.figure_style import RC
from notears_pfl.report.findings import Findings
from notears_pfl.report.page_parts import Caption, PageTable, Picture, Section, page_table
from notears_pfl.report.palette import GREY, GROUP_LOOKS

DIRECTION_TITLES = {"out": "out degree (edges that leave)", "in": "in degree (edges that enter)"}
CAPTIONS = {
    "degree": Caption(
        "Degrees of the regions of highest degree, {patients} against {controls}",
        "Out and in degrees, summed over {n_sites} sites{n}, of the regions of highest degree in "
        "{patients} or {controls}.",
        "Regions with many edges are hubs of the estimated networks on this scale of the data, but "
        "perhaps not on the other; the groups differ in a region only where q in the tables below "
        "is small, not wherever the marks are apart.",
    ),
}


def nodes_section(findings: Findings, pictures: Mapping[str, Picture]) -> Section:
    """Show the top regions per group and direction, and degree sums over top and all regions."""
    top, rois = findings.tables["degree_top"], findings.rois
    named = top.assign(
        index=top["roi"].map(rois["index"]),
        name=top["roi"].map(rois["name"]),
        lobe=top["roi"].map(rois["lobe"]),
    )
    tables = [
        _top_table(named, group, direction)
        for direction in ("out", "in")
        for group in findings.groups
    ]
    totals = findings.tables["degree_totals"]
    return Section(
        "nodes",
        "Important nodes",
        {
            "picture": pictures["degree"],
            "tables": tables,
            "n_top": int(top["rank"].max()),
            "totals": page_table(
                "degree_totals",
                "Sums of degrees over the top regions, and over all",
                totals.assign(rois=totals["rois"].map({"top": "top", "all": "all"})),
                {
                    "direction": "direction", "rois": "regions",
                    **{group: group for group in findings.groups},
                    "percent_more": f"{findings.groups[0]} more, %",
                    "p": "p",
                },
                {"percent_more": "+.1f", "p": ".3f"},
            ),
        },
    )  # fmt: skip


def degrees_on_other_scale(findings: Findings, group: str, direction: str) -> pd.Series:
    """Degree of every region over all sites in the networks on the other scale of the data."""
    networks = [findings.other_scale[group, site] for site in findings.sites]
    degrees = [(w != 0).sum(axis=1 if direction == "out" else 0) for w in networks]
    return pd.concat(degrees, axis=1).sum(axis=1)


def _top_table(named: pd.DataFrame, group: str, direction: str) -> PageTable:
    chosen = named[(named["group"] == group) & (named["direction"] == direction)]
    return page_table(
        f"degree_{direction}_{group}",
        f"{group}: highest {direction} degrees (total {chosen['degree'].sum()})",
        chosen,
        {"index": "index", "name": "region", "roi": "abbreviation", "degree": "degree",
         "q": "q of the group difference"},
        {"q": ".2f"},
    )  # fmt: skip


def degree_figure(
    degree: pd.DataFrame, top: pd.DataFrame, groups: tuple[str, str], n_sites: int
) -> Figure:
    """Draw degrees, summed over sites, of the regions in the top list of either group.

    Parameters
    ----------
    degree : DataFrame
        ``group``, ``site`` (``all`` where summed), ``roi``, ``out_degree``, ``in_degree``.
    top : DataFrame
        ``direction`` (``out`` or ``in``) and ``roi``: the regions to show.
    groups : tuple of str
        Patients and controls.
    n_sites : int
        Number of sites summed over.
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
    """Degrees by ROI and group; the highest degree in patients comes last (top of the axis)."""
    names = top.loc[top["direction"] == direction, "roi"].unique()
    table = summed.pivot(index="roi", columns="group", values=f"{direction}_degree").loc[names]
    return table.sort_values(patients, kind="stable")


def _draw(axis: Axes, table: pd.DataFrame, groups: tuple[str, str]) -> None:
    places = np.arange(len(table))
    axis.hlines(places, table.min(axis=1), table.max(axis=1), color=GREY, linewidth=1, zorder=1)
    for group, shift, (colour, marker) in zip(groups, (0.13, -0.13), GROUP_LOOKS, strict=True):
        # Shift the groups apart, so that equal degrees do not hide each other.
        axis.scatter(
            table[group], places + shift, color=colour, marker=marker, s=28, label=group, zorder=2
        )
    axis.set_yticks(places, list(table.index), fontsize=8)
    axis.set_xlim(left=-0.3)
    axis.grid(axis="x", linewidth=0.3)
