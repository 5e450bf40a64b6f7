"""Figures of a subject's data: head motion, carpets, spectra and coverage.

What is the same for all subjects of a site, such as axes and legends, is drawn once.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from numpy.typing import NDArray
from PIL import Image
from scipy.signal import periodogram

from notears_pfl.report.figure_style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    RC,
    VERMILION,
    Redrawn,
    lobe_colours,
)

# Framewise displacement above which a volume counts as moved, mm; as in the quality measures.
MOVED_MM = 0.5
# Largest share of the power in a figure of the spectrum, %.
SCALES = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 40, 60, 80, 100)


def _figure(height: float, left: float, bottom: float, top: float, gap: float = 0.0) -> Figure:
    """Figure of 9 inches by ``height``, with margins in inches and a gap in shares of a row.

    A layout that looks at the labels would take a quarter of the time of a subject's page.
    """
    with mpl.rc_context({"figure.constrained_layout.use": False}):
        figure = Figure(figsize=(9, height))
    figure.subplots_adjust(
        left=left / 9, right=0.985, bottom=bottom / height, top=1 - top / height, wspace=0.02,
        hspace=gap,
    )  # fmt: skip
    return figure


def movement_figure(
    motion: pd.DataFrame, confounds: pd.DataFrame, tr: float, censored: Sequence[int] = (),
    seams: Sequence[int] = (),
) -> Figure:  # fmt: skip
    """Draw the six motion parameters, framewise displacement and DVARS over time.

    Parameters
    ----------
    motion : DataFrame
        ``trans_x`` … in mm, ``rot_x`` … in radians, a row per volume.
    confounds : DataFrame
        ``fd_power_mm`` and ``dvars_percent``.
    tr : float
        Repetition time, s.
    censored, seams : sequence of int
        Volumes to mark, and first volumes of the runs that follow another.
    """
    seconds = tr * np.arange(len(motion))
    with mpl.rc_context(RC):
        figure = _figure(6, left=0.7, bottom=0.5, top=0.1, gap=0.15)
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
        for volume in censored:
            for axis in axes[2:]:
                axis.axvspan(tr * (volume - 0.5), tr * (volume + 0.5), color=GREY, alpha=0.4, lw=0)
        for seam in seams:
            for axis in axes:
                axis.axvline(tr * (seam - 0.5), color=INK, linestyle=":", linewidth=1)
        for axis, label in zip(
            axes, ("translation, mm", "rotation, °", "FD, mm", "DVARS, %"), strict=True
        ):
            axis.set_ylabel(label)
        axes[2].set_ylim(bottom=0)
        axes[3].set_xlabel("time, s")
    return figure  # fmt: skip


def carpet_values(series: pd.DataFrame, order: Sequence[str]) -> NDArray[np.float64]:
    """Standardise the series of regions, a row each; regions without values are missing."""
    values = series.reindex(columns=list(order)).astype(float)
    spread = values.std(ddof=0)
    standardised = (values - values.mean()) / spread.where(spread > 0, 1)
    return np.asarray(standardised.to_numpy().T)


def carpet_image(
    carpets: Mapping[str, pd.DataFrame], rois: pd.DataFrame, tr: float, seams: Sequence[int] = ()
) -> Image.Image:
    """Draw the standardised series of all regions by lobe, one carpet per stage.

    ``rois`` is indexed by abbreviation, with ``lobe``; regions without values stay blank. Lines
    mark the volumes in ``seams``, at which runs begin.
    """
    lobes = list(dict.fromkeys(rois["lobe"]))
    regions = sorted(
        zip(rois.index, rois["lobe"], strict=True), key=lambda region: lobes.index(region[1])
    )
    lengths = tuple((title, len(series)) for title, series in carpets.items())
    drawn = _carpets(lengths, tuple(regions), tuple(lobes), tr, tuple(seams))
    for image, series in zip(drawn.changing, carpets.values(), strict=False):
        cast(AxesImage, image).set_data(carpet_values(series, [name for name, _ in regions]))
    return drawn.image()


@lru_cache(maxsize=4)
def _carpets(
    lengths: tuple[tuple[str, int], ...], regions: tuple[tuple[str, str], ...],
    lobes: tuple[str, ...], tr: float, seams: tuple[int, ...],
) -> Redrawn:  # fmt: skip
    """Draw all but the carpets: those are the first of the changing artists."""
    colours, n = lobe_colours(lobes), len(regions)
    strip = np.array([mpl.colors.to_rgb(colours[lobe]) for _, lobe in regions])
    carpets: list[Artist] = []
    lines: list[Artist] = []
    with mpl.rc_context(RC):
        figure = _figure(0.6 + 2.6 * len(lengths), left=0.35, bottom=1.0, top=0.3, gap=0.15)
        grid = figure.subplots(len(lengths), 2, width_ratios=[1, 60], sharex="col", squeeze=False)
        for (side, axis), (title, n_volumes) in zip(grid, lengths, strict=True):
            carpets.append(
                axis.imshow(
                    np.zeros((n, n_volumes)), cmap="gray", vmin=-2, vmax=2, aspect="auto",
                    interpolation="nearest", extent=(0, tr * n_volumes, n, 0),
                )
            )  # fmt: skip
            lines += [axis.axvline(tr * seam, color=VERMILION, linewidth=1) for seam in seams]
            side.imshow(strip[:, None, :], aspect="auto", extent=(0, 1, n, 0))
            side.set_xticks([])
            side.set_yticks([])
            side.set_ylabel(f"{n} regions by lobe or network")
            axis.set_yticks([])
            axis.set_title(title, fontsize=9)
        grid[-1, 1].set_xlabel("time, s")
        handles = [mpl.patches.Patch(color=c, label=lobe) for lobe, c in colours.items()]
        figure.legend(handles=handles, loc="lower center", ncols=4, fontsize=7)
    return Redrawn(figure, [*carpets, *lines])


def mean_spectrum(
    series: pd.DataFrame, tr: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give frequencies, Hz, and the power at each as a share of all, %, mean over regions."""
    # Bridged as for the filter.
    whole = series.dropna(axis=1, how="all").interpolate(limit_direction="both")
    frequency, power = periodogram(whole.to_numpy(dtype=float), fs=1 / tr, axis=0)
    total = power.sum(axis=0)
    return frequency, 100 * (power / np.where(total > 0, total, 1)).mean(axis=1)


def spectrum_image(
    stages: Mapping[str, pd.DataFrame], tr: float, band_hz: tuple[float, float] | None
) -> Image.Image:
    """Draw the power spectrum of each stage, mean over regions, as shares of total power."""
    spectra = {title: mean_spectrum(series, tr) for title, series in stages.items()}
    highest = max((power.max(initial=0.0) for _, power in spectra.values()), default=0.0)
    # Few different scales, so that few frames are drawn.
    top = next((top for top in SCALES if highest <= top), 100.0)
    drawn = _spectra(tuple(stages), tr, band_hz and tuple(band_hz), top)
    for line, (frequency, power) in zip(drawn.changing, spectra.values(), strict=True):
        cast(Line2D, line).set_data(frequency, power)
    return drawn.image()


@lru_cache(maxsize=8)
def _spectra(
    titles: tuple[str, ...], tr: float, band_hz: tuple[float, ...] | None, top: float
) -> Redrawn:
    """Draw all but the lines: those are the changing artists."""
    with mpl.rc_context(RC):
        figure = _figure(2.8, left=0.7, bottom=0.5, top=0.1)
        axis = figure.subplots()
        lines = [
            axis.plot([], [], color=colour, label=title)[0]
            for title, colour in zip(titles, (GREY, BLUE), strict=False)
        ]
        if band_hz:
            low, high = band_hz
            label = f"pass band, {low:g} to {high:g} Hz"
            axis.axvspan(low, high, color=ORANGE, alpha=0.18, linewidth=0, label=label)
        axis.set_xlim(0, 0.5 / tr)
        axis.set_ylim(0, top)
        axis.set_xlabel("frequency, Hz")
        axis.set_ylabel("share of the power, %")
        axis.legend(fontsize=8, loc="upper right")
    return Redrawn(figure, lines)


def coverage_figure(coverage: pd.Series, selected: list[str], limit: float) -> Figure:
    """Draw the share of each region's voxels in the field of view.

    The limit applies to the selected regions.
    """
    chosen = coverage.index.isin(selected)
    with mpl.rc_context(RC):
        figure = _figure(2.6, left=0.7, bottom=0.3, top=0.3)
        axis = figure.subplots()
        places = np.arange(len(coverage))
        # A line per region, nine tenths of the room it has: a patch each would take half of the
        # time of a subject's page.
        width = 0.9 * 72 * (9 * 0.985 - 0.7) / (len(coverage) + 1)
        for mask, colour, label in (
            (chosen, BLUE, "selected"),
            (~chosen, "#c4ccd4", "not selected"),
        ):
            axis.vlines(places[mask], 0, coverage[mask], colour, linewidth=width, label=label)
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
        axis.set_xlim(-1, len(coverage))
        axis.set_ylim(0, 1.05)
        figure.legend(ncols=3, fontsize=7, loc="upper right")
    return figure  # fmt: skip
