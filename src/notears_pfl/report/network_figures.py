"""Figures of one network: on a glass brain, on a circle by lobe, as a matrix of weights."""

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from notears_pfl.report.brain import Arrow, draw_brain, signed_arrows
from notears_pfl.report.circle import draw_circle, lobe_handles
from notears_pfl.report.style import INK, RC, VERMILION

SIGNS = [
    Line2D([], [], color=INK, label="positive weight"),
    Line2D([], [], color=VERMILION, linestyle="--", label="negative weight"),
]


def brain_figure(network: pd.DataFrame, rois: pd.DataFrame, title: str) -> Figure:
    """Draw the network on three views of a glass brain.

    Parameters
    ----------
    network : DataFrame of shape (d, d)
        Labelled by ROI; entry (i, j) is i → j.
    rois : DataFrame
        Indexed by abbreviation: ``lobe``, ``x``, ``y``, ``z``.
    title : str
        Whose network it is, and from how many people.
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
    """Draw the network on a circle; arguments as of :func:`brain_figure`."""
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
    """Draw the weights as a matrix, from the row to the column."""
    largest = max(float(np.abs(network.to_numpy()).max(initial=0)), 1e-12)
    with mpl.rc_context(RC):
        figure = Figure(figsize=(6.6, 6.6))
        axis = figure.subplots()
        image = axis.imshow(network.to_numpy(), cmap="RdBu_r", vmin=-largest, vmax=largest)
        ticks = range(len(network))
        axis.set_xticks(ticks, list(network.columns), rotation=90, fontsize=5.5)
        axis.set_yticks(ticks, list(network.index), fontsize=5.5)
        # One collection of lines each way: a grid of minor ticks takes several times as long.
        between, end = np.arange(len(network)) - 0.5, len(network) - 0.5
        axis.hlines(between, -0.5, end, color="#e6e6e6", linewidth=0.3)
        axis.vlines(between, -0.5, end, color="#e6e6e6", linewidth=0.3)
        axis.tick_params(length=0)
        axis.set_xlabel("to")
        axis.set_ylabel("from")
        axis.set_title(title, fontsize=10)
        figure.colorbar(image, ax=axis, shrink=0.6, label="weight")
    return figure


def network_figures(
    network: pd.DataFrame, rois: pd.DataFrame, whose: str, n_subjects: int
) -> dict[str, Figure]:
    """Draw a network in all three ways, with its edges and people counted in the titles."""
    n_edges = int((network.to_numpy() != 0).sum())
    people = "1 person" if n_subjects == 1 else f"{n_subjects} people"
    title = f"{whose}: {n_edges} edges, from {people}"
    return {
        "brain": brain_figure(network, rois, title),
        "circle": circle_figure(network, rois, title),
        "matrix": matrix_figure(network, title),
    }


def brain_rows(panels: Sequence[tuple[str, Sequence[Arrow]]], rois: pd.DataFrame) -> Figure:
    """Draw one row of three views per panel, a panel being a title and its arrows."""
    with mpl.rc_context(RC):
        figure = Figure(figsize=(9.5, 0.5 + 3.1 * len(panels)))
        rows: Any = figure.subfigures(len(panels) + 1, 1, height_ratios=[3.1] * len(panels) + [0.4])
        for row, (title, arrows) in zip(rows, panels, strict=False):
            row.suptitle(title, fontsize=10, fontweight="bold")
            draw_brain(list(row.subplots(1, 3)), arrows, rois)
        rows[-1].legend(handles=[*SIGNS, *lobe_handles(rois)], loc="center", ncols=4, fontsize=7)
    return figure
