"""Figures of one subject: movement, carpets, spectra, coverage, registrations."""

from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.signal import periodogram

from notears_pfl.report.style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    RC,
    SKY,
    VERMILION,
    lobe_colours,
)

# Framewise displacement beyond which a volume counts as moved, mm; as in the quality figures.
MOVED_MM = 0.5
PLANES = ("axial", "coronal", "sagittal")


def movement_figure(motion: pd.DataFrame, confounds: pd.DataFrame, tr: float) -> Figure:
    """Draw the six parameters, the framewise displacement and DVARS against time.

    Parameters
    ----------
    motion : DataFrame
        ``trans_x`` … in mm, ``rot_x`` … in radians, a row per volume.
    confounds : DataFrame
        ``fd_power_mm`` and ``dvars_percent``.
    tr : float
        Repetition time, s.
    """
    seconds = tr * np.arange(len(motion))
    with mpl.rc_context(RC):
        figure = Figure(figsize=(9, 6))
        axes = figure.subplots(4, 1, sharex=True)
        looks = ((BLUE, "-"), (VERMILION, "--"), (GREEN, "-."))
        for name, (colour, line) in zip("xyz", looks, strict=True):
            style: dict[str, Any] = {
                "color": colour,
                "linestyle": line,
                "linewidth": 1,
                "label": name,
            }
            axes[0].plot(seconds, motion[f"trans_{name}"], **style)
            axes[1].plot(seconds, np.rad2deg(motion[f"rot_{name}"]), **style)
        axes[0].legend(ncols=3, fontsize=7, loc="upper left")
        fd = confounds["fd_power_mm"]
        axes[2].plot(seconds, fd, color=INK, linewidth=1)
        moved = fd > MOVED_MM
        axes[2].plot(seconds[moved], fd[moved], "v", color=VERMILION, markersize=4)
        axes[2].axhline(MOVED_MM, color=VERMILION, linestyle="--", linewidth=1)
        axes[2].annotate(
            "0.5 mm",
            (1, MOVED_MM),
            xycoords=("axes fraction", "data"),
            fontsize=7,
            ha="right",
            va="bottom",
        )
        axes[3].plot(seconds[1:], confounds["dvars_percent"].iloc[1:], color=INK, linewidth=1)
        for axis, label in zip(
            axes, ("translation, mm", "rotation, °", "FD, mm", "DVARS, %"), strict=True
        ):
            axis.set_ylabel(label)
        axes[2].set_ylim(bottom=0)
        axes[3].set_xlabel("time, s")
    return figure  # fmt: skip


def carpet_figure(carpets: Mapping[str, pd.DataFrame], rois: pd.DataFrame, tr: float) -> Figure:
    """Draw the series of all regions, standardised, regions by lobe; one carpet per stage.

    ``rois`` is indexed by abbreviation, with ``lobe``; regions without values stay blank.
    """
    lobes = list(dict.fromkeys(rois["lobe"]))
    order = sorted(rois.index, key=lambda name: lobes.index(rois.loc[name, "lobe"]))
    colours = lobe_colours(rois["lobe"])
    with mpl.rc_context(RC):
        figure = Figure(figsize=(9, 0.6 + 2.6 * len(carpets)))
        grid = figure.subplots(len(carpets), 2, width_ratios=[1, 60], sharex="col", squeeze=False)
        for (side, axis), (title, series) in zip(grid, carpets.items(), strict=True):
            values = series.reindex(columns=order).to_numpy(dtype=float).T
            spread = values.std(axis=1, keepdims=True)
            shown = (values - values.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1)
            end = tr * len(series)
            axis.imshow(
                shown,
                cmap="gray",
                vmin=-2,
                vmax=2,
                aspect="auto",
                interpolation="nearest",
                extent=(0, end, len(order), 0),
            )
            strip = np.array([mpl.colors.to_rgb(colours[rois.loc[r, "lobe"]]) for r in order])
            side.imshow(strip[:, None, :], aspect="auto", extent=(0, 1, len(order), 0))
            side.set_xticks([])
            side.set_yticks([])
            side.set_ylabel(f"{len(order)} regions by lobe")
            axis.set_yticks([])
            axis.set_title(title, fontsize=9)
        grid[-1, 1].set_xlabel("time, s")
        handles = [mpl.patches.Patch(color=c, label=lobe) for lobe, c in colours.items()]
        figure.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=7)
    return figure  # fmt: skip


def spectrum_figure(
    stages: Mapping[str, pd.DataFrame], tr: float, band_hz: tuple[float, float] | None
) -> Figure:
    """Draw the mean power spectrum over regions of each stage, as shares of its total power."""
    with mpl.rc_context(RC):
        figure = Figure(figsize=(9, 2.8))
        axis = figure.subplots()
        looks = ((GREY, "-"), (BLUE, "-"))
        for (title, series), (colour, line) in zip(stages.items(), looks, strict=False):
            frequency, power = periodogram(
                series.dropna(axis=1).to_numpy(dtype=float), fs=1 / tr, axis=0
            )
            total = power.sum(axis=0)
            share = (power / np.where(total > 0, total, 1)).mean(axis=1)
            axis.plot(frequency, 100 * share, color=colour, linestyle=line, label=title)
        if band_hz:
            label = f"pass band, {band_hz[0]:g} to {band_hz[1]:g} Hz"
            axis.axvspan(*band_hz, color=ORANGE, alpha=0.18, linewidth=0, label=label)
        axis.set_xlim(left=0)
        axis.set_ylim(bottom=0)
        axis.set_xlabel("frequency, Hz")
        axis.set_ylabel("share of the power, %")
        axis.legend(fontsize=8)
    return figure


def coverage_figure(coverage: pd.Series, selected: list[str], limit: float) -> Figure:
    """Draw each region's share of voxels in the field of view, with the limit.

    The limit binds for the selected regions.
    """
    chosen = coverage.index.isin(selected)
    with mpl.rc_context(RC):
        figure = Figure(figsize=(9, 2.6))
        axis = figure.subplots()
        places = np.arange(len(coverage))
        for mask, colour, label in (
            (chosen, BLUE, "selected"),
            (~chosen, "#c4ccd4", "not selected"),
        ):
            axis.bar(places[mask], coverage[mask], color=colour, width=0.9, label=label)
        axis.axhline(limit, color=VERMILION, linestyle="--", linewidth=1, label=f"limit {limit:g}")
        names = [str(name) for name in coverage.index]
        low = [i for i in places if coverage.iloc[i] < max(limit, 0.8)]
        for i in low[:20]:
            axis.annotate(
                names[i],
                (i, coverage.iloc[i]),
                rotation=90,
                fontsize=6,
                ha="center",
                va="bottom",
            )
        axis.set_xticks([])
        axis.set_xlabel(f"{len(coverage)} regions, in the atlas's order")
        axis.set_ylabel("coverage")
        axis.set_ylim(0, 1.05)
        figure.legend(ncols=3, fontsize=7, loc="outside upper right")
    return figure  # fmt: skip


def registration_figure(slices: Mapping[str, Any]) -> Figure:
    """Draw the slices of a registration with the outlines of the other image on them.

    ``slices`` holds, for each plane, the image (slices, rows, columns), ``<plane>_outline``
    (1 the brain's, 2 the white matter's) and ``<plane>_mm``.
    """
    colours = mpl.colors.ListedColormap([ORANGE, SKY])
    with mpl.rc_context(RC):
        figure = Figure(figsize=(9, 1.9))
        axes = figure.subplots(1, sum(len(slices[plane]) for plane in PLANES))
        shown = ((plane, k) for plane in PLANES for k in range(len(slices[plane])))
        for axis, (plane, k) in zip(axes, shown, strict=True):
            axis.imshow(slices[plane][k], cmap="gray", vmin=0, vmax=255)
            outline = np.ma.masked_equal(slices[f"{plane}_outline"][k], 0)
            axis.imshow(outline, cmap=colours, vmin=1, vmax=2, interpolation="nearest")
            axis.set_title(
                f"{'zyx'[PLANES.index(plane)]} = {slices[f'{plane}_mm'][k]:.0f}", fontsize=7
            )
            axis.set_axis_off()
        handles = [
            mpl.patches.Patch(color=ORANGE, label="outline of the brain"),
            mpl.patches.Patch(color=SKY, label="outline of white matter"),
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=7)
    return figure
