"""What can be said of a study of ROI series before any series is read."""

from collections.abc import Container, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
import pandas as pd

from notears_pfl.errors import CohortError, SignalError, TableError
from notears_pfl.io.series_files import (
    RunTables,
    archive_check_sums,
    archive_outlines,
    read_series,
    series_outline,
)
from notears_pfl.study.derived_series import usable_series
from notears_pfl.study.enrolment import OTHER, STOP_ADVICE, describe_problems
from notears_pfl.study.plan import Plan
from notears_pfl.study.sources import RoiSeries
from notears_pfl.study.timeseries import (
    SeriesStudy,
    could_be_transposed,
    labelled_series,
    require_regions,
)
from notears_pfl.wording import counted


def check_series(plan: Plan, source: Mapping[str, Any]) -> list[str]:
    """Look at the series of a study before its first job; return what is to be said of them.

    Subjects whose arrays are missing, or have another shape, are refused all at once with
    ``source.on_problem: stop``; with ``exclude`` they are named, unless nobody is left.
    """
    if not isinstance(plan.source, RoiSeries):
        return []
    people, study = plan.source.participants, plan.source.series
    # The user's own; results, which list enrolled subjects, are not there before a run.
    table = source.get("participants") or source["series"]
    unknown = unknown_groups(people, plan.groups, table)
    told = [unknown] if unknown else []
    problems = series_problems(study, source, plan.atlas.rois, plan.atlas.selected)
    if not problems:
        refuse_same_series(study)
        return told
    is_nobody_left = set(study.runs) <= set(problems)
    if is_nobody_left or source.get("on_problem", "stop") == "stop":
        advice = "Nobody is left: correct the series or the settings." if is_nobody_left else ""
        listed = describe_problems(problems, len(people), table, advice or STOP_ADVICE)
        raise CohortError("\n".join([*told, listed]))
    return [*told, describe_problems(problems, len(people), table, "They are excluded.")]


def series_problems(
    study: SeriesStudy, source: Mapping[str, Any], rois: Sequence[str], selected: Sequence[str]
) -> dict[str, list[str]]:
    """Say what shows, without their values, that series cannot be used, by participant.

    Parameters
    ----------
    study : SeriesStudy
        The participants and their files; those that are missing have been named already.
    source : mapping
        The settings ``source``.
    rois, selected : sequence of str
        All regions of the ROI table, and those that are selected.
    """
    outlines: dict[str, Any] = {}
    square, transposed = set[str](), list[str]()
    wanted = {name for names in study.names.values() for name in names}
    problems: dict[str, list[str]] = {}
    for who, runs in study.runs.items():
        for path in (run["series"] for run in runs if run["series"] in study.files):
            try:
                found = _outline_of(path, study.names[who], wanted, outlines)
                if found is None:
                    problems.setdefault(who, []).append(f"has no array in {path}")
                    continue
                series = usable_series(RunTables(found, None, None, {}), source.get("layout", ""))
                columns = source.get("series_columns", [])
                if not isinstance(series, pd.DataFrame) and could_be_transposed(
                    series.shape, rois, selected
                ):
                    if series.shape[0] == series.shape[1]:
                        square.add(who)
                    else:
                        transposed.append(who)
                require_regions(labelled_series(series, rois, selected, columns), selected)
            except (SignalError, TableError) as error:
                problems.setdefault(who, []).append(str(error).removesuffix("."))
    if square:
        caution = (
            f"{counted(len(square), 'series has', 'series have')} as many volumes as regions, and "
            "may be transposed as well, although the shape does not show it"
        )
        for who in {*transposed} & {*problems}:
            problems[who] = [*problems[who][:-1], f"{problems[who][-1]}. {caution}"]
    return problems


def refuse_same_series(study: SeriesStudy) -> None:
    """Refuse an archive in which two subjects have the same array, unless it is constant.

    The archive has a check sum of every array, so that only arrays of the same sum are read.
    """
    for path in (path for path in study.files if path.endswith(".npz")):
        stored = archive_check_sums(path)
        owners: dict[tuple[int, int], list[tuple[str, str]]] = {}
        for who, runs in study.runs.items():
            own = next((name for name in study.names[who] if name in stored), None)
            if own is not None and any(run["series"] == path for run in runs):
                owners.setdefault(stored[own], []).append((who, own))
        twins = [
            " and ".join(who for who, _ in same)
            for same in owners.values()
            if len(same) > 1 and not _is_constant(path, same[0][1])
        ]
        if twins:
            msg = (
                f"{path}: {'; '.join(twins)} have identical series. Subjects must be different "
                "persons: remove all but one of them from the participants table."
            )
            raise CohortError(msg)


def _is_constant(path: str, name: str) -> bool:
    """Whether an array cannot be used by itself, which is said of its subjects one by one."""
    try:
        values = np.asarray(read_series(path, name))
    except (SignalError, TableError):
        return True
    return values.size == 0 or bool((values == values[0]).all())


def _outline_of(
    path: str, names: Sequence[str], wanted: Container[str], outlines: dict[str, Any]
) -> Any:
    """Outline of a participant's series, or None without an array in an archive of all.

    From an archive, all that are ``wanted`` are read at once, into ``outlines``.
    """
    if not path.endswith(".npz"):
        return series_outline(path)
    if path not in outlines:
        outlines[path] = archive_outlines(path, wanted)
    arrays = outlines[path]
    own = next((arrays[name] for name in names if name in arrays), None)
    if isinstance(own, TableError):
        raise own
    return own


def unknown_groups(participants: pd.DataFrame, groups: Sequence[str], table: str) -> str:
    """Name the values of the group column that are none of the groups; empty if there are none."""
    counts = participants["group"].value_counts(sort=False)
    unknown = counts[~counts.index.isin([*groups, OTHER])]
    if unknown.empty:
        return ""
    folded = {group.casefold(): group for group in groups}
    lines = [
        f"{table}: {unknown.sum()} of {len(participants)} subjects are in no network, because "
        f"their group is neither {' nor '.join(groups)}:"
    ]
    for value, count in unknown.items():
        near = get_close_matches(str(value).casefold(), folded)
        like = f" (did you mean {folded[near[0]]}?)" if near else ""
        lines.append(f"  {value!r}: {counted(count, 'subject', 'subjects')}{like}")
    lines.append(
        "Correct the table or groups, or say in source.group_values what a value stands for "
        f"('{OTHER}' if it is not part of the study)."
    )
    return "\n".join(lines)
