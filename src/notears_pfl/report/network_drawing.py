"""Directed networks drawn as arrows: on a glass brain, and on a circle of regions by lobe."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import distribution
from importlib.util import module_from_spec, spec_from_file_location
from itertools import pairwise
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, Patch, Wedge
from matplotlib.path import Path

from notears_pfl.report.figure_style import RC
from notears_pfl.report.palette import INK, VERMILION, lobe_colours

# Views from the left, from above and from the right, with the two coordinates that each shows.
VIEWS = {"l": (1, 2), "z": (0, 1), "r": (1, 2)}
VIEW_NAMES = {"l": "left hemisphere", "z": "from above", "r": "right hemisphere"}
OUTLINE: Any = {"linewidths": 0.5, "alpha": 0.55}
# Margin around the brain, so that no arrow is clipped.
MARGIN_MM = 4
# Width of a letter and height of a line in the smallest view, as fractions of the view's width.
LETTER, LINE = 0.045, 0.09
# The circle: gap between the hemispheres at the top and at the bottom, in degrees, and the radii
# of the arrows' ends, the ring of lobes and the names.
GAP_DEG = 6.0
RADIUS, RING, NAMES = 1.0, 1.07, 1.10
# Names nearer to each other than this would overlap, in degrees; a letter takes this much radius.
BETWEEN_NAMES_DEG, NAME_LETTER = 2.1, 0.027
# With more arrows than this, all are drawn thinner.
MANY_ARROWS = 200
SIGNS = [
    Line2D([], [], color=INK, label="positive weight"),
    Line2D([], [], color=VERMILION, linestyle="--", label="negative weight"),
]


@dataclass(frozen=True)
class Arrow:
    """An edge, and how to draw it."""

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

    An arrow between the hemispheres is drawn in the view from above only. The ROIs with the most
    arrows in a view are named, as far as there is room.

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
        paths, inks, (left, right, bottom, top) = _brain_outline(view)
        axis.add_collection(PathCollection(paths, facecolors="none", edgecolors=inks, **OUTLINE))
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


@cache
def _brain_outline(view: str) -> tuple[list[Path], list[Any], tuple[float, float, float, float]]:
    """Outline of the brain in mm, as nilearn draws it: paths, their colours, and its bounds.

    Only the file with this drawing is loaded: all of nilearn's plotting takes a second to load.
    """
    file = distribution("nilearn").locate_file("nilearn/plotting/glass_brain.py")
    spec: Any = spec_from_file_location("glass_brain", str(file))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    axis = Figure().subplots()
    bounds = module.plot_brain_schematics(axis, view)
    to_mm = [patch.get_transform() - axis.transData for patch in axis.patches]
    paths = [
        in_mm.transform_path(patch.get_path())
        for in_mm, patch in zip(to_mm, axis.patches, strict=True)
    ]
    return paths, [patch.get_edgecolor() for patch in axis.patches], bounds


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


def circle_angles(rois: pd.DataFrame) -> pd.Series:
    """Angle of each region in degrees, anticlockwise from the right.

    Regions are placed from top to bottom, lobe by lobe in the order of the table: the right
    hemisphere (``x`` ≥ 0) on the right side of the circle, the left hemisphere on the left.
    """
    lobes = list(dict.fromkeys(rois["lobe"]))
    by_lobe = rois.assign(rank=rois["lobe"].map(lobes.index)).sort_values("rank", kind="stable")
    angles = {}
    for right in (True, False):
        side = by_lobe.index[(by_lobe["x"] >= 0) == right]
        step = (180 - GAP_DEG) / max(len(side), 1)
        for place, name in enumerate(side):
            down = GAP_DEG / 2 + step * (place + 0.5)
            angles[name] = 90 - down if right else 90 + down
    return pd.Series(angles, dtype=float).reindex(rois.index)


def draw_circle(axis: Axes, arrows: Sequence[Arrow], rois: pd.DataFrame) -> None:
    """Draw ``arrows`` between regions of ``rois`` (indexed by abbreviation; ``lobe``, ``x``)."""
    angles, colours = circle_angles(rois), lobe_colours(rois["lobe"])
    connected = {name for arrow in arrows for name in (arrow.start, arrow.end)}
    width = (180 - GAP_DEG) / max((rois["x"] >= 0).sum(), (rois["x"] < 0).sum(), 1)
    # As artists, not as patches: for the limits of the axes, which are set below, every arrow would
    # be laid out once more.
    for name, angle in angles.items():
        axis.add_artist(
            Wedge(
                (0, 0), RING, angle - 0.46 * width, angle + 0.46 * width, width=RING - RADIUS,
                facecolor=colours[rois["lobe"][str(name)]], linewidth=0,
            )
        )  # fmt: skip
    for name in named_on_circle(angles, arrows):
        _write_name(axis, name, angles[name], name in connected)
    thin = _thinness(arrows)
    for arrow in arrows:
        axis.add_artist(
            FancyArrowPatch(
                path=_bow(angles[arrow.start], angles[arrow.end]), arrowstyle="-|>",
                mutation_scale=8 * thin, linewidth=arrow.width * thin, color=arrow.colour,
                linestyle=(0, (4, 2)) if arrow.dashed else "-", shrinkA=0, shrinkB=0,
            )
        )  # fmt: skip
    # Room for the longest name.
    reach = NAMES + NAME_LETTER * max(map(len, map(str, rois.index)), default=0)
    across, up = max(1.42, reach), max(1.36, reach)
    for side, sign in (("L", -1), ("R", 1)):
        axis.text(0.845 * sign * across, 0.882 * up, side, fontsize=10, ha="center", va="center")
    axis.set_xlim(-across, across)
    axis.set_ylim(-up, up)
    axis.set_aspect("equal")
    axis.set_axis_off()


def named_on_circle(angles: pd.Series, arrows: Sequence[Arrow]) -> list[str]:
    """Regions to name: all, or those with the most arrows where not all names have room.

    ``angles`` of the regions, in degrees, are indexed by abbreviation.
    """
    placed = np.sort(angles.to_numpy())
    if len(placed) < 2 or np.diff(placed).min() >= BETWEEN_NAMES_DEG:
        return [str(name) for name in angles.index]
    ends = pd.Series([end for arrow in arrows for end in (arrow.start, arrow.end)], dtype=object)
    named: list[str] = []
    for name in ends.value_counts().index:
        apart = np.abs((angles[named] - angles[name] + 180) % 360 - 180)
        if (apart >= BETWEEN_NAMES_DEG).all():
            named.append(str(name))
    return named


def _thinness(arrows: Sequence[Arrow]) -> float:
    """Factor for the width of arrows."""
    return min(1.0, float(np.sqrt(MANY_ARROWS / max(len(arrows), 1))))


def lobe_handles(rois: pd.DataFrame) -> list[Patch]:
    """Legend entries of the lobes."""
    return [Patch(color=colour, label=lobe) for lobe, colour in lobe_colours(rois["lobe"]).items()]


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
    thin = _thinness(arrows)
    for arrow in arrows:
        if arrow.start in places and arrow.end in places:
            axis.add_artist(
                FancyArrowPatch(
                    tuple(places[arrow.start]), tuple(places[arrow.end]),
                    connectionstyle="arc3,rad=0.15", arrowstyle="-|>", mutation_scale=7 * thin,
                    shrinkA=1.5, shrinkB=2.5, linewidth=arrow.width * thin, color=arrow.colour,
                    linestyle=(0, (4, 2)) if arrow.dashed else "-", zorder=10,
                )
            )  # fmt: skip


def _name_hubs(
    axis: Axes, arrows: Sequence[Arrow], places: Mapping[str, np.ndarray], most: int = 8
) -> None:
    """Name the ROIs with the most arrows in the view, skipping names that would overlap."""
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
        # Near the right edge a name is written to the left of its ROI.
        at_edge = x > 0.8
        length = LETTER * len(name)
        box = (x - length if at_edge else x, y, x if at_edge else x + length, y + LINE)
        if len(boxes) == most or any(_overlap(box, other) for other in boxes):
            continue
        boxes.append(box)
        axis.annotate(
            name, tuple(places[name]), xytext=(-2.5 if at_edge else 2.5, 2.5),
            textcoords="offset points", fontsize=6.5, ha="right" if at_edge else "left", zorder=30,
            bbox={"boxstyle": "round,pad=0.1", "facecolor": "white", "alpha": 0.75, "linewidth": 0},
        )  # fmt: skip


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    """Whether two boxes (left, bottom, right, top) overlap."""
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _write_name(axis: Axes, name: str, angle: float, connected: bool) -> None:
    radians = np.deg2rad(angle)
    on_right = np.cos(radians) >= 0
    axis.text(
        NAMES * np.cos(radians), NAMES * np.sin(radians), name, fontsize=6.5,
        rotation=angle if on_right else angle - 180, rotation_mode="anchor", va="center",
        ha="left" if on_right else "right", color="black" if connected else "#6b6b6b",
    )  # fmt: skip


def _bow(start: float, end: float) -> Path:
    """Curve from one angle to another, bent towards the centre; the closer the ends, the less."""
    ends = np.deg2rad([start, end])
    points = 0.985 * np.column_stack([np.cos(ends), np.sin(ends)])
    apart = np.abs((end - start + 180) % 360 - 180) / 180
    control = points.mean(axis=0) * (1 - 0.85 * np.sqrt(apart))
    if apart > 0.97:
        # Opposite ends: offset the control point, so that arrows in the two directions separate.
        control = 0.15 * np.array([-np.sin(ends[0]), np.cos(ends[0])])
    curve = np.linspace(0, 1, 40)[:, None]
    bent = (1 - curve) ** 2 * points[0] + 2 * curve * (1 - curve) * control + curve**2 * points[1]
    return Path(bent, [Path.MOVETO, *(Path.LINETO for _ in pairwise(bent))])
