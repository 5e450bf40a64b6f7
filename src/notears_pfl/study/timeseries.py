"""ROI series that the user has already extracted: subjects, files, and checks of the values."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os.path import isdir, isfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from notears_pfl.errors import CohortError, SignalError
from notears_pfl.io.bids_tree import BidsTree
from notears_pfl.io.series_files import PLACEHOLDER, archive_names, series_path
from notears_pfl.io.sidecars import read_metadata
from notears_pfl.names import abbreviation
from notears_pfl.study.derived_series import (
    ONLY_RUN,
    RunFiles,
    files_beside,
    find_series,
    motion_figures,
)
from notears_pfl.study.enrolment import (
    STOP_ADVICE,
    Enrolment,
    checked_participants,
    describe_problems,
    enrol,
    several_runs,
)
from notears_pfl.study.participants import (
    named_columns,
    read_participants,
    refuse_blanks,
    renamings,
    require_columns,
    standard_participants,
    text_columns,
)
from notears_pfl.wording import counted

# Settings with which subjects are enrolled; without them, the participants table is used as it is.
OF_ENROLMENT = ("layout", "id_column", "id_pattern", "columns", "group_values")
# Stands in ``source.series`` for the cells of a column, which may have any name.
NAME_IN_BRACES = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True)
class SeriesStudy:
    """The participants of a study that starts from ROI series.

    Parameters
    ----------
    participants : DataFrame
        All participants: ``participant_id``, ``site``, ``group`` and all other columns.
    names : mapping of str to list of str
        Names that a participant's file or array may have: the id as written in the table,
        ``participant_id``, or the latter without ``sub-``.
    runs : mapping of str to list of mapping
        Files of each run of a participant: ``series``, and what XCP-D writes beside them.
    files : set of str
        The series that exist.
    notices : list of str
        Messages to show to the user before the first job starts.
    enrolment : Enrolment, optional
        The subjects with and without problems, if the settings ask for it.
    knows_motion : bool
        Whether files beside the series tell head motion.
    """

    participants: pd.DataFrame
    names: Mapping[str, list[str]]
    runs: Mapping[str, list[RunFiles]]
    files: set[str]
    notices: list[str]
    enrolment: Enrolment | None = None
    knows_motion: bool = False

    def files_of(self, subject: str) -> list[str]:
        """Files of a subject, without ``sub-``: its series that exist, and those beside them."""
        runs = self.runs[f"sub-{subject}"]
        series = [run["series"] for run in runs if run["series"] in self.files]
        return [*series, *(path for run in runs for path in files_beside(run))]


def read_series_study(source: Mapping[str, Any], groups: tuple[str, str]) -> SeriesStudy:
    """Read the participants and find their series.

    With a ``source.layout``, or settings that describe the participants table, every subject is
    enrolled or listed with its problems.
    """
    if any(source.get(setting) for setting in OF_ENROLMENT):
        return _enrolled_study(source, groups)
    return _listed_study(source)


def _listed_study(source: Mapping[str, Any]) -> SeriesStudy:
    """Read the participants and find their series.

    If files are missing, ``source.on_problem: stop`` raises an error that lists them; with
    ``exclude`` the run continues, and subjects without a file are marked as failed with the reason.
    """
    path, pattern = source["participants"], source["series"]
    columns = (source["site_column"], source["group_column"])
    table = read_participants(path, columns)
    participants = standard_participants(table, *columns, path)
    refuse_blanks(table, *columns, path)
    pairs = zip(participants["participant_id"], table["participant_id"], strict=True)
    names = {who: _names(own, who) for who, own in pairs}
    found = _find_files(dict.fromkeys(names, pattern), names, pattern, path)
    missing = {who: [f"{file} does not exist"] for who, file in found.items() if not isfile(file)}
    if missing and source.get("on_problem", "stop") == "stop":
        raise CohortError(describe_problems(missing, len(found), path, STOP_ADVICE))
    excluded = describe_problems(missing, len(found), path, "They are excluded.")
    files = {file for who, file in found.items() if who not in missing}
    runs: dict[str, list[RunFiles]] = {
        who: [{"name": ONLY_RUN, "series": file}] for who, file in found.items()
    }
    notices = [*([excluded] if missing else []), *renamings(table, source, path)]
    return SeriesStudy(participants, names, runs, files, notices)


def _enrolled_study(source: Mapping[str, Any], groups: tuple[str, str]) -> SeriesStudy:
    """Enrol the subjects whose series are there."""
    table, name = _own_table(source)
    wanted = [source["site_column"], source["group_column"]]
    participants, row_problems = checked_participants(
        _with_parts_of_id(named_columns(table, source, name), source, wanted, name),
        name,
        source,
        groups,
    )
    rows, pattern = [*participants[["participant_id"]].itertuples()], source.get("series", "")
    names = {who: _names(str(table.loc[row, _ids(source)]), who) for row, who in rows}
    runs: dict[str, list[RunFiles]] = {}
    problems = {who: [*row_problems.get(row, [])] for row, who in rows}
    if "layout" in source:
        tree = BidsTree(source["dataset"])
        for who, folder in participants[["participant_id", "folder"]].itertuples(index=False):
            runs[who], found = (
                find_series(tree, folder, source)
                if isdir(tree.root / folder)
                else ([], [f"has no folder in {tree.root}"])
            )
            problems[who] += found
    else:
        filled = {who: _filled(pattern, table.loc[row]) for row, who in rows}
        for who, file in _find_files(filled, names, pattern, name).items():
            runs[who] = [{"name": ONLY_RUN, "series": file}]
            problems[who] += [] if isfile(file) else [f"{file} does not exist"]
    everybody, on_problem = participants.drop(columns="folder"), source.get("on_problem", "stop")
    enrolment = enrol(everybody, {}, problems, groups, on_problem, [name])
    if "participants" not in source:
        enrolment = replace(enrolment, tables=[])
    enrolled = enrolment.enrolled
    kept = {who: runs[who] for who in enrolled["participant_id"]}
    several = several_runs({who: len(runs) for who, runs in kept.items()})
    renamed = renamings(named_columns(table, source, name), source, name)
    notices = [*enrolment.notices, *several, *renamed]
    return SeriesStudy(
        enrolled, {who: names[who] for who in kept}, kept,
        {run["series"] for files in kept.values() for run in files}, notices, enrolment,
        _knows_motion(kept),
    )  # fmt: skip


def _names(own: str, who: str) -> list[str]:
    """Names that a participant's file or array may have; the first that is there counts."""
    return list(dict.fromkeys([own, who, who.removeprefix("sub-")]))


def _find_files(
    patterns: Mapping[str, str], names: Mapping[str, Sequence[str]], setting: str, table: str
) -> dict[str, str]:
    """Files of the participants in ``table``; refuse series that nobody has, or that several share.

    ``patterns`` and ``names`` are those of each participant, ``setting`` is ``source.series``.
    """
    found = {who: str(series_path(patterns[who], *called)) for who, called in names.items()}
    shared = Counter(file for file in found.values() if isfile(file))
    if found and not shared:
        msg = (
            f"{setting}: none of the {len(found)} subjects in {table} has such a file; "
            f"{next(iter(found.values()))} does not exist. Correct source.series."
        )
        raise CohortError(msg)
    for file in (file for file, n_subjects in shared.items() if n_subjects > 1):
        _check_shared_file(file)
    return found


def _ids(source: Mapping[str, Any]) -> str:
    return str(source.get("id_column", "participant_id"))


def _own_table(source: Mapping[str, Any]) -> tuple[pd.DataFrame, str]:
    """Participants table and its name; without one, the subjects that have a file."""
    if "participants" in source:
        path = source["participants"]
        filled = NAME_IN_BRACES.findall(source.get("series", ""))
        return read_participants(path, [*text_columns(source), *filled]), path
    pattern = source["series"]
    before, _, after = Path(pattern).name.partition(PLACEHOLDER)
    folder = Path(pattern).parent
    names = sorted(p.name for p in folder.glob("*")) if folder.is_dir() else []
    ids = [
        name[len(before) : len(name) - len(after)]
        for name in names
        if name.startswith(before) and name.endswith(after)
    ]
    known = [own for own in ids if re.fullmatch(source["id_pattern"], own)]
    if not known:
        msg = (
            f"{pattern}: {len(ids)} files in {folder} have such a name, and none of them an id "
            f"that matches {source['id_pattern']}. Correct source.series or source.id_pattern."
        )
        raise CohortError(msg)
    return pd.DataFrame({_ids(source): known}), pattern


def _with_parts_of_id(
    table: pd.DataFrame, source: Mapping[str, Any], columns: Sequence[str], name: str
) -> pd.DataFrame:
    """Take site and group off the subjects' names, if ``source.id_pattern`` says where."""
    if "id_pattern" not in source:
        return table
    require_columns(table, ["participant_id"], name)
    pattern = re.compile(source["id_pattern"])
    found = table["participant_id"].map(lambda own: pattern.fullmatch(str(own)))
    parts = {
        column: found.map(lambda match, part=part: match[part] if match else None)
        for column, part in zip(columns, ("site", "group"), strict=True)
        if part in pattern.groupindex
    }
    return table.assign(**parts)


def _filled(pattern: str, row: pd.Series) -> str:
    """Pattern of a subject's series, in which names in braces stand for the cells of its row."""
    path = pattern
    for name in NAME_IN_BRACES.findall(pattern.replace(PLACEHOLDER, "")):
        if name not in row:
            msg = (
                f"source.series contains {{{name}}}, but the participants table has no such "
                f"column; it has {', '.join(map(str, row.index))}. Correct source.series."
            )
            raise CohortError(msg)
        path = path.replace(f"{{{name}}}", str(row[name]))
    return path


def _knows_motion(runs: Mapping[str, Sequence[RunFiles]]) -> bool:
    """Whether files beside the series tell head motion, judged by the first run."""
    first = next((run for files in runs.values() for run in files), {})
    return "motion" in first or bool(motion_figures(None, read_metadata(first.get("sidecars", []))))


def _check_shared_file(path: str) -> None:
    if not path.endswith(".npz"):
        msg = (
            f"{path}: one file of several subjects must be an .npz with one array per subject. "
            f"Give such a file, or put {PLACEHOLDER} into source.series."
        )
        raise CohortError(msg)
    # A damaged one is refused.
    archive_names(path)


def labelled_series(
    values: pd.DataFrame | np.ndarray,
    rois: Sequence[str],
    selected: Sequence[str],
    columns: Sequence[int] = (),
) -> pd.DataFrame:
    """Label the columns of series with the regions of the ROI table.

    Columns named by an atlas's labels get the regions' abbreviations. If unnamed series have as
    many columns as there are regions, they are all regions in the table's order; if as many as
    there are selected regions, they are those. ``columns`` are the first and the last that count,
    from 1; all of them if it is empty.
    """
    if isinstance(values, pd.DataFrame):
        return _with_abbreviations(values, rois)
    if columns and values.ndim == 2:
        first, last = columns
        if values.shape[1] < last:
            msg = (
                f"the series have shape {values.shape}, but columns {first} to {last} were needed "
                "(source.series_columns). Correct the setting, or exclude the subject."
            )
            raise SignalError(msg)
        values = values[:, first - 1 : last]
    if values.ndim == 2:
        for labels in (rois, selected):
            if values.shape[1] == len(labels):
                return pd.DataFrame(values, columns=list(labels))
    msg = (
        f"unnamed series have shape {values.shape}, but volumes by {len(rois)} regions, or by "
        f"the {len(selected)} selected ones, were needed. "
    )
    advice = (
        "Transpose the array if its rows are the regions; otherwise some columns are missing."
        if could_be_transposed(values.shape, rois, selected)
        else "Name the columns, or give those of all regions."
    )
    raise SignalError(msg + advice)


def could_be_transposed(shape: Sequence[int], rois: Sequence[str], selected: Sequence[str]) -> bool:
    """Whether unnamed series, once transposed, have the right number of columns."""
    return len(shape) == 2 and shape[0] in (len(rois), len(selected))


def _with_abbreviations(series: pd.DataFrame, rois: Sequence[str]) -> pd.DataFrame:
    """Name columns by the regions' abbreviations where they have the labels of an atlas."""
    missing = {*rois} - {*series}
    short = {str(label): abbreviation(str(label)) for label in series}
    new = {label: name for label, name in short.items() if name in missing}
    for name in sorted({*new.values()}):
        labels = [label for label, own in new.items() if own == name]
        if len(labels) > 1:
            msg = (
                f"columns {', '.join(labels)} all stand for region {name} of the ROI table. Rename "
                "all but one."
            )
            raise SignalError(msg)
    return series.rename(columns=new)


def require_regions(series: pd.DataFrame, selected: Sequence[str]) -> None:
    """Reject series without a column for every selected region."""
    missing = [roi for roi in selected if roi not in series]
    if missing:
        found = counted(
            len(missing), "selected region has no column", "selected regions have no column"
        )
        msg = (
            f"{found} ({_listed(missing)}). Name the columns by the abbreviations in the "
            "ROI table, or deselect the regions."
        )
        raise SignalError(msg)


def checked_series(series: pd.DataFrame, selected: Sequence[str]) -> pd.DataFrame:
    """Reject series in which a selected region is missing, not finite, or constant.

    Regions that are not selected may be any of these.
    """
    if series.empty:
        msg = "the series have no volumes. Export them again, or exclude the subject."
        raise SignalError(msg)
    require_regions(series, selected)
    text = [roi for roi in selected if not pd.api.types.is_numeric_dtype(series[roi])]
    if text:
        cells = series[text[0]]
        words = cells[pd.to_numeric(cells, errors="coerce").isna() & cells.notna()]
        word = next(iter(words), cells.iloc[0])
        found = counted(
            len(text),
            "selected region contains text instead of numbers",
            "selected regions contain text instead of numbers",
        )
        msg = f"{found} ({_listed(text)}; {word!r} in {text[0]}). Repair or exclude the subject."
        raise SignalError(msg)
    values = series[list(selected)].to_numpy(dtype=float)
    bad = [
        roi for roi, column in zip(selected, values.T, strict=True) if not np.isfinite(column).all()
    ]
    if bad:
        found = counted(
            len(bad),
            "selected region contains missing or infinite values",
            "selected regions contain missing or infinite values",
        )
        msg = f"{found} ({_listed(bad)}). Repair or exclude the subject."
        raise SignalError(msg)
    flat = [roi for roi, sd in zip(selected, np.ptp(values, axis=0), strict=True) if sd == 0]
    if flat:
        found = counted(len(flat), "selected region is constant", "selected regions are constant")
        msg = f"{found} ({_listed(flat)}). Exclude the subject, or deselect the regions."
        raise SignalError(msg)
    return series


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
