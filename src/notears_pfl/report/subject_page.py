"""The page of one subject: quality measures, figures of its data, and what was done to them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from notears_pfl.io.bids_tree import name_of_run
from notears_pfl.io.images import read_arrays
from notears_pfl.io.sidecars import read_sidecar
from notears_pfl.io.tables import read_table
from notears_pfl.report.measures import FIGURES
from notears_pfl.report.page import embed_drawing, render
from notears_pfl.report.page_parts import Caption, Picture, cell
from notears_pfl.report.registration_drawing import (
    REGISTRATIONS,
    Shown,
    registration_drawing,
)
from notears_pfl.report.subject_drawing import (
    carpet_drawing,
    coverage_drawing,
    movement_drawing,
    spectrum_drawing,
)
from notears_pfl.runs import RUN

NOT_PROCESSED = "Done before the data entered the study."
# Title of ready series, which the workflow did not clean.
AS_GIVEN = "as given"
NOT_REACHED = "No picture: processing failed before the end of this step."


@dataclass(frozen=True)
class SubjectRecord:
    """What is known about a subject; parts that the study does not have are None.

    ``slices`` are by kind, as in ``REGISTRATIONS``; a subject that failed may have some of them.
    ``bold_runs`` are those of the BOLD image of every run by its name, where there are several;
    ``run_lengths`` are the volumes of every run, where images were preprocessed.
    """

    row: pd.Series
    report: Mapping[str, Any]
    raw: pd.DataFrame | None = None
    clean: pd.DataFrame | None = None
    motion: pd.DataFrame | None = None
    confounds: pd.DataFrame | None = None
    slices: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    bold_runs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    run_lengths: Sequence[int] = ()

    @property
    def censored(self) -> list[int]:
        """Positions of the volumes that cleaning removed."""
        return list(self.report.get("censored_volumes", []))

    @property
    def was_cleaned(self) -> bool:
        """Whether the workflow cleaned the series; otherwise they are as the study gave them."""
        return self.raw is not None

    @property
    def clean_in_time(self) -> pd.DataFrame | None:
        """Clean series with a row per volume of the run; those of censored volumes are missing."""
        if self.clean is None or not self.censored:
            return self.clean
        volumes = range(len(self.clean) + len(self.censored))
        kept = [volume for volume in volumes if volume not in set(self.censored)]
        return self.clean.set_axis(kept).reindex(volumes)

    @property
    def seams(self) -> list[int]:
        """First volumes, among all in time, of the runs that follow another run."""
        if self.run_lengths:
            return np.cumsum(self.run_lengths)[:-1].tolist()
        if self.clean is None or RUN not in self.clean:
            return []
        run = self.clean[RUN]
        return [int(volume) for volume in np.flatnonzero(run.ne(run.shift())) if volume]


def read_subject(row: pd.Series, files: Mapping[str, Sequence[str]]) -> SubjectRecord:
    """Read a subject's files; those of steps that failed are empty and are not read.

    ``files`` has those of each run by kind: tables of several runs are shown one after another.
    Runs that were left out are not shown.
    """
    report = read_sidecar(files["report"][0])
    states = {run: figures["status"] for run, figures in report.get("runs", {}).items()}
    made = {
        kind: [
            path
            for path in paths
            if Path(path).stat().st_size and states.get(name_of_run(path)) != "failed"
        ]
        for kind, paths in files.items()
    }
    tables = {
        kind: [read_table(path) for path in made[kind]]
        for kind in ("raw", "clean", "motion", "confounds")
        if report["status"] == "ok" and made.get(kind)
    }
    parts: dict[str, Any] = {
        kind: pd.concat(of_runs, ignore_index=True) if len(of_runs) > 1 else of_runs[0]
        for kind, of_runs in tables.items()
    }
    slices = {
        kind: [(name_of_run(path), found) for path in made[kind]
               if (found := read_arrays(path)) is not None]
        for kind in REGISTRATIONS
        if made.get(kind)
    }  # fmt: skip
    bold = slices.get("bold", [])
    return SubjectRecord(
        row=row,
        report=report,
        slices={kind: of_runs[0][1] for kind, of_runs in slices.items() if of_runs},
        bold_runs=dict(bold) if len(bold) > 1 else {},
        run_lengths=[len(table) for table in tables.get("raw", [])],
        **parts,
    )


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
    failed = record.report["status"] == "failed"
    numbers = [
        (FIGURES[name][0], cell(row[name], FIGURES[name][1]).text)
        for name in FIGURES
        if name in row and (failed or pd.notna(row[name]))
    ]
    parts = _parts(record, rois, settings)
    return render(
        "subject.html",
        subject=row["participant_id"],
        site=row["site"],
        group=row["group"],
        status=row["split"] if row["included"] else "excluded",
        reason="" if pd.isna(row["exclusion"]) else row["exclusion"],
        numbers=numbers,
        cautions=record.report.get("cautions", []),
        parts={title: part for title, part in parts.items() if part != NOT_PROCESSED},
        absent=[title for title, part in parts.items() if part == NOT_PROCESSED],
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
    tr = record.report.get("repetition_time")
    parts["Head motion"] = (
        _picture(
            movement_drawing(record.motion, record.confounds, tr, record.censored, record.seams),
            f"Head motion of {name}: translations, rotations, framewise displacement and DVARS "
            "over time",
            "Estimated head motion; framewise displacement after Power, with volumes above 0.5 mm "
            "marked; DVARS within the brain."
            + (" Grey: volumes censored by scrubbing." if record.censored else "")
            + (" Dotted lines: where runs join." if record.seams else ""),
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
            ("after cleaning" if record.was_cleaned else AS_GIVEN, record.clean_in_time),
        )
        if series is not None
    }
    if record.was_cleaned:
        cleaning = "cleaning should remove stripes across all rows"
        left, blank = " that are left after cleaning", "too few voxels in the field of view"
    else:
        cleaning = "stripes across all rows are shared by all regions"
        left, blank = "", "no signal"
    volumes = "" if tr else " The repetition time is not known: volumes are counted."
    parts["Carpet"] = _picture(
        carpet_drawing(stages, rois, tr, record.seams),
        f"Carpet plots of {name}, {' and '.join(stages)}: one row per region, grey by signal",
        "Each row is the standardised signal of a region; "
        f"{cleaning}. Blank rows: {blank}.{volumes}"
        + (" Vermilion lines: where runs join." if record.seams else ""),
        f"Stripes{left} point to motion, breathing or the scanner; their "
        "absence does not show that the signal is neural.",
    )
    parts["Spectrum"] = _picture(
        spectrum_drawing(
            {title: series.drop(columns=RUN, errors="ignore") for title, series in stages.items()},
            tr,
            settings["band_hz"],
        ),
        f"Power spectrum of {name}, {' and '.join(stages)}",
        f"Mean over regions (n = {rois.shape[0]}), each normalised by its total power."
        + ("" if tr else " The repetition time is not known: frequencies in cycles per volume."),
        "A narrow peak points to breathing, the heart or the scanner; a smooth spectrum does not "
        "show that the signal is neural.",
    )
    coverage = record.report.get("coverage")
    parts["Coverage"] = (
        _picture(
            coverage_drawing(
                pd.Series(coverage),
                list(rois.index[rois["selected"]]),
                settings["min_coverage"],
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
        if kind == "bold" and record.bold_runs:
            for run, slices in record.bold_runs.items():
                parts[f"{shown.title}, {run}"] = _registration(record, shown, slices, run)
        elif kind in record.slices:
            parts[shown.title] = _registration(record, shown, record.slices[kind])
        else:
            parts[shown.title] = NOT_REACHED if failed else NOT_PROCESSED
    return parts


def _registration(
    record: SubjectRecord, shown: Shown, slices: Mapping[str, Any], run: str = ""
) -> Picture:
    name = record.row["participant_id"]
    whose = f"{name}, {run}," if run else name
    return _picture(
        registration_drawing(slices),
        f"{shown.image} of {whose} with outlines",
        f"The {shown.image}{f' of {run}' if run else ''}; outlines of {shown.outlines}. "
        f"{shown.right} The subject's left is on the left. Positions in mm.",
        "Where outlines are off in several slices, region series mix tissues or regions; a "
        "small gap in a single slice does not matter.",
    )


def _picture(svg: str, alt: str, caption: str, conclude: str) -> Picture:
    return embed_drawing(svg, "", Caption(alt, caption, conclude))
