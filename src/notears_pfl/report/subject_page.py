"""The page of one subject: quality measures, figures of its data, and what was done to them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.signal import periodogram

from notears_pfl.io.images import read_arrays
from notears_pfl.io.sidecars import read_sidecar
from notears_pfl.io.tables import read_table
from notears_pfl.report.figure_style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    RC,
    VERMILION,
    draw_image,
    lobe_colours,
)
from notears_pfl.report.page import embed_image, render
from notears_pfl.report.page_parts import Caption, Picture, cell
from notears_pfl.report.registration_drawing import REGISTRATIONS, registration_figure
from notears_pfl.report.sections.subject_quality import FIGURES
from notears_pfl.runs import RUN

# Framewise displacement above which a volume counts as moved, mm; as in the quality measures.
MOVED_MM = 0.5
NOT_PROCESSED = "Not available: this step was done before the data entered the study."
NOT_REACHED = "No picture: processing failed before the end of this step."
# WebP quality of pictures of images; lossless they would take three times as much.
QUALITY = 85


@dataclass(frozen=True)
class SubjectRecord:
    """What is known about a subject; parts that the study does not have are None.

    ``slices`` are by kind, as in ``REGISTRATIONS``; a subject that failed may have some of them.
    """

    row: pd.Series
    report: Mapping[str, Any]
    raw: pd.DataFrame | None = None
    clean: pd.DataFrame | None = None
    motion: pd.DataFrame | None = None
    confounds: pd.DataFrame | None = None
    slices: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def censored(self) -> list[int]:
        """Positions of the volumes that cleaning removed."""
        return list(self.report.get("censored_volumes", []))

    @property
    def clean_in_time(self) -> pd.DataFrame | None:
        """Clean series with a row per volume of the run; those of censored volumes are missing."""
        if self.clean is None or not self.censored:
            return self.clean
        volumes = range(len(self.clean) + len(self.censored))
        kept = [volume for volume in volumes if volume not in set(self.censored)]
        return self.clean.set_axis(kept).reindex(volumes)


def read_subject(row: pd.Series, files: Mapping[str, Sequence[str]]) -> SubjectRecord:
    """Read a subject's files; those of steps that failed are empty and are not read.

    ``files`` has those of each run by kind: tables of several runs are shown one after another,
    pictures are those of the first run.
    """
    report = read_sidecar(files["report"][0])
    usable = {
        kind: [path for path in files.get(kind, []) if Path(path).stat().st_size]
        for kind in ("raw", "clean", "motion", "confounds")
        if report["status"] == "ok"
    }
    parts: dict[str, Any] = {
        kind: pd.concat([read_table(path) for path in paths], ignore_index=True)
        if len(paths) > 1
        else read_table(paths[0])
        for kind, paths in usable.items()
        if paths
    }
    slices = {kind: read_arrays(files[kind][0]) for kind in REGISTRATIONS if kind in files}
    shown = {kind: found for kind, found in slices.items() if found is not None}
    return SubjectRecord(row=row, report=report, slices=shown, **parts)


def subject_page(
    record: SubjectRecord, rois: pd.DataFrame, settings: Mapping[str, Any], back: str
) -> str:
    """Write the page.

    Parameters
    ----------
    record : SubjectRecord
        The subject.
    rois : DataFrame
        All regions, indexed by abbreviation, with ``lobe`` and ``selected``.
    settings : mapping
        ``band_hz``, None if the study did not filter, and ``min_coverage``.
    back : str
        Address of the index.
    """
    row = record.row
    numbers = [
        (FIGURES[name][0], cell(row[name], FIGURES[name][1]).text)
        for name in FIGURES
        if name in row
    ]
    return render(
        "subject.html",
        subject=row["participant_id"],
        site=row["site"],
        group=row["group"],
        status=row["split"] if row["included"] else "excluded",
        reason="" if pd.isna(row["exclusion"]) else row["exclusion"],
        numbers=numbers,
        cautions=record.report.get("cautions", []),
        parts=_parts(record, rois, settings),
        methods=list(record.report.get("methods", {}).values()),
        back=back,
    )


def _parts(
    record: SubjectRecord, rois: pd.DataFrame, settings: Mapping[str, Any]
) -> dict[str, Picture | str]:
    """Figure of each part, or why there is none."""
    name = record.row["participant_id"]
    parts = _registrations(record)
    if record.report["status"] == "failed":
        if not record.slices:
            return {"All figures": "Processing failed; no figures are available."}
        return parts
    tr = record.report.get("repetition_time") or 1.0
    parts["Head motion"] = (
        _picture(
            movement_figure(record.motion, record.confounds, tr, record.censored),
            f"Head motion of {name}: translations, rotations, framewise displacement and DVARS "
            "over time",
            "Estimated head motion; framewise displacement after Power, with volumes above 0.5 mm "
            "marked; DVARS within the brain."
            + (" Grey: volumes censored by scrubbing." if record.censored else ""),
            "Peaks of displacement and DVARS at the same time are motion in the signal; quiet "
            "traces do not show that the signal is free of it.",
        )
        if record.motion is not None and record.confounds is not None
        else NOT_PROCESSED
    )
    stages = {
        title: series
        for title, series in (
            ("before cleaning", record.raw),
            ("after cleaning", record.clean_in_time),
        )
        if series is not None
    }
    parts["Carpet"] = _picture(
        carpet_figure(stages, rois, tr),
        f"Carpet plots of {name}, {' and '.join(stages)}: one row per region, grey by signal",
        "Each row is the standardised signal of a region; cleaning should remove stripes across "
        "all rows. Blank rows: too few voxels in the field of view.",
        "Stripes that are left after cleaning point to motion, breathing or the scanner; their "
        "absence does not show that the signal is neural.",
    )
    parts["Spectrum"] = _picture(
        spectrum_figure(
            {title: series.drop(columns=RUN, errors="ignore") for title, series in stages.items()},
            tr,
            settings["band_hz"],
        ),
        f"Power spectrum of {name}, {' and '.join(stages)}",
        f"Mean over regions (n = {rois.shape[0]}), each normalised by its total power."
        + ("" if "repetition_time" in record.report else " TR unknown: frequency per volume."),
        "A narrow peak points to breathing, the heart or the scanner; a smooth spectrum does not "
        "show that the signal is neural.",
    )
    coverage = record.report.get("coverage")
    parts["Coverage"] = (
        _picture(
            coverage_figure(
                pd.Series(coverage), list(rois.index[rois["selected"]]), settings["min_coverage"]
            ),
            f"Share of each region of {name} inside the field of view",
            "Share of the voxels of each region in the field of view; regions below 0.8 are named.",
            "A region of low coverage is the mean of what is left of it; full coverage does not "
            "show that its signal is good.",
        )
        if coverage
        else NOT_PROCESSED
    )
    return parts


def _registrations(record: SubjectRecord) -> dict[str, Picture | str]:
    """Slices of the brain mask and both registrations, or why there are none."""
    failed = record.report["status"] == "failed"
    parts: dict[str, Picture | str] = {}
    for kind, shown in REGISTRATIONS.items():
        parts[shown.title] = (
            _picture(
                registration_figure(record.slices[kind]),
                f"{shown.image} of {record.row['participant_id']} with outlines",
                f"The {shown.image}; outlines of {shown.outlines}. {shown.right} The subject's "
                "left is on the left. Positions in mm.",
                "Where outlines are off in several slices, region series mix tissues or regions; a "
                "small gap in a single slice does not matter.",
                QUALITY,
            )
            if kind in record.slices
            else (NOT_REACHED if failed else NOT_PROCESSED)
        )
    return parts


def _picture(
    figure: Figure, alt: str, caption: str, conclude: str, quality: int | None = None
) -> Picture:
    return embed_image(draw_image(figure), "", Caption(alt, caption, conclude), quality)


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
    motion: pd.DataFrame, confounds: pd.DataFrame, tr: float, censored: Sequence[int] = ()
) -> Figure:
    """Draw the six motion parameters, framewise displacement and DVARS over time.

    Parameters
    ----------
    motion : DataFrame
        ``trans_x`` … in mm, ``rot_x`` … in radians, a row per volume.
    confounds : DataFrame
        ``fd_power_mm`` and ``dvars_percent``.
    tr : float
        Repetition time, s.
    censored : sequence of int
        Volumes to mark.
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
        for axis, label in zip(
            axes, ("translation, mm", "rotation, °", "FD, mm", "DVARS, %"), strict=True
        ):
            axis.set_ylabel(label)
        axes[2].set_ylim(bottom=0)
        axes[3].set_xlabel("time, s")
    return figure  # fmt: skip


def carpet_figure(carpets: Mapping[str, pd.DataFrame], rois: pd.DataFrame, tr: float) -> Figure:
    """Draw the standardised series of all regions by lobe, one carpet per stage.

    ``rois`` is indexed by abbreviation, with ``lobe``; regions without values stay blank.
    """
    lobes = list(dict.fromkeys(rois["lobe"]))
    order = sorted(rois.index, key=lambda name: lobes.index(rois.loc[name, "lobe"]))
    colours = lobe_colours(rois["lobe"])
    with mpl.rc_context(RC):
        figure = _figure(0.6 + 2.6 * len(carpets), left=0.35, bottom=1.0, top=0.3, gap=0.15)
        grid = figure.subplots(len(carpets), 2, width_ratios=[1, 60], sharex="col", squeeze=False)
        for (side, axis), (title, series) in zip(grid, carpets.items(), strict=True):
            values = series.reindex(columns=order).astype(float)
            spread = values.std(ddof=0)
            shown = ((values - values.mean()) / spread.where(spread > 0, 1)).to_numpy().T
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
            side.set_ylabel(f"{len(order)} regions by lobe or network")
            axis.set_yticks([])
            axis.set_title(title, fontsize=9)
        grid[-1, 1].set_xlabel("time, s")
        handles = [mpl.patches.Patch(color=c, label=lobe) for lobe, c in colours.items()]
        figure.legend(handles=handles, loc="lower center", ncols=4, fontsize=7)
    return figure  # fmt: skip


def spectrum_figure(
    stages: Mapping[str, pd.DataFrame], tr: float, band_hz: tuple[float, float] | None
) -> Figure:
    """Draw the power spectrum of each stage, mean over regions, as shares of total power."""
    with mpl.rc_context(RC):
        figure = _figure(2.8, left=0.7, bottom=0.5, top=0.1)
        axis = figure.subplots()
        looks = ((GREY, "-"), (BLUE, "-"))
        for (title, series), (colour, line) in zip(stages.items(), looks, strict=False):
            # Bridged as for the filter.
            whole = series.dropna(axis=1, how="all").interpolate(limit_direction="both")
            frequency, power = periodogram(whole.to_numpy(dtype=float), fs=1 / tr, axis=0)
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
    """Draw the share of each region's voxels in the field of view.

    The limit applies to the selected regions.
    """
    chosen = coverage.index.isin(selected)
    with mpl.rc_context(RC):
        figure = _figure(2.6, left=0.7, bottom=0.3, top=0.3)
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
        figure.legend(ncols=3, fontsize=7, loc="upper right")
    return figure  # fmt: skip
