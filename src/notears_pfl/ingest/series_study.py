"""Who is in a study of ready ROI series, and where the series of each are."""

from collections.abc import Mapping
from dataclasses import dataclass
from os.path import isfile
from typing import Any

import pandas as pd

from notears_pfl.errors import CohortError
from notears_pfl.ingest.enrolment import STOP_ADVICE, all_problems
from notears_pfl.ingest.participants import refuse_blanks, standard_participants
from notears_pfl.io.series_files import PLACEHOLDER, check_archive, series_path
from notears_pfl.io.tables import read_table


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
    files : list of str
        Those that are there.
    lines : list of str
        What the user should know before the work begins.
    """

    participants: pd.DataFrame
    names: Mapping[str, list[str]]
    files: list[str]
    lines: list[str]


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
    return SeriesStudy(participants, names, files, [left_out] if missing else [])


def _check_shared(path: str) -> None:
    if not path.endswith(".npz"):
        msg = (
            f"{path}: one file of all subjects must be an .npz with an array for each. Give one, "
            f"or put {PLACEHOLDER} into source.series."
        )
        raise CohortError(msg)
    check_archive(path)
