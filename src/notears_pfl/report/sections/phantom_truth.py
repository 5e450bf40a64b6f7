"""The phantom: its cohort at a glance, and the estimated networks against the true ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from notears_pfl.report.figure_style import RC
from notears_pfl.report.findings import Findings
from notears_pfl.report.page_parts import Caption, Picture, Section, page_table
from notears_pfl.report.palette import BLACK, BLUE, GREEN, ORANGE, VERMILION

QUANTITIES = {
    "network": "networks,\nwith\ndirection",
    "skeleton": "networks,\nwithout\ndirection",
    "overlap": "connections\nof all sites",
    "group only": "… of one\ngroup only",
    "site-specific": "connections\nof one site\nonly",
}
STAGES = {
    "true": ("from the true ROI series", GREEN, "D"),
    "preprocessed": ("from raw images, preprocessed", BLUE, "o"),
}
SCORES = {"precision": "precision", "recall": "recall", "f_score": "F-score"}
KIND_LOOKS = {
    "shared": ("every site, both groups", BLACK, "o"),
    "patients": ("every site, {patients} only", VERMILION, "^"),
    "controls": ("every site, {controls} only", BLUE, "v"),
    "site": ("one site only", ORANGE, "x"),
}
CAPTIONS = {
    "truth": Caption(
        "Precision, recall and F-score of the estimated networks against the truth",
        "Agreement with the phantom's true networks, estimated from its true ROI series and from "
        "its raw images. Points: one group at one site (one group, for connections of all sites); "
        "lines: means.",
        "The scores say how well the workflow recovers networks like the phantom's; they do not "
        "carry over to data with other noise, motion or networks, such as your own.",
    ),
    "figure_cohort": Caption(
        "The phantom: a T1w head, a BOLD image per site, true networks, head motion",
        "The phantom cohort: anatomy, one scan per site, true networks, and the effect of head "
        "motion on the signal.",
        "This is what the workflow was given to recover; it is simulated and says nothing about "
        "patients.",
    ),
}


def truth_section(findings: Findings, pictures: Mapping[str, Picture]) -> Section:
    """Show the scores of a phantom averaged over groups and sites."""
    title = "Truth of the phantom"
    truth = findings.tables["truth"]
    scores = ["n_true", "n_found", "n_correct"]
    sums = truth.groupby(["quantity", "series"], sort=False)[scores].sum()
    means = truth.groupby(["quantity", "series"], sort=False)[["precision", "recall", "f_score"]]
    order = [key for key in product(QUANTITIES, STAGES) if key in sums.index]
    table = sums.join(means.mean()).loc[order].reset_index()
    table["quantity"] = table["quantity"].map(lambda name: QUANTITIES[name].replace("\n", " "))
    table["series"] = table["series"].map(lambda name: STAGES[name][0])
    return Section(
        "truth",
        title,
        {
            "picture": pictures["truth"],
            "cohort_picture": pictures.get("figure_cohort"),
            "scores": page_table(
                "truth",
                "Agreement with the truth: counts summed, and scores averaged, over groups and "
                "sites",
                table,
                {
                    "quantity": "result", "series": "estimated", "n_true": "true",
                    "n_found": "found", "n_correct": "correct", "precision": "precision",
                    "recall": "recall", "f_score": "F-score",
                },
                {"precision": ".2f", "recall": ".2f", "f_score": ".2f"},
            ),
        },
    )  # fmt: skip


def truth_figure(truth: pd.DataFrame) -> Figure:
    """Draw precision, recall and F-score of every quantity, one point per group and site.

    ``truth`` has ``series`` (``true`` or ``preprocessed``), ``quantity`` and the scores.
    """
    with mpl.rc_context(RC):
        figure = Figure(figsize=(10.5, 3.8))
        for axis, (score, title) in zip(
            figure.subplots(1, 3, sharey=True), SCORES.items(), strict=True
        ):
            for offset, (stage, (label, colour, marker)) in zip(
                (-0.15, 0.15), STAGES.items(), strict=True
            ):
                for place, quantity in enumerate(QUANTITIES):
                    chosen = (truth["series"] == stage) & (truth["quantity"] == quantity)
                    values = truth.loc[chosen, score].dropna().to_numpy()
                    at = place + offset + np.linspace(-0.06, 0.06, max(len(values), 1))
                    axis.scatter(
                        at[: len(values)], values, color=colour, marker=marker, s=12, alpha=0.6,
                        label=label if place == 0 else None,
                    )  # fmt: skip
                    if len(values):
                        axis.hlines(
                            values.mean(), place + offset - 0.13, place + offset + 0.13,
                            color=colour, linewidth=2,
                        )  # fmt: skip
            axis.set_title(title)
            axis.set_xticks(range(len(QUANTITIES)), list(QUANTITIES.values()), fontsize=6)
            axis.set_ylim(0, 1.03)
            axis.grid(axis="y", linewidth=0.3)
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=8)
    return figure


@dataclass(frozen=True)
class Slice:
    """A plane of an image, bottom row first, and the ratio of pixel height to width."""

    pixels: np.ndarray
    aspect: float


def sagittal_slice(image: np.ndarray, affine: np.ndarray) -> Slice:
    """Mid-sagittal plane of a volume whose axes are aligned with the world's."""
    spacing = np.abs(np.diag(affine))
    return Slice(pixels=image[image.shape[0] // 2].T, aspect=spacing[2] / spacing[1])


def phantom_figure(
    anatomy: Slice, scans: Mapping[str, Slice], edges: pd.DataFrame, rois: Sequence[str],
    groups: tuple[str, str], motion: pd.DataFrame, brightness: np.ndarray,
    repetition_time: float, subject: str,
) -> Figure:  # fmt: skip
    """Draw the phantom cohort.

    Parameters
    ----------
    anatomy : Slice
        T1w image of the subject.
    scans : mapping of str to Slice
        BOLD image of one subject per site, by title.
    edges : DataFrame
        Columns ``from``, ``to`` and ``kind``: the true edges.
    rois : sequence of str
        The selected regions, in atlas order.
    groups : tuple of str
        Labels of patients and controls.
    motion : DataFrame
        The subject's true head motion, mm and radians per volume.
    brightness : ndarray of shape (n_volumes,)
        Mean of the subject's BOLD image per volume.
    repetition_time : float
        Repetition time of the subject's scan, s.
    subject : str
        The subject whose anatomy, motion and brightness are shown.
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
        courses.suptitle(f"True head motion of {subject} and its effect", fontsize=10)
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
    axis.set_title("True directed connections by sites and groups")


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
