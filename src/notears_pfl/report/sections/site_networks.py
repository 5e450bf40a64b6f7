"""Networks: one per site and group, what all sites share, and what one site alone has."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from notears_pfl.report.figure_style import RC
from notears_pfl.report.findings import Findings, with_both_groups
from notears_pfl.report.network_drawing import (
    SIGNS,
    Arrow,
    brain_rows,
    draw_brain,
    draw_circle,
    lobe_handles,
    signed_arrows,
)
from notears_pfl.report.page_parts import (
    Caption,
    PageTable,
    Picture,
    Records,
    Section,
    page_table,
)
from notears_pfl.report.palette import GREY, INK, MANY_SITES, ORANGE, VERMILION
from notears_pfl.report.sections.certainty import FOUND
from notears_pfl.report.sections.connection_table import connection_table, edge_records

# A matrix of more regions than this shows its weights as dots without names.
MOST_CELLS = 80
# With more weights than this, the page reads those of a connection when it is clicked.
MOST_WEIGHTS = 5000
CAPTIONS = {
    "network_brain": Caption(
        "Arrows between regions on a glass brain, from three sides: {whose}",
        "Network of {whose}{n}. Arrows point from region to region and are thicker where the "
        "weight is larger. Connections between the hemispheres are drawn in the view from above "
        "only. The regions with the most arrows are named.",
        "An arrow is a directed dependency between two regions in this group at this site; it is "
        "neither a tract nor proof that one region drives the other.",
    ),
    "network_circle": Caption(
        "Arrows between regions on a circle, ordered by lobe or network, left hemisphere on the "
        "left: {whose}",
        "Network of {whose}{n}: regions by lobe or network, each hemisphere on its own side. Grey "
        "names: regions without a connection. Where there is no room for all names, those of the "
        "regions with the most arrows.",
        "It shows which lobes or networks are connected; the number of arrows also depends on the "
        "number of subjects, so do not compare it between sites.",
    ),
    "network_matrix": Caption(
        "Matrix of weights, from the row's region to the column's: {whose}",
        "Weights of the network of {whose}{n}, from the row's region to the column's.",
        "Colour gives the sign and strength of each connection; an empty cell does not prove that "
        "two regions are unconnected.",
    ),
    "overlap": Caption(
        "Connections found at all sites, {patients} left and {controls} right, on a circle by "
        "lobe or network and on a glass brain",
        "Connections found at all {n_sites} sites{n}, {patients} and {controls} side by side. "
        "Vermilion: at every site of this group alone, and different between groups (q ≤ 0.05); "
        "orange: at every site of this group alone, but no more different than chance allows; "
        "grey: at every site of both groups. The other group may have a coloured connection at "
        "some of its sites, or reversed.",
        "Report vermilion connections as differences between {patients} and {controls}, and no "
        "others: one that is at every site of a single group can be so by chance.",
    ),
    "site_specific": Caption(
        "Connections of {group} found at one site only, on a glass brain per site",
        "Connections of {group} found at exactly one of {n_sites} sites{n}.",
        "These connections may reflect a site's scanner, its subjects or chance (Evidence gives "
        "the number expected by chance); do not report them as a property of {group}.",
    ),
}
# Of the same figure with many sites.
SITE_SPECIFIC_COUNTS = Caption(
    "Number of connections of {group} found at each site only",
    "Number of connections of {group} found at exactly one of {n_sites} sites{n}, by site and sign "
    "of the weight; results/analysis/site_specific.tsv lists them.",
    "A site with many has a network unlike the others', for reasons of its scanner, its subjects "
    "or chance; do not report its connections as a property of {group}.",
)


def networks_captions(findings: Findings) -> dict[str, Caption]:
    """Fill the captions of every group and site with their names and numbers of subjects."""
    captions = {"overlap": CAPTIONS["overlap"].filled(**findings.caption_words)}
    for group, site in findings.networks:
        n_subjects = findings.sidecars[group, site]["Subjects"]
        words = {"whose": f"{group} at {site}", "n": f" (n = {n_subjects} discovery subjects)"}
        for kind in ("brain", "circle", "matrix"):
            name = f"network_group-{group}_site-{site}_{kind}"
            captions[name] = CAPTIONS[f"network_{kind}"].filled(**words)
    for group, n_subjects in findings.n_subjects.items():
        n_found = int((findings.tables["site_specific"]["group"] == group).sum())
        counted = len(findings.sites) > MANY_SITES
        caption = SITE_SPECIFIC_COUNTS if counted else CAPTIONS["site_specific"]
        captions[f"site_specific_group-{group}"] = caption.filled(
            group=group,
            n_sites=len(findings.sites),
            n=f" ({n_found} connections; n = {n_subjects} discovery subjects over all sites)",
        )
    return captions


def networks_section(
    findings: Findings, pictures: Mapping[str, Picture], stability: pd.DataFrame | None = None
) -> Section:
    """Show all networks, what they share, and the table of connections.

    ``stability``, if it was computed, has ``group``, ``from``, ``to`` and ``share``: the share of
    draws of validation subjects in which the connection was found.
    """
    edges = edge_records(findings, stability)
    return Section(
        "networks",
        "Networks",
        {
            "groups": findings.groups,
            "sites": findings.sites,
            "pictures": pictures,
            "n_overlap": len(findings.tables["overlap"]),
            "counts": page_table(
                "connection_counts",
                "Number of connections, counted with and without direction",
                with_both_groups(findings.tables["counts"], findings.groups),
                {"result": "connections", "who": "of", "directed": "with direction",
                 "undirected": "without"},
            ),
            "edge_table": connection_table(findings, edges, stability is not None),
            "edges": Records("connections", edges, _n_weights(edges) > MOST_WEIGHTS),
            "audit": _audit_table(findings),
        },
    )  # fmt: skip


def _n_weights(edges: Sequence[Mapping[str, Any]]) -> int:
    return sum(len(sites) for edge in edges for sites in edge["weights"].values())


def _audit_table(findings: Findings) -> PageTable:
    titles = {
        "group": "group", "site": "site", "edges": "edges",
        "common_connections": "also on the other scale", "same_direction": "same direction",
        "share_same_direction": "share", "var_sortability": "var-sortability",
        "r2_sortability": "R²-sortability", "also_by_sort_and_regress": "found by sorting alone",
    }  # fmt: skip
    formats = {
        "share_same_direction": ".0%",
        "var_sortability": ".2f",
        "r2_sortability": ".2f",
        "also_by_sort_and_regress": ".0f",
    }
    return page_table(
        "scale_audit",
        "Directions on the other scale, and edges that sorting alone would find",
        findings.tables["scale_audit"],
        titles,
        formats,
    )


def brain_figure(network: pd.DataFrame, rois: pd.DataFrame, title: str) -> Figure:
    """Draw the network on three views of a glass brain.

    Parameters
    ----------
    network : DataFrame of shape (d, d)
        Labelled by ROI; entry (i, j) is i → j.
    rois : DataFrame
        Indexed by abbreviation: ``lobe``, ``x``, ``y``, ``z``.
    title : str
        Group, site, number of edges and of subjects.
    """
    with mpl.rc_context(RC):
        figure = Figure(figsize=(9.5, 4))
        figure.set_layout_engine("none")
        places = ((0.0, 0.36), (0.37, 0.26), (0.64, 0.36))
        views = [figure.add_axes((left, 0.14, width, 0.72)) for left, width in places]
        draw_brain(views, signed_arrows(network), rois)
        figure.suptitle(title, fontsize=10)
        figure.legend(
            handles=[*SIGNS, *lobe_handles(rois)], loc="lower center", ncols=4, fontsize=7
        )
    return figure


def circle_figure(network: pd.DataFrame, rois: pd.DataFrame, title: str) -> Figure:
    """Draw the network on a circle; for the arguments see :func:`brain_figure`."""
    with mpl.rc_context(RC):
        figure = Figure(figsize=(6.6, 7.1))
        figure.set_layout_engine("none")
        draw_circle(figure.add_axes((0, 0.08, 1, 0.87)), signed_arrows(network), rois)
        figure.suptitle(title, fontsize=10)
        figure.legend(
            handles=[*SIGNS, *lobe_handles(rois)], loc="lower center", ncols=3, fontsize=7
        )
    return figure


def matrix_figure(network: pd.DataFrame, title: str) -> Figure:
    """Draw the weights as a matrix, from the row's region to the column's."""
    largest = max(float(np.abs(network.to_numpy()).max(initial=0)), 1e-12)
    with mpl.rc_context(RC):
        figure = Figure(figsize=(6.6, 6.6))
        axis = figure.subplots()
        looks: dict[str, Any] = {"cmap": "RdBu_r", "vmin": -largest, "vmax": largest}
        order = ""
        if len(network) <= MOST_CELLS:
            image: ScalarMappable = axis.imshow(network.to_numpy(), **looks)
            ticks = range(len(network))
            axis.set_xticks(ticks, list(network.columns), rotation=90, fontsize=5.5)
            axis.set_yticks(ticks, list(network.index), fontsize=5.5)
            # One collection of lines per direction: a grid of minor ticks is several times slower.
            between, end = np.arange(len(network)) - 0.5, len(network) - 0.5
            axis.hlines(between, -0.5, end, color="#e6e6e6", linewidth=0.3)
            axis.vlines(between, -0.5, end, color="#e6e6e6", linewidth=0.3)
            axis.tick_params(length=0)
        else:
            start, to = network.to_numpy().nonzero()
            weights = network.to_numpy()[start, to]
            image = axis.scatter(
                to + 1, start + 1, 9, weights, edgecolors="#8c8c8c", lw=0.3, **looks
            )
            n = len(network) + 1
            axis.set(xlim=(0, n), ylim=(n, 0), aspect="equal")
            order = " (number among the selected regions)"
        axis.set_xlabel(f"to{order}")
        axis.set_ylabel(f"from{order}")
        axis.set_title(title, fontsize=10)
        figure.colorbar(image, ax=axis, shrink=0.6, label="weight")
    return figure


def network_figures(
    network: pd.DataFrame, rois: pd.DataFrame, whose: str, n_subjects: int
) -> dict[str, Figure]:
    """Draw a network in all three ways, with its numbers of edges and subjects in the title."""
    n_edges = int((network.to_numpy() != 0).sum())
    subjects = "1 subject" if n_subjects == 1 else f"{n_subjects} subjects"
    title = f"{whose}: {n_edges} edges, from {subjects}"
    return {
        "brain": brain_figure(network, rois, title),
        "circle": circle_figure(network, rois, title),
        "matrix": matrix_figure(network, title),
    }


def overlap_figure(
    overlap: pd.DataFrame, groups: tuple[str, str], n_sites: int, rois: pd.DataFrame
) -> Figure:
    """Draw the connections found at all sites, patients and controls side by side.

    Parameters
    ----------
    overlap : DataFrame
        ``from``, ``to``, ``q`` and ``found_in``: a group's label followed by "only", or "both".
    groups : tuple of str
        Patients and controls.
    n_sites : int
        Number of sites.
    rois : DataFrame
        Indexed by abbreviation: ``lobe``, ``x``, ``y``, ``z``.
    """
    with mpl.rc_context(RC):
        figure = Figure(figsize=(13, 9.4))
        rows: Any = figure.subfigures(2, 1, height_ratios=[9, 0.5])
        columns = rows[0].subfigures(1, 2)
        for column, group, other in zip(columns, groups, groups[::-1], strict=True):
            own = overlap[overlap["found_in"] == f"{group} only"]
            both = overlap[overlap["found_in"] == "both"]
            differs = own["q"] <= FOUND
            arrows = [
                *_plain(both, GREY, 0.8),
                *_plain(own[~differs], ORANGE, 1.1),
                *_plain(own[differs], VERMILION, 1.6),
            ]
            column.suptitle(
                f"{group}: {len(own) + len(both)} connections at all {n_sites} sites, "
                f"{len(own)} not at every site of {other} ({int(differs.sum())} with q ≤ {FOUND})",
                fontsize=10,
                fontweight="bold",
            )
            upper, lower = column.subfigures(2, 1, height_ratios=[3, 1.05])
            circle = upper.subplots()
            draw_circle(circle, arrows, rois)
            if not arrows:
                circle.text(0, 0, "no connection at every site", ha="center", fontsize=10)
            draw_brain(list(lower.subplots(1, 3)), arrows, rois)
        alone = "at every site of this group alone"
        kinds = [
            Line2D([], [], color=VERMILION, linewidth=1.6, label=f"{alone}, q ≤ {FOUND}"),
            Line2D([], [], color=ORANGE, linewidth=1.2, label=f"{alone}, as by chance"),
            Line2D([], [], color=GREY, linewidth=1.2, label="at every site of both groups"),
        ]
        rows[1].legend(handles=[*kinds, *lobe_handles(rois)], loc="center", ncols=4, fontsize=8)
    return figure


def site_specific_figure(
    alone: pd.DataFrame, group: str, sites: Sequence[str], rois: pd.DataFrame
) -> Figure:
    """Draw the connections found at one site only, one row of views per site.

    ``alone`` has ``group``, ``site``, ``from``, ``to`` and ``weight``. With many sites, the
    connections of each are counted.
    """
    own = alone[alone["group"] == group]
    if len(sites) > MANY_SITES:
        return _site_specific_counts(own, group, sites)
    panels = []
    for site in sites:
        edges = own[own["site"] == site]
        network = edges.pivot(index="from", columns="to", values="weight").fillna(0.0)
        panels.append((f"{group} at {site} alone: {_count(len(edges))}", signed_arrows(network)))
    return brain_rows(panels, rois)


def _site_specific_counts(own: pd.DataFrame, group: str, sites: Sequence[str]) -> Figure:
    """Draw the numbers of connections that each site alone has, by the sign of their weight."""
    with mpl.rc_context(RC):
        figure = Figure(figsize=(9.5, 1.2 + 0.17 * len(sites)))
        axis = figure.subplots()
        start = np.zeros(len(sites))
        for sign, colour, label in (
            (1, INK, "positive weight"),
            (-1, VERMILION, "negative weight"),
        ):
            chosen = own["site"][np.sign(own["weight"]) == sign]
            counts = chosen.value_counts().reindex(list(sites), fill_value=0).to_numpy()
            axis.barh(range(len(sites)), counts, left=start, color=colour, label=label)
            start = start + counts
        axis.set_yticks(range(len(sites)), [*sites], fontsize=7)
        axis.set_ylim(len(sites) - 0.5, -0.5)
        axis.set_xlabel("connections found at this site only")
        axis.set_title(
            f"{group}: {_count(len(own))} at one of {len(sites)} sites only", fontsize=10
        )
        axis.legend(fontsize=8)
    return figure


def _plain(edges: pd.DataFrame, colour: str, width: float) -> list[Arrow]:
    return [
        Arrow(str(start), str(end), colour, width)
        for start, end in zip(edges["from"], edges["to"], strict=True)
    ]


def _count(n: int) -> str:
    return {0: "no connection", 1: "1 connection"}.get(n, f"{n} connections")
