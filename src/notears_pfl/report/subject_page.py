"""The page of one subject."""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from notears_pfl.io.sidecars import read_sidecar
from notears_pfl.io.tables import read_table
from notears_pfl.report.embed import Picture, embed_picture
from notears_pfl.report.page import render
from notears_pfl.report.sections.quality import FIGURES
from notears_pfl.report.style import save_figure
from notears_pfl.report.subject_figures import (
    carpet_figure,
    coverage_figure,
    movement_figure,
    registration_figure,
    spectrum_figure,
)
from notears_pfl.report.tables import cell


@dataclass(frozen=True)
class SubjectRecord:
    """What is known of a subject; parts that its study does not have are None."""

    row: pd.Series
    report: Mapping[str, Any]
    raw: pd.DataFrame | None = None
    clean: pd.DataFrame | None = None
    motion: pd.DataFrame | None = None
    confounds: pd.DataFrame | None = None
    t1w_slices: Mapping[str, Any] | None = None
    bold_slices: Mapping[str, Any] | None = None


def read_subject(row: pd.Series, files: Mapping[str, str]) -> SubjectRecord:
    """Read a subject's files; those of a subject that failed are empty and not read."""
    report = read_sidecar(files["report"])
    usable = {
        kind: path
        for kind, path in files.items()
        if report["status"] == "ok" and Path(path).stat().st_size
    }
    parts: dict[str, Any] = {
        kind: read_table(usable[kind])
        for kind in ("raw", "clean", "motion", "confounds")
        if kind in usable
    }
    for kind in ("t1w", "bold"):
        if kind in usable:
            parts[f"{kind}_slices"] = dict(np.load(usable[kind]))
    return SubjectRecord(row=row, report=report, **parts)


def subject_page(
    record: SubjectRecord, rois: pd.DataFrame, settings: Mapping[str, Any], back: str
) -> str:
    """Write the page.

    Parameters
    ----------
    record : SubjectRecord
        Of the subject.
    rois : DataFrame
        All regions, indexed by abbreviation, with ``lobe`` and ``selected``.
    settings : mapping
        ``band_hz``, or None where the study did not filter, and ``min_coverage``.
    back : str
        Address of the index.
    """
    row = record.row
    numbers = [
        (FIGURES[name][0], cell(_number(row[name]), FIGURES[name][1]).text)
        for name in FIGURES
        if name in row
    ]
    return render(
        "subject.html",
        subject=row["participant_id"],
        site=row["site"],
        group=row["group"],
        status=row["split"] if row["included"] else "left out",
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
    if record.report["status"] == "failed":
        return {"All figures": "Processing failed; there is nothing to show."}
    tr = record.report.get("repetition_time") or 1.0
    parts: dict[str, Picture | str] = {}
    not_here = "Not part of this study: the work before its source was done elsewhere."
    parts["Movement"] = (
        _picture(
            movement_figure(record.motion, record.confounds, tr),
            f"Head motion of {name}: translations, rotations, framewise displacement and DVARS "
            "over time",
            "Head motion as estimated; framewise displacement after Power, volumes beyond 0.5 mm "
            "marked; DVARS in the brain.",
        )
        if record.motion is not None and record.confounds is not None
        else not_here
    )
    stages = {
        title: series
        for title, series in (("before cleaning", record.raw), ("after cleaning", record.clean))
        if series is not None
    }
    parts["Carpet"] = _picture(
        carpet_figure(stages, rois, tr),
        f"Carpet plots of {name}, {' and '.join(stages)}: one line per region, grey by signal",
        "Each line is a region's standardised signal; stripes across all lines are what cleaning "
        "is to remove. Blank lines: too few voxels in the field of view.",
    )
    parts["Spectrum"] = _picture(
        spectrum_figure(stages, tr, settings["band_hz"]),
        f"Power spectrum of {name}, {' and '.join(stages)}",
        f"Mean over regions (n = {rois.shape[0]}), each as shares of its own power."
        + ("" if "repetition_time" in record.report else " TR unknown: frequency per volume."),
    )
    for title, slices, of in (
        ("Registration of BOLD to T1w", record.bold_slices, "mean BOLD image in T1w space"),
        ("Registration of T1w to MNI", record.t1w_slices, "T1w brain in MNI space"),
    ):
        parts[title] = (
            _picture(
                registration_figure(slices),
                f"{of} of {name} with outlines",
                f"The {of}; outlines come from the image it was registered to. Places in mm.",
            )
            if slices is not None
            else not_here
        )
    coverage = record.report.get("coverage")
    parts["Coverage"] = (
        _picture(
            coverage_figure(
                pd.Series(coverage), list(rois.index[rois["selected"]]), settings["min_coverage"]
            ),
            f"Share of each region of {name} inside the field of view",
            "Share of each region's voxels in the field of view; regions below 0.8 are named.",
        )
        if coverage
        else not_here
    )
    return parts


def _number(value: float) -> float | None:
    return None if pd.isna(value) else float(value)


def _picture(figure: Figure, alt: str, caption: str) -> Picture:
    buffer = io.BytesIO()
    save_figure(figure, buffer)
    return embed_picture(buffer, "", alt, caption)
