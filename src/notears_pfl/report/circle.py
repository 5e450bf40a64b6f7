"""A directed network on a circle: regions by lobe, each hemisphere on its side, arrows inside."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, Patch, Wedge
from matplotlib.path import Path

from notears_pfl.report.brain import Arrow
from notears_pfl.report.style import lobe_colours

# Free angle at the top and at the bottom, between the hemispheres, in degrees.
GAP_DEG = 6.0
RADIUS, RING, NAMES = 1.0, 1.07, 1.10


def circle_angles(rois: pd.DataFrame) -> pd.Series:
    """Angle of each region in degrees, anticlockwise from the right.

    From the top down, lobe by lobe in the order of the table, regions of the right hemisphere
    (``x`` ≥ 0) stand on the right side of the circle, those of the left on the left.
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
    busy = {name for arrow in arrows for name in (arrow.start, arrow.end)}
    width = (180 - GAP_DEG) / max((rois["x"] >= 0).sum(), (rois["x"] < 0).sum(), 1)
    for name, angle in angles.items():
        axis.add_patch(
            Wedge(
                (0, 0), RING, angle - 0.46 * width, angle + 0.46 * width, width=RING - RADIUS,
                facecolor=colours[rois["lobe"][str(name)]], linewidth=0,
            )
        )  # fmt: skip
        _write_name(axis, str(name), angle, name in busy)
    for arrow in arrows:
        axis.add_patch(
            FancyArrowPatch(
                path=_bow(angles[arrow.start], angles[arrow.end]), arrowstyle="-|>",
                mutation_scale=8, linewidth=arrow.width, color=arrow.colour,
                linestyle=(0, (4, 2)) if arrow.dashed else "-", shrinkA=0, shrinkB=0,
            )
        )  # fmt: skip
    axis.text(-1.2, 1.2, "L", fontsize=10, ha="center", va="center")
    axis.text(1.2, 1.2, "R", fontsize=10, ha="center", va="center")
    axis.set_xlim(-1.42, 1.42)
    axis.set_ylim(-1.36, 1.36)
    axis.set_aspect("equal")
    axis.set_axis_off()


def lobe_handles(rois: pd.DataFrame) -> list[Patch]:
    """Entries of a legend of the lobes."""
    return [Patch(color=colour, label=lobe) for lobe, colour in lobe_colours(rois["lobe"]).items()]


def _write_name(axis: Axes, name: str, angle: float, busy: bool) -> None:
    radians = np.deg2rad(angle)
    on_right = np.cos(radians) >= 0
    axis.text(
        NAMES * np.cos(radians), NAMES * np.sin(radians), name, fontsize=6.5,
        rotation=angle if on_right else angle - 180, rotation_mode="anchor", va="center",
        ha="left" if on_right else "right", color="black" if busy else "#6b6b6b",
    )  # fmt: skip


def _bow(start: float, end: float) -> Path:
    """Curve from one angle to another, bent towards the middle; neighbours bend least."""
    ends = np.deg2rad([start, end])
    points = 0.985 * np.column_stack([np.cos(ends), np.sin(ends)])
    apart = np.abs((end - start + 180) % 360 - 180) / 180
    control = points.mean(axis=0) * (1 - 0.85 * np.sqrt(apart))
    if apart > 0.97:
        # Opposite ends: a control point of their own side keeps arrows there and back apart.
        control = 0.15 * np.array([-np.sin(ends[0]), np.cos(ends[0])])
    curve = np.linspace(0, 1, 40)[:, None]
    bent = (1 - curve) ** 2 * points[0] + 2 * curve * (1 - curve) * control + curve**2 * points[1]
    return Path(bent, [Path.MOVETO, *(Path.LINETO for _ in pairwise(bent))])
