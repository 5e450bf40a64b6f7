"""Ready ROI series of a user's own study: whose they are, where they are, and what they must be."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os.path import isfile
from typing import Any

import numpy as np
import pandas as pd

from notears_pfl.errors import CohortError, SignalError
from notears_pfl.io.series_files import PLACEHOLDER, check_archive, series_path
from notears_pfl.io.tables import read_table
from notears_pfl.study.enrolment import STOP_ADVICE, all_problems
from notears_pfl.study.participants import refuse_blanks, standard_participants


@dataclass(frozen=True)
class SeriesStudy:
    """The participants of a study of ready series.

    Parameters
    ----------
    participants : DataFrame
        Everybody: ``participant_id``, ``site``, ``group`` and whatever else the table says.
    names : mapping of str to list of str
        By participant, how a file or array of its series may call it: by the table's own id, by
        ``participant_id``, or by that without ``sub-``.
    pattern : str
        Path of a subject's series, or of the one file of all (``source.series``).
    files : list of str
        Those that are there.
    notices : list of str
        What the user should know before the work begins.
    """

    participants: pd.DataFrame
    names: Mapping[str, list[str]]
    pattern: str
    files: list[str]
    notices: list[str]


def read_series_study(source: Mapping[str, Any]) -> SeriesStudy:
    """Read the participants and find their series; stop at or go on without missing files.

    Who is without a file fails later, alone and with the reason, if ``source.on_problem`` is
    ``exclude``.
    """
    path, pattern = source["participants"], source["series"]
    columns = (source["site_column"], source["group_column"])
    table = read_table(path, text=columns)
    participants = standard_participants(table, *columns, path)
    refuse_blanks(table, *columns, path)
    pairs = zip(participants["participant_id"], table["participant_id"], strict=True)
    names = {who: list(dict.fromkeys([own, who, who.removeprefix("sub-")])) for who, own in pairs}
    found = {who: series_path(pattern, *called) for who, called in names.items()}
    missing = {who: [f"{file} is not there"] for who, file in found.items() if not isfile(file)}
    if missing and len(missing) == len(found):
        msg = (
            f"{pattern}: none of the {len(found)} subjects of {path} has such a file; "
            f"{next(iter(found.values()))} is not there. Correct source.series."
        )
        raise CohortError(msg)
    if missing and source.get("on_problem", "stop") == "stop":
        raise CohortError(all_problems(missing, len(found), path, STOP_ADVICE))
    if PLACEHOLDER not in pattern:
        _check_shared(pattern)
    left_out = all_problems(missing, len(found), path, "They are left out.")
    files = sorted({str(file) for who, file in found.items() if who not in missing})
    return SeriesStudy(participants, names, pattern, files, [left_out] if missing else [])


def _check_shared(path: str) -> None:
    if not path.endswith(".npz"):
        msg = (
            f"{path}: one file of all subjects must be an .npz with an array for each. Give one, "
            f"or put {PLACEHOLDER} into source.series."
        )
        raise CohortError(msg)
    check_archive(path)


def labelled_series(
    values: np.ndarray, rois: Sequence[str], selected: Sequence[str]
) -> pd.DataFrame:
    """Label the columns of unnamed series by the table of regions.

    As many columns as the table has regions are all of them in its order; as many as are
    selected are those.
    """
    if values.ndim == 2:
        for labels in (rois, selected):
            if values.shape[1] == len(labels):
                return pd.DataFrame(values, columns=list(labels))
    msg = (
        f"unnamed series of shape {values.shape}, but volumes by {len(rois)} regions, or by "
        f"the {len(selected)} selected, were needed. Name the columns, or transpose the array."
    )
    raise SignalError(msg)


def checked_series(series: pd.DataFrame, selected: Sequence[str]) -> pd.DataFrame:
    """Refuse series that lack a selected region, a number, or variation; others may miss it."""
    if series.empty:
        msg = "the series have no volumes. Export them again, or exclude the subject."
        raise SignalError(msg)
    missing = [roi for roi in selected if roi not in series]
    if missing:
        msg = (
            f"{len(missing)} selected regions have no column ({_few(missing)}). Name the columns "
            "by the abbreviations of the ROI table, or deselect the regions."
        )
        raise SignalError(msg)
    text = [roi for roi in selected if not pd.api.types.is_numeric_dtype(series[roi])]
    if text:
        cells = series[text[0]]
        words = cells[pd.to_numeric(cells, errors="coerce").isna() & cells.notna()]
        word = next(iter(words), cells.iloc[0])
        msg = (
            f"{len(text)} selected regions have text where numbers were needed ({_few(text)}; "
            f"{word!r} in {text[0]}). Repair or exclude the subject."
        )
        raise SignalError(msg)
    values = series[list(selected)].to_numpy(dtype=float)
    bad = [
        roi for roi, column in zip(selected, values.T, strict=True) if not np.isfinite(column).all()
    ]
    if bad:
        msg = (
            f"{len(bad)} selected regions have missing or infinite values ({_few(bad)}). Repair "
            "or exclude the subject."
        )
        raise SignalError(msg)
    flat = [roi for roi, sd in zip(selected, np.ptp(values, axis=0), strict=True) if sd == 0]
    if flat:
        msg = (
            f"{len(flat)} selected regions do not vary ({_few(flat)}). Exclude the subject, or "
            "deselect the regions."
        )
        raise SignalError(msg)
    return series


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
