"""A directed network on a glass brain: nilearn's outline of the brain, our arrows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch
from nilearn.plotting.displays import GlassBrainAxes

from notears_pfl.report.style import INK, VERMILION, lobe_colours

# From the left, from above, from the right; and the two coordinates that a view shows.
VIEWS = {"l": (1, 2), "z": (0, 1), "r": (1, 2)}
VIEW_NAMES = {"l": "left hemisphere", "z": "from above", "r": "right hemisphere"}
OUTLINE = {"linewidth": 0.5, "alpha": 0.55}
# Millimetres left free around the brain, so that no arrow is cut off.
MARGIN_MM = 4
# Size of a name on the smallest view, as shares of the view's width.
LETTER, LINE = 0.045, 0.09


@dataclass(frozen=True)
class Arrow:
    """An edge as it is drawn."""

    start: str
    end: str
    colour: str
    width: float = 1.0
    dashed: bool = False


def signed_arrows(network: pd.DataFrame) -> list[Arrow]:
    """Arrows of a network: dark where positive, vermilion and dashed where negative.

    ``network`` of shape (d, d) is labelled by ROI; entry (i, j) is i → j.
    """
    weights = network.to_numpy()
    largest = max(float(np.abs(weights).max(initial=0)), 1e-12)
    return [
        Arrow(
            str(network.index[i]),
            str(network.columns[j]),
            INK if weights[i, j] > 0 else VERMILION,
            0.4 + 1.0 * abs(weights[i, j]) / largest,
            bool(weights[i, j] < 0),
        )
        for i, j in zip(*np.nonzero(weights), strict=True)
    ]


def draw_brain(axes: Sequence[Axes], arrows: Sequence[Arrow], rois: pd.DataFrame) -> None:
    """Draw ``arrows`` on three views, one axis each.

    An arrow between the hemispheres shows from above only. Names stand at the ROIs of most
    arrows of a view, as far as there is room.

    Parameters
    ----------
    axes : sequence of three Axes
        For the left hemisphere, the view from above, and the right hemisphere.
    arrows : sequence of Arrow
        The edges.
    rois : DataFrame
        Indexed by abbreviation, with ``lobe`` and MNI coordinates ``x``, ``y``, ``z`` in mm.
    """
    colours = lobe_colours(rois["lobe"])
    for axis, (view, dimensions) in zip(axes, VIEWS.items(), strict=True):
        outline = GlassBrainAxes(axis, view, 0, **OUTLINE)
        left, right, bottom, top = outline.get_object_bounds()
        axis.set_xlim(left - MARGIN_MM, right + MARGIN_MM)
        axis.set_ylim(bottom - MARGIN_MM, top + MARGIN_MM)
        if view == "l":
            axis.invert_xaxis()
        axis.set_aspect("equal")
        axis.set_axis_off()
        axis.set_title(VIEW_NAMES[view], fontsize=8, pad=2)
        shown = rois[_on_side(rois, view)]
        places = dict(
            zip(shown.index, shown[["x", "y", "z"]].to_numpy()[:, dimensions], strict=True)
        )
        _draw_arrows(axis, arrows, places)
        points = np.array(list(places.values())).reshape(-1, 2)
        axis.scatter(
            points[:, 0], points[:, 1], s=9, c=[colours[lobe] for lobe in shown["lobe"]],
            edgecolors="white", linewidths=0.4, zorder=20,
        )  # fmt: skip
        _name_hubs(axis, arrows, places)
        if view == "z":
            for side, x in (("L", left + 8), ("R", right - 8)):
                axis.text(x, top - 8, side, fontsize=9, ha="center", va="top")


def _on_side(rois: pd.DataFrame, view: str) -> np.ndarray:
    x = rois["x"].to_numpy()
    match view:
        case "l":
            return np.asarray(x < 0)
        case "r":
            return np.asarray(x >= 0)
    return np.ones(len(rois), dtype=bool)


def _draw_arrows(
    axis: Axes, arrows: Sequence[Arrow], places: Mapping[str, np.ndarray]
) -> None:  # fmt: skip
    for arrow in arrows:
        if arrow.start in places and arrow.end in places:
            axis.add_patch(
                FancyArrowPatch(
                    tuple(places[arrow.start]), tuple(places[arrow.end]),
                    connectionstyle="arc3,rad=0.15", arrowstyle="-|>", mutation_scale=7,
                    shrinkA=1.5, shrinkB=2.5, linewidth=arrow.width, color=arrow.colour,
                    linestyle=(0, (4, 2)) if arrow.dashed else "-", zorder=10,
                )
            )  # fmt: skip


def _name_hubs(
    axis: Axes, arrows: Sequence[Arrow], places: Mapping[str, np.ndarray], most: int = 8
) -> None:
    """Name the ROIs with most of the arrows that the view shows, where no name covers another."""
    ends = [
        end
        for arrow in arrows
        if arrow.start in places and arrow.end in places
        for end in (arrow.start, arrow.end)
    ]
    left, right = axis.get_xlim()
    boxes: list[tuple[float, float, float, float]] = []
    for name in pd.Series(ends, dtype=object).value_counts().index:
        x = (places[name][0] - left) / (right - left)
        y = places[name][1] / abs(right - left)
        # Names grow towards the middle where they would leave the picture.
        at_edge = x > 0.8
        length = LETTER * len(name)
        box = (x - length if at_edge else x, y, x if at_edge else x + length, y + LINE)
        if len(boxes) == most or any(_cover(box, other) for other in boxes):
            continue
        boxes.append(box)
        axis.annotate(
            name, tuple(places[name]), xytext=(-2.5 if at_edge else 2.5, 2.5),
            textcoords="offset points", fontsize=6.5, ha="right" if at_edge else "left", zorder=30,
            bbox={"boxstyle": "round,pad=0.1", "facecolor": "white", "alpha": 0.75, "linewidth": 0},
        )  # fmt: skip


def _cover(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    """Whether two boxes (left, bottom, right, top) have a part in common."""
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
