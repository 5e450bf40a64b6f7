"""ROI series that the user has already extracted: subjects, files, and checks of the values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os.path import isfile
from typing import Any

import numpy as np
import pandas as pd

from notears_pfl.errors import CohortError, SignalError
from notears_pfl.io.series_files import PLACEHOLDER, check_archive, series_path
from notears_pfl.io.tables import read_table
from notears_pfl.study.enrolment import STOP_ADVICE, describe_problems
from notears_pfl.study.participants import refuse_blanks, standard_participants


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
    pattern : str
        Path of a subject's series, or of one file for all subjects (``source.series``).
    files : list of str
        The files that exist.
    notices : list of str
        Messages to show to the user before the first job starts.
    """

    participants: pd.DataFrame
    names: Mapping[str, list[str]]
    pattern: str
    files: list[str]
    notices: list[str]


def read_series_study(source: Mapping[str, Any]) -> SeriesStudy:
    """Read the participants and find their series.

    If files are missing, ``source.on_problem: stop`` raises an error that lists them; with
    ``exclude`` the run continues, and subjects without a file are marked as failed with the reason.
    """
    path, pattern = source["participants"], source["series"]
    columns = (source["site_column"], source["group_column"])
    table = read_table(path, text=columns)
    participants = standard_participants(table, *columns, path)
    refuse_blanks(table, *columns, path)
    pairs = zip(participants["participant_id"], table["participant_id"], strict=True)
    names = {who: list(dict.fromkeys([own, who, who.removeprefix("sub-")])) for who, own in pairs}
    found = {who: series_path(pattern, *called) for who, called in names.items()}
    missing = {who: [f"{file} does not exist"] for who, file in found.items() if not isfile(file)}
    if missing and len(missing) == len(found):
        msg = (
            f"{pattern}: none of the {len(found)} subjects in {path} has such a file; "
            f"{next(iter(found.values()))} does not exist. Correct source.series."
        )
        raise CohortError(msg)
    if missing and source.get("on_problem", "stop") == "stop":
        raise CohortError(describe_problems(missing, len(found), path, STOP_ADVICE))
    if PLACEHOLDER not in pattern:
        _check_shared_file(pattern)
    excluded = describe_problems(missing, len(found), path, "They are excluded.")
    files = sorted({str(file) for who, file in found.items() if who not in missing})
    return SeriesStudy(participants, names, pattern, files, [excluded] if missing else [])


def _check_shared_file(path: str) -> None:
    if not path.endswith(".npz"):
        msg = (
            f"{path}: a single file for all subjects must be an .npz with one array per subject. "
            f"Give such a file, or put {PLACEHOLDER} into source.series."
        )
        raise CohortError(msg)
    check_archive(path)


def labelled_series(
    values: np.ndarray, rois: Sequence[str], selected: Sequence[str]
) -> pd.DataFrame:
    """Label the columns of unnamed series with the regions of the ROI table.

    If there are as many columns as regions, they are all regions in the table's order; if there
    are as many as selected regions, they are those.
    """
    if values.ndim == 2:
        for labels in (rois, selected):
            if values.shape[1] == len(labels):
                return pd.DataFrame(values, columns=list(labels))
    msg = (
        f"unnamed series have shape {values.shape}, but volumes by {len(rois)} regions, or by "
        f"the {len(selected)} selected ones, were needed. Name the columns, or transpose the array."
    )
    raise SignalError(msg)


def checked_series(series: pd.DataFrame, selected: Sequence[str]) -> pd.DataFrame:
    """Reject series in which a selected region is missing, not finite, or constant.

    Regions that are not selected may be any of these.
    """
    if series.empty:
        msg = "the series have no volumes. Export them again, or exclude the subject."
        raise SignalError(msg)
    missing = [roi for roi in selected if roi not in series]
    if missing:
        msg = (
            f"{len(missing)} selected regions have no column ({_listed(missing)}). Name the "
            "columns by the abbreviations in the ROI table, or deselect the regions."
        )
        raise SignalError(msg)
    text = [roi for roi in selected if not pd.api.types.is_numeric_dtype(series[roi])]
    if text:
        cells = series[text[0]]
        words = cells[pd.to_numeric(cells, errors="coerce").isna() & cells.notna()]
        word = next(iter(words), cells.iloc[0])
        msg = (
            f"{len(text)} selected regions contain text instead of numbers ({_listed(text)}; "
            f"{word!r} in {text[0]}). Repair or exclude the subject."
        )
        raise SignalError(msg)
    values = series[list(selected)].to_numpy(dtype=float)
    bad = [
        roi for roi, column in zip(selected, values.T, strict=True) if not np.isfinite(column).all()
    ]
    if bad:
        msg = (
            f"{len(bad)} selected regions contain missing or infinite values ({_listed(bad)}). "
            "Repair or exclude the subject."
        )
        raise SignalError(msg)
    flat = [roi for roi, sd in zip(selected, np.ptp(values, axis=0), strict=True) if sd == 0]
    if flat:
        msg = (
            f"{len(flat)} selected regions are constant ({_listed(flat)}). Exclude the subject, or "
            "deselect the regions."
        )
        raise SignalError(msg)
    return series


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
