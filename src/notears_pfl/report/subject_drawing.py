"""Figures of a subject's data, as SVG: head motion, carpets, spectra and coverage."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from notears_pfl.report.palette import BLUE, GREEN, GREY, INK, ORANGE, VERMILION, lobe_colours
from notears_pfl.report.svg_drawing import (
    LABEL,
    LETTER,
    SMALL,
    WIDTH,
    Panel,
    block,
    drawing,
    key,
    text,
    triangle,
)

# Framewise displacement above which a volume counts as moved, mm; as in the quality measures.
MOVED_MM = 0.5
# Largest share of the power in a figure of the spectrum, %.
SCALES = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 40, 60, 80, 100)
# Margins of all figures at the left, with numbers and without, and at the right.
LEFT, NARROW, RIGHT = 70, 40, 14
PLAIN, DASHED, DOTTED, DASHDOT = "", "6 4", "1.5 3", "8 3 2 3"
# Standard deviations that are black and white in a carpet, minus and plus.
DARKEST = 2.0
# Axes where the repetition time is known, and where it is not.
TIME, FREQUENCY = "time, s", "frequency, Hz"
VOLUME, PER_VOLUME = "volume", "cycles per volume"
# Coverage below which a region is named, and the most regions that are.
LOW_COVERAGE, MOST_NAMED = 0.8, 20
# Size of the text of these names.
NAME = 0.8 * SMALL


def movement_drawing(
    motion: pd.DataFrame, confounds: pd.DataFrame, tr: float | None, censored: Sequence[int] = (),
    seams: Sequence[int] = (),
) -> str:  # fmt: skip
    """Draw the six motion parameters, framewise displacement and DVARS over time.

    Parameters
    ----------
    motion : DataFrame
        ``trans_x`` … in mm, ``rot_x`` … in radians, a row per volume.
    confounds : DataFrame
        ``fd_power_mm`` and ``dvars_percent``.
    tr : float or None
        Repetition time, s; if it is not known, volumes are counted.
    censored, seams : sequence of int
        Volumes to mark, and first volumes of the runs that follow another.
    """
    step = tr or 1.0
    seconds = step * np.arange(len(motion))
    fd, dvars = confounds["fd_power_mm"], confounds["dvars_percent"].iloc[1:]
    shifts = {name: motion[f"trans_{name}"] for name in "xyz"}
    turns = {name: np.rad2deg(motion[f"rot_{name}"]) for name in "xyz"}
    panels = [
        Panel(LEFT, 12 + 134 * place, WIDTH - LEFT - RIGHT, 116, (0, max(seconds[-1], step)), y)
        for place, y in enumerate(
            (
                _range(pd.concat(shifts.values())), _range(pd.concat(turns.values())),
                (0.0, 1.05 * float(np.fmax(fd.max(), MOVED_MM))), _range(dvars),
            )
        )
    ]  # fmt: skip
    labels = ("translation, mm", "rotation, °", "FD, mm", "DVARS, %")
    drawn: list[str] = []
    for volume in censored:
        ends = step * (volume - 0.5), step * (volume + 0.5)
        drawn += [panel.band(*ends, GREY, 0.4, "censored") for panel in panels[2:]]
    for panel, label in zip(panels, labels, strict=True):
        last = panel is panels[-1]
        drawn += panel.frame((TIME if tr else VOLUME) if last else "", label, x_ticks=last)
        drawn += [panel.upright(step * (seam - 0.5), INK, DOTTED, "seam") for seam in seams]
    looks = dict(zip("xyz", ((BLUE, PLAIN), (VERMILION, DASHED), (GREEN, DASHDOT)), strict=True))
    for panel, lines in zip(panels, (shifts, turns), strict=False):
        drawn += [panel.line(seconds, lines[n], c, dashes=line) for n, (c, line) in looks.items()]
    drawn += key(((c, line, name) for name, (c, line) in looks.items()), LEFT + 12, 20, 3, 60)
    drawn.append(panels[2].line(seconds, fd, INK))
    moved = (fd > MOVED_MM).to_numpy()
    marks = zip(panels[2].across(seconds[moved]), panels[2].down(fd[moved]), strict=True)
    drawn += [triangle(x, y, VERMILION) for x, y in marks]
    drawn.append(panels[2].level(MOVED_MM, VERMILION))
    limit = float(panels[2].down(MOVED_MM)) - 7
    drawn.append(text(WIDTH - RIGHT, limit, "0.5 mm", "end", SMALL))
    drawn.append(panels[3].line(seconds[1:], dvars, INK))
    return drawing(panels[-1].bottom + 48, drawn)


def _range(values: pd.Series) -> tuple[float, float]:
    """Range of an axis: that of the values and a little more."""
    low, high = float(values.min()), float(values.max())
    if not np.isfinite([low, high]).all() or low == high:
        return (low - 1, high + 1) if np.isfinite(low) else (0.0, 1.0)
    return low - 0.05 * (high - low), high + 0.05 * (high - low)


def carpet_values(series: pd.DataFrame, order: Sequence[str]) -> NDArray[np.float64]:
    """Standardise the series of regions, a row each; regions without values are missing."""
    values = series.reindex(columns=list(order)).to_numpy(dtype=float)
    n = np.isfinite(values).sum(axis=0)
    known = np.maximum(n, 1)
    centred = values - np.where(n, np.nansum(values, axis=0) / known, np.nan)
    spread = np.sqrt(np.nansum(centred**2, axis=0) / known)
    return np.asarray((centred / np.where(spread > 0, spread, 1)).T)


def carpet_drawing(
    carpets: Mapping[str, pd.DataFrame], rois: pd.DataFrame, tr: float | None,
    seams: Sequence[int] = (),
) -> str:  # fmt: skip
    """Draw the standardised series of all regions by lobe, one carpet per stage.

    ``rois`` is indexed by abbreviation, with ``lobe``; regions without values stay blank. Lines
    mark the volumes in ``seams``, at which runs begin. Without a repetition time ``tr``, volumes
    are counted.
    """
    step = tr or 1.0
    lobes = list(dict.fromkeys(rois["lobe"]))
    regions = [name for lobe in lobes for name in rois.index[rois["lobe"] == lobe]]
    colours, sizes = lobe_colours(lobes), rois["lobe"].value_counts()
    longest = max(len(series) for series in carpets.values())
    drawn: list[str] = []
    for place, (title, series) in enumerate(carpets.items()):
        top = 30 + 270 * place
        side = Panel(NARROW, top, 12, 230, (0, 1), (len(regions), 0))
        width = (WIDTH - 60 - RIGHT) * len(series) / longest
        panel = Panel(60, top, width, 230, (0, step * len(series)), (len(regions), 0))
        drawn.append(panel.image(carpet_pixels(carpet_values(series, regions))))
        ends = np.cumsum([0, *sizes[lobes]])
        for lobe, first, last in zip(lobes, side.down(ends[:-1]), side.down(ends[1:]), strict=True):
            drawn.append(block(side.left, first, side.width, last - first, colours[lobe]))
        drawn += [panel.upright(step * seam, VERMILION, kind="seam") for seam in seams]
        drawn.append(text((60 + WIDTH - RIGHT) / 2, top - 14, title))
        words = f"{len(regions)} regions by lobe or network"
        drawn.append(text(18, top + 115, words, turned=True))
        if place == len(carpets) - 1:
            drawn += panel.x_axis()
            drawn.append(text((60 + WIDTH - RIGHT) / 2, panel.bottom + 34, TIME if tr else VOLUME))
    bottom = 270 * len(carpets) + 48
    drawn += _lobe_key(colours, bottom)
    return drawing(bottom + 17 * -(-len(colours) // _lobe_columns(colours)), drawn)


def _lobe_columns(colours: Mapping[str, str]) -> int:
    """Columns of the legend of lobes, which has room for the longest name."""
    longest = 28 + SMALL * LETTER * max(map(len, colours)) + 14
    return max(1, min(4, int((WIDTH - NARROW - RIGHT) // longest)))


def _lobe_key(colours: Mapping[str, str], top: float) -> list[str]:
    columns = _lobe_columns(colours)
    entries = [(colour, "fill", lobe) for lobe, colour in colours.items()]
    return key(entries, NARROW, top, columns, (WIDTH - NARROW - RIGHT) / columns)


def carpet_pixels(values: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Give grey by standard deviations; what is missing is white."""
    shades = np.clip((values + DARKEST) / (2 * DARKEST), 0, 1)
    return np.where(np.isfinite(values), np.rint(255 * np.nan_to_num(shades)), 255).astype(np.uint8)


def mean_spectrum(
    series: pd.DataFrame, tr: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give frequencies, Hz, and the power at each as a share of all, %, mean over regions."""
    whole = series.dropna(axis=1, how="all")
    if whole.isna().to_numpy().any():
        # Bridged as for the filter.
        whole = whole.interpolate(limit_direction="both")
    values = whole.to_numpy(dtype=float)
    power = np.abs(np.fft.rfft(values - values.mean(axis=0), axis=0)) ** 2
    # Each stands for a positive and a negative frequency but the first and, of an even number of
    # volumes, the last.
    power[1 : (len(values) + 1) // 2] *= 2
    total = power.sum(axis=0)
    shares = 100 * (power / np.where(total > 0, total, 1)).mean(axis=1)
    frequency = np.asarray(np.fft.rfftfreq(len(values), tr), dtype=np.float64)
    return frequency, np.asarray(shares, dtype=np.float64)


def spectrum_drawing(
    stages: Mapping[str, pd.DataFrame], tr: float | None, band_hz: tuple[float, float] | None
) -> str:
    """Draw the power spectrum of each stage, mean over regions, as shares of total power.

    Without a repetition time ``tr``, frequencies are in cycles per volume.
    """
    step = tr or 1.0
    spectra = {title: mean_spectrum(series, step) for title, series in stages.items()}
    highest = max((power.max(initial=0.0) for _, power in spectra.values()), default=0.0)
    top = next((float(top) for top in SCALES if highest <= top), 100.0)
    panel = Panel(LEFT, 10, WIDTH - LEFT - RIGHT, 220, (0, 0.5 / step), (0, top))
    entries = [(c, PLAIN, title) for c, title in zip((GREY, BLUE), spectra, strict=False)]
    drawn: list[str] = []
    if band_hz and tr:
        drawn.append(panel.band(*band_hz, ORANGE, 0.18, "band"))
        entries.append(("#fbeccc", "fill", f"pass band, {band_hz[0]:g} to {band_hz[1]:g} Hz"))
    drawn += panel.frame(FREQUENCY if tr else PER_VOLUME, "share of the power, %")
    for (colour, _, _), (frequency, power) in zip(entries, spectra.values(), strict=False):
        drawn.append(panel.line(frequency, power, colour, 1.8))
    longest = 28 + SMALL * LETTER * max((len(label) for _, _, label in entries), default=0)
    drawn += key(entries, WIDTH - RIGHT - longest - 8, 22, 1, 0)
    return drawing(panel.bottom + 48, drawn)


def coverage_drawing(coverage: pd.Series, selected: Sequence[str], limit: float) -> str:
    """Draw the share of each region's voxels in the field of view.

    The limit applies to the selected regions.
    """
    low = np.flatnonzero(coverage.to_numpy() < max(limit, LOW_COVERAGE))[:MOST_NAMED]
    lengths = {i: LETTER * NAME * len(str(coverage.index[i])) for i in low}
    # Names stand on their bars and end below the legend.
    free = [200 * (1 - coverage.iloc[i] / 1.05) - 6 - length for i, length in lengths.items()]
    top = max([30.0, *(20 - room for room in free)])
    panel = Panel(LEFT, top, WIDTH - LEFT - RIGHT, 200, (-1, len(coverage)), (0, 1.05))
    chosen, unchosen = BLUE, "#c4ccd4"
    own = set(selected)
    width = 0.9 * panel.width / (len(coverage) + 1)
    places, heights = panel.across(np.arange(len(coverage))), panel.down(coverage.to_numpy())
    drawn = []
    for name, place, height in zip(coverage.index, places, heights, strict=True):
        looks = (chosen, "selected") if name in own else (unchosen, "other")
        bar = (place - width / 2, height, width, panel.bottom - height)
        drawn.append(block(*bar, looks[0], kind=looks[1]))
    drawn += panel.frame(y_label="coverage", x_ticks=False)
    drawn.append(panel.level(limit, VERMILION))
    for i, length in lengths.items():
        middle = heights[i] - 6 - length / 2
        drawn.append(text(places[i], middle, str(coverage.index[i]), size=NAME, turned=True))
    words = f"{len(coverage)} regions, in the atlas's order"
    drawn.append(text((panel.left + panel.right) / 2, panel.bottom + 16, words, size=LABEL))
    entries = [(chosen, "fill", "selected"), (unchosen, "fill", "not selected")]
    entries.append((VERMILION, DASHED, f"limit {limit:g}"))
    drawn += key(entries, WIDTH - RIGHT - 340, 10, 3, 115)
    return drawing(panel.bottom + 30, drawn)
