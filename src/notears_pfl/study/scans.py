"""Choose the images of a subject, and check their timing metadata."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from notears_pfl.acquisition import are_slice_times, is_repetition_time, same_repetition_time
from notears_pfl.errors import DatasetError
from notears_pfl.io.bids_tree import BidsFile


@dataclass(frozen=True)
class Scan:
    """The files of a run to process, and its repetition time in seconds.

    ``t1w`` is None if the run is already in MNI space, ``confounds`` is None if it is not;
    ``confounds_json`` describes the columns of the latter, if it is there. ``metadata`` describes
    the run if there are no sidecars. ``run`` is its name, as its file has it, without the
    subject's.
    """

    bold: str
    sidecars: tuple[str, ...]
    repetition_time: float
    t1w: str | None = None
    confounds: str | None = None
    confounds_json: str | None = None
    metadata: Mapping[str, float] = field(default_factory=dict)
    run: str = "task-rest"


@dataclass(frozen=True)
class FoundScans:
    """Scans of a subject's runs, in order, and what keeps the subject from being used.

    ``lost`` gives why runs cannot be used that others stand in for, by name.
    """

    scans: Sequence[Scan]
    problems: Sequence[str]
    lost: Mapping[str, str] = field(default_factory=dict)


def usable_scans(
    scans: Mapping[str, Scan | None],
    run_problems: Mapping[str, Sequence[str]],
    problems: Sequence[str],
    on_problem: str,
) -> FoundScans:
    """Keep the scans of the runs without problems.

    With ``on_problem: exclude``, problems of some runs do not keep the subject out.
    """
    good = [scan for run, scan in scans.items() if scan and not run_problems[run]]
    of_runs = [problem for found in run_problems.values() for problem in found]
    if problems or not good or on_problem == "stop":
        return FoundScans(good, [*of_runs, *problems])
    lost = {run: "; ".join(found) for run, found in run_problems.items() if found}
    return FoundScans(good, [], lost)


def choose_runs(
    runs: Sequence[BidsFile], wanted: Mapping[str, object], which: str, what: str = "BOLD run"
) -> list[BidsFile]:
    """Choose a subject's runs among those wanted, in the order of sessions and runs.

    Parameters
    ----------
    which : {"all", "session", "first"}
        All of them, those of the first session, or the lowest run of it (``source.runs``).
    what : str
        What the files are, in error messages.
    """
    magnitudes = [run for run in runs if run.entities.get("part") in (None, "mag")]
    found = _matching(magnitudes, wanted, what, "source.bold")
    if which == "first":
        found = _first_run(found)
    elif which == "session":
        found = _first_session(found)
    numbered: dict[tuple[tuple[int, str], int], list[BidsFile]] = {}
    for file in found:
        number = (_session_order(file.entities.get("ses", "")), file.run)
        numbered.setdefault(number, []).append(file)
    return [_single(numbered[number], "source.bold") for number in sorted(numbered)]


def choose_t1w(
    images: Sequence[BidsFile], wanted: Mapping[str, object], session: str | None
) -> BidsFile:
    """Choose a subject's T1w image among those wanted.

    It is the lowest run of the BOLD run's session, or else of the first session.
    """
    found = _matching(images, wanted, "T1w image", "source.t1w")
    same = [image for image in found if image.entities.get("ses") == session]
    return _single(_first_run(same or found), "source.t1w")


def choose_confounds(run: BidsFile, tables: Sequence[BidsFile]) -> BidsFile:
    """Choose fMRIPrep's confounds of a run: the same entities, except ``space`` and ``res``."""
    wanted = {key: label for key, label in run.entities.items() if key not in ("space", "res")}
    for table in tables:
        if table.extension == ".tsv" and table.entities == wanted | {"desc": "confounds"}:
            return table
    msg = f"no desc-confounds_timeseries.tsv beside {run.path}. Copy it from fMRIPrep's folder"
    raise DatasetError(msg)


def checked_repetition_time(
    metadata: Mapping[str, Any], sidecars: Sequence[str], image: str, needs_slice_times: bool
) -> float:
    """Return the repetition time in seconds; reject missing or invalid timing metadata."""
    if not sidecars:
        msg = f"{image} has no sidecar. Add a .json with RepetitionTime and SliceTiming"
        raise DatasetError(msg)
    named, tr = ", ".join(sidecars), metadata.get("RepetitionTime")
    if tr is None:
        msg = f"RepetitionTime is missing in {named}. Add it, in seconds"
        raise DatasetError(msg)
    if not _is_number(tr) or not is_repetition_time(tr):
        msg = f"RepetitionTime is {repr(tr)[:80]} in {named}. Give it in seconds"
        raise DatasetError(msg)
    times = metadata.get("SliceTiming")
    if needs_slice_times and times is None:
        msg = (
            f"SliceTiming is missing in {named}. Add it, in seconds, or set preproc.slice_timing "
            "to false"
        )
        raise DatasetError(msg)
    if needs_slice_times and not _are_valid_slice_times(times, float(tr)):
        msg = (
            f"SliceTiming in {named} is not a list of seconds from 0 to below TR, {tr:g}. Correct "
            "it, or set preproc.slice_timing to false"
        )
        raise DatasetError(msg)
    return float(tr)


def unequal_repetition_times(times: pd.Series, sites: pd.Series) -> dict[str, str]:
    """Describe the subjects whose repetition time differs from the majority at their site.

    Both series are indexed by participant. If no time has a majority, all subjects are listed.
    """
    problems = {}
    for site, here in times.groupby(sites, sort=False):
        usual = _majority_repetition_time(here)
        others = "no TR has a majority" if usual is None else f"most have {usual:g} s"
        for participant, tr in here.items():
            if usual is None or not same_repetition_time(tr, usual):
                problems[str(participant)] = (
                    f"RepetitionTime is {tr:g} s, but at site {site} {others}; a site must have "
                    "one protocol. Correct the sidecar, or make these subjects a separate site"
                )
    return problems


def _majority_repetition_time(times: pd.Series) -> float | None:
    """Return the most common repetition time, up to rounding; None if another is as common."""
    counts = {
        float(tr): sum(same_repetition_time(tr, other) for other in times) for tr in times.unique()
    }
    usual = max(counts, key=lambda tr: counts[tr])
    rivals = [n for tr, n in counts.items() if not same_repetition_time(tr, usual)]
    return None if max(rivals, default=0) >= counts[usual] else usual


def _matching(
    files: Sequence[BidsFile], wanted: Mapping[str, object], what: str, key: str
) -> list[BidsFile]:
    found = [file for file in files if file.has(wanted)]
    if not found:
        asked = "_".join(f"{entity}-{label}" for entity, label in wanted.items())
        with_it = f" with {asked}" if asked else ""
        there = f"; found {_names(files)}. Correct {key}" if files else ""
        msg = f"no {what}{with_it}{there}"
        raise DatasetError(msg)
    return found


def _first_session(files: Sequence[BidsFile]) -> list[BidsFile]:
    session = min((file.entities.get("ses", "") for file in files), key=_session_order)
    return [file for file in files if file.entities.get("ses", "") == session]


def _first_run(files: Sequence[BidsFile]) -> list[BidsFile]:
    """Keep the lowest run of the first session."""
    here = _first_session(files)
    return [file for file in here if file.run == min(other.run for other in here)]


def _session_order(label: str) -> tuple[int, str]:
    """Sort key of session labels: 2 before 10, numbers before names."""
    return (int(label), "") if label.isdigit() else (sys.maxsize if label else -1, label)


def _single(files: Sequence[BidsFile], key: str) -> BidsFile:
    if len(files) > 1:
        msg = f"{len(files)} files match ({_names(files)}). Specify one in {key}"
        raise DatasetError(msg)
    return files[0]


def _names(files: Sequence[BidsFile]) -> str:
    names = [file.path.rsplit("/", 1)[-1] for file in files]
    return ", ".join(names[:4]) + (", …" if len(names) > 4 else "")


def _are_valid_slice_times(times: object, tr: float) -> bool:
    if not isinstance(times, list) or len(times) < 2 or not all(map(_is_number, times)):
        return False
    # Compare first: an integer may be too large for numpy.
    return max(times) < tr and are_slice_times(np.asarray(times, dtype=float), tr)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
