"""Figures of the findings: connections of all sites, and connections of one site only."""

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from notears_pfl.report.brain import Arrow, draw_brain, signed_arrows
from notears_pfl.report.circle import draw_circle, lobe_handles
from notears_pfl.report.network_figures import brain_rows
from notears_pfl.report.style import GREY, RC, VERMILION


def overlap_figure(
    overlap: pd.DataFrame, groups: tuple[str, str], n_sites: int, rois: pd.DataFrame
) -> Figure:
    """Draw the connections of all sites, patients and controls side by side.

    Parameters
    ----------
    overlap : DataFrame
        ``from``, ``to`` and ``found_in``: a group's label followed by "only", or "both".
    groups : tuple of str
        Patients and controls.
    n_sites : int
        How many sites must have a connection.
    rois : DataFrame
        Indexed by abbreviation: ``lobe``, ``x``, ``y``, ``z``.
    """
    with mpl.rc_context(RC):
        figure = Figure(figsize=(13, 9.4))
        rows: Any = figure.subfigures(2, 1, height_ratios=[9, 0.5])
        for column, group in zip(rows[0].subfigures(1, 2), groups, strict=True):
            own = overlap[overlap["found_in"] == f"{group} only"]
            both = overlap[overlap["found_in"] == "both"]
            arrows = [*_plain(both, GREY, 0.8), *_plain(own, VERMILION, 1.4)]
            column.suptitle(
                f"{group}: {len(own) + len(both)} connections at all {n_sites} sites, "
                f"{len(own)} of them in {group} only",
                fontsize=10,
                fontweight="bold",
            )
            upper, lower = column.subfigures(2, 1, height_ratios=[3, 1.05])
            circle = upper.subplots()
            draw_circle(circle, arrows, rois)
            if not arrows:
                circle.text(0, 0, "no connection at every site", ha="center", fontsize=10)
            draw_brain(list(lower.subplots(1, 3)), arrows, rois)
        kinds = [
            Line2D([], [], color=VERMILION, linewidth=1.6, label="this group only"),
            Line2D([], [], color=GREY, linewidth=1.2, label="both groups"),
        ]
        rows[1].legend(handles=[*kinds, *lobe_handles(rois)], loc="center", ncols=5, fontsize=8)
    return figure


def site_specific_figure(
    alone: pd.DataFrame, group: str, sites: Sequence[str], rois: pd.DataFrame
) -> Figure:
    """Draw the connections that one site alone has, a row of views per site.

    ``alone`` has ``group``, ``site``, ``from``, ``to`` and ``weight``.
    """
    own = alone[alone["group"] == group]
    panels = []
    for site in sites:
        edges = own[own["site"] == site]
        network = edges.pivot(index="from", columns="to", values="weight").fillna(0.0)
        panels.append((f"{group} at {site} alone: {_count(len(edges))}", signed_arrows(network)))
    return brain_rows(panels, rois)


def _plain(edges: pd.DataFrame, colour: str, width: float) -> list[Arrow]:
    return [
        Arrow(str(start), str(end), colour, width)
        for start, end in zip(edges["from"], edges["to"], strict=True)
    ]


def _count(n: int) -> str:
    return {0: "no connection", 1: "1 connection"}.get(n, f"{n} connections")
