"""Which images of a subject are used, and what is wrong with them."""

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
    """Files of a subject that are processed, and the repetition time of its run in seconds.

    ``t1w`` is None where the run is in MNI space already, ``confounds`` where it is not;
    ``metadata`` is what is known of the run where there are no sidecars.
    """

    bold: str
    sidecars: tuple[str, ...]
    repetition_time: float
    t1w: str | None = None
    confounds: str | None = None
    metadata: Mapping[str, float] = field(default_factory=dict)


def choose_run(runs: Sequence[BidsFile], wanted: Mapping[str, object]) -> BidsFile:
    """Choose a subject's run: of those wanted, the first session's, and there the lowest run."""
    magnitudes = [run for run in runs if run.entities.get("part") in (None, "mag")]
    return _only(_first(_wanted(magnitudes, wanted, "BOLD run", "source.bold")), "source.bold")


def choose_t1w(
    images: Sequence[BidsFile], wanted: Mapping[str, object], session: str | None
) -> BidsFile:
    """Choose a subject's T1w: of those wanted, of the run's session, else of the first one.

    Of several there the lowest run.
    """
    found = _wanted(images, wanted, "T1w image", "source.t1w")
    same = [image for image in found if image.entities.get("ses") == session]
    return _only(_first(same or found), "source.t1w")


def choose_confounds(run: BidsFile, tables: Sequence[BidsFile]) -> BidsFile:
    """Choose fMRIPrep's confounds of a run: same entities, but for those of the image alone."""
    wanted = {key: label for key, label in run.entities.items() if key not in ("space", "res")}
    for table in tables:
        if table.extension == ".tsv" and table.entities == wanted | {"desc": "confounds"}:
            return table
    msg = f"no desc-confounds_timeseries.tsv beside {run.path}. Copy it from fMRIPrep's folder"
    raise DatasetError(msg)


def checked_repetition_time(
    metadata: Mapping[str, Any], sidecars: Sequence[str], image: str, needs_slice_times: bool
) -> float:
    """Give the repetition time in seconds; refuse metadata that cannot be worked with."""
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
    if needs_slice_times and not _within(times, float(tr)):
        msg = f"SliceTiming in {named} is not a list of seconds from 0 to below TR, {tr:g}"
        raise DatasetError(msg)
    return float(tr)


def unequal_repetition_times(times: pd.Series, sites: pd.Series) -> dict[str, str]:
    """Say of whom the repetition time is not that of most others at the site.

    Both series are indexed by participant. Where no time has a majority, all are named.
    """
    problems = {}
    for site, here in times.groupby(sites, sort=False):
        usual = _usual(here)
        others = "no TR has a majority" if usual is None else f"most have {usual:g} s"
        for participant, tr in here.items():
            if usual is None or not same_repetition_time(tr, usual):
                problems[str(participant)] = (
                    f"RepetitionTime is {tr:g} s, but at site {site} {others}: one site is one "
                    "protocol. Correct the sidecar, or give these subjects a site of their own"
                )
    return problems


def _usual(times: pd.Series) -> float | None:
    """Give the repetition time that most have, to rounding; None where as many have another."""
    counts = {
        float(tr): sum(same_repetition_time(tr, other) for other in times) for tr in times.unique()
    }
    usual = max(counts, key=lambda tr: counts[tr])
    rivals = [n for tr, n in counts.items() if not same_repetition_time(tr, usual)]
    return None if max(rivals, default=0) >= counts[usual] else usual


def _wanted(
    files: Sequence[BidsFile], wanted: Mapping[str, object], what: str, key: str
) -> list[BidsFile]:
    found = [file for file in files if file.has(wanted)]
    if not found:
        asked = "_".join(f"{entity}-{label}" for entity, label in wanted.items())
        with_it = f" with {asked}" if asked else ""
        there = f"; there are {_names(files)}. Correct {key}" if files else ""
        msg = f"no {what}{with_it}{there}"
        raise DatasetError(msg)
    return found


def _first(files: Sequence[BidsFile]) -> list[BidsFile]:
    """Keep the first session, and there the lowest run."""
    session = min((file.entities.get("ses", "") for file in files), key=_counted)
    here = [file for file in files if file.entities.get("ses", "") == session]
    return [file for file in here if file.run == min(other.run for other in here)]


def _counted(label: str) -> tuple[int, str]:
    """Order of sessions: 2 before 10, numbers before names."""
    return (int(label), "") if label.isdigit() else (sys.maxsize if label else -1, label)


def _only(files: Sequence[BidsFile], key: str) -> BidsFile:
    if len(files) > 1:
        msg = f"{len(files)} files to choose from ({_names(files)}). Say which in {key}"
        raise DatasetError(msg)
    return files[0]


def _names(files: Sequence[BidsFile]) -> str:
    names = [file.path.rsplit("/", 1)[-1] for file in files]
    return ", ".join(names[:4]) + (", …" if len(names) > 4 else "")


def _within(times: object, tr: float) -> bool:
    if not isinstance(times, list) or len(times) < 2 or not all(map(_is_number, times)):
        return False
    # Whole numbers may be too large for numpy to look at.
    return max(times) < tr and are_slice_times(np.asarray(times, dtype=float), tr)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
