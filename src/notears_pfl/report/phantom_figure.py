"""The phantom cohort at a glance: anatomy, the sites' scanners, true networks, movement."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from notears_pfl.report.style import BLACK, BLUE, ORANGE, RC, VERMILION

KIND_LOOKS = {
    "shared": ("every site, both groups", BLACK, "o"),
    "patients": ("every site, {patients} only", VERMILION, "^"),
    "controls": ("every site, {controls} only", BLUE, "v"),
    "site": ("one site only", ORANGE, "x"),
}


@dataclass(frozen=True)
class Slice:
    """A plane of an image, rows upwards, and the height of a pixel over its width."""

    pixels: np.ndarray
    aspect: float


def sagittal_slice(image: np.ndarray, affine: np.ndarray) -> Slice:
    """Middle plane from the left to the right, of a volume along the world's axes."""
    spacing = np.abs(np.diag(affine))
    return Slice(pixels=image[image.shape[0] // 2].T, aspect=spacing[2] / spacing[1])


def cohort_figure(
    anatomy: Slice, scans: Mapping[str, Slice], edges: pd.DataFrame, rois: Sequence[str],
    groups: tuple[str, str], motion: pd.DataFrame, brightness: np.ndarray,
    repetition_time: float, subject: str,
) -> Figure:  # fmt: skip
    """Draw the cohort.

    Parameters
    ----------
    anatomy : Slice
        T1w image of the subject.
    scans : mapping of str to Slice
        BOLD image of one subject per site, by the site's title.
    edges : DataFrame
        Columns ``from``, ``to`` and ``kind``: the true edges.
    rois : sequence of str
        The selected regions, in the atlas's order.
    groups : tuple of str
        Labels of patients and controls.
    motion : DataFrame
        The subject's true movement, mm and radians per volume.
    brightness : ndarray of shape (n_volumes,)
        Mean of the subject's BOLD image per volume.
    repetition_time : float
        Of the subject's scan, seconds.
    subject : str
        Whom anatomy, movement and brightness belong to.
    """
    with mpl.rc_context(RC):
        figure = Figure(figsize=(11, 8.5))
        rows: Any = figure.subfigures(2, 1, height_ratios=[1, 2.6])
        axes = rows[0].subplots(1, 1 + len(scans), width_ratios=[1.2] + [1] * len(scans))
        _draw_slice(axes[0], anatomy, f"T1w, {subject}")
        for axis, (title, scan) in zip(axes[1:], scans.items(), strict=True):
            _draw_slice(axis, scan, title)
        network, courses = rows[1].subfigures(1, 2, width_ratios=[1.45, 1])
        _draw_edges(network.subplots(), edges, rois, groups)
        network.legend(loc="outside lower center", ncols=2, fontsize=7)
        _draw_courses(courses.subplots(3, 1, sharex=True), motion, brightness, repetition_time)
        courses.suptitle(f"True movement of {subject}, and what it does", fontsize=10)
    return figure


def _draw_slice(axis: Axes, plane: Slice, title: str) -> None:
    axis.imshow(plane.pixels, cmap="gray", origin="lower", aspect=plane.aspect)
    axis.set_title(title, fontsize=8)
    axis.set_axis_off()


def _draw_edges(
    axis: Axes, edges: pd.DataFrame, rois: Sequence[str], groups: tuple[str, str]
) -> None:
    place = {roi: position for position, roi in enumerate(rois)}
    for kind, (label, colour, marker) in KIND_LOOKS.items():
        some = edges[edges["kind"] == kind]
        who = label.format(patients=groups[0], controls=groups[1])
        axis.scatter(
            some["to"].map(place), some["from"].map(place), s=26, c=colour, marker=marker,
            label=f"{who} ({len(some)})",
        )  # fmt: skip
    axis.set_xticks(range(len(rois)), rois, rotation=90, fontsize=5)
    axis.set_yticks(range(len(rois)), rois, fontsize=5)
    axis.set_xlim(-1, len(rois))
    axis.set_ylim(len(rois), -1)
    axis.grid(linewidth=0.3, alpha=0.5)
    axis.set_axisbelow(True)
    axis.set_aspect("equal")
    axis.set_xlabel("to")
    axis.set_ylabel("from")
    axis.set_title("True directed connections, by who has them")


def _draw_courses(
    axes: np.ndarray, motion: pd.DataFrame, brightness: np.ndarray, repetition_time: float
) -> None:
    seconds = np.arange(len(motion)) * repetition_time
    for name in ("x", "y", "z"):
        axes[0].plot(seconds, motion[f"trans_{name}"], label=name, linewidth=1)
        axes[1].plot(seconds, np.rad2deg(motion[f"rot_{name}"]), label=name, linewidth=1)
    axes[2].plot(seconds, brightness / np.median(brightness) * 100 - 100, color=BLACK, linewidth=1)
    axes[0].set_ylabel("translation, mm")
    axes[1].set_ylabel("rotation, °")
    axes[2].set_ylabel("mean of the BOLD\nimage, % change")
    axes[2].set_xlabel("time, s")
    axes[0].legend(ncols=3, fontsize=7)
