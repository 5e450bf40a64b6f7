"""Who of a user's study can be processed: every problem found at once, nobody lost in silence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from notears_pfl.errors import CohortError
from notears_pfl.study.participants import sites_with_both_groups
from notears_pfl.study.scans import Scan

# A group that is meant to stay out of the study is mapped to this.
OTHER = "other"
STOP_ADVICE = (
    "Repair what is named below, or set source.on_problem to 'exclude' to go on without them."
)


@dataclass(frozen=True)
class Enrolment:
    """The participants of a study and the scans of those who are processed.

    Parameters
    ----------
    participants : DataFrame
        Everybody: ``participant_id``, ``site``, ``group``, whatever else the tables say, and
        ``not_enrolled``: why a subject is not processed, empty where it is.
    scans : mapping of str to Scan
        By participant; of those who are processed.
    sites : list of str
        The sites that have both groups.
    notices : list of str
        What the user should know before the work begins.
    tables : list of str
        Where the participants stand.
    """

    participants: pd.DataFrame
    scans: Mapping[str, Scan]
    sites: list[str]
    notices: list[str]
    tables: list[str]

    @property
    def enrolled(self) -> pd.DataFrame:
        """The participants who are processed."""
        return self.participants[self.participants["not_enrolled"] == ""]

    def rows(self) -> dict[str, list[Any]]:
        """Give the participants' columns as lists, None for what is missing."""
        columns = self.participants.astype(object).items()
        return {str(name): [None if pd.isna(v) else v for v in column] for name, column in columns}


def enrol(
    participants: pd.DataFrame,
    scans: Mapping[str, Scan],
    problems: Mapping[str, Sequence[str]],
    groups: tuple[str, str],
    on_problem: str,
    tables: Sequence[str],
    unasked: pd.Series | None = None,
) -> Enrolment:
    """Leave out whom the study does not ask for, and stop at or exclude those with problems.

    Parameters
    ----------
    participants : DataFrame
        One row per subject: ``participant_id``, ``site``, ``group`` and anything else.
    scans : mapping of str to Scan
        Of the participants without problems.
    problems : mapping of str to sequence of str
        What is wrong, by participant.
    groups : tuple of str
        Patients and controls.
    on_problem : {"stop", "exclude"}
        What becomes of a study in which someone has a problem (``source.on_problem``).
    tables : sequence of str
        Files that the participants were read from.
    unasked : Series of str, optional
        Why a participant is not asked for, whatever its scans; empty where it is.
    """
    name = ", ".join(tables)
    ids = participants["participant_id"]
    reasons = (unasked if unasked is not None else pd.Series("", participants.index)).astype(object)
    reasons[participants["group"] == OTHER] = "the group is not part of this study"
    left_out = reasons != ""
    # Nobody is asked for the scans of people who are meant to stay out.
    troubled = {who: problems[who] for who in ids[~left_out] if problems.get(who)}
    if troubled and on_problem == "stop":
        raise CohortError(all_problems(troubled, len(participants), name, STOP_ADVICE))
    lines = [
        f"{name}: {count} subjects are left out: {reason}."
        for reason, count in reasons[left_out].value_counts(sort=False).items()
    ]
    troubles = ids.map(lambda who: "; ".join(troubled.get(who, []))).astype(object)
    reasons = reasons.where(left_out, troubles)
    sites, lacking = sites_with_both_groups(participants[reasons == ""], groups, name)
    elsewhere = (reasons == "") & ~participants["site"].isin(sites)
    reasons[elsewhere] = "site " + participants["site"][elsewhere] + " lacks one of the groups"
    lines += lacking
    if troubled:
        lines.append(all_problems(troubled, len(participants), name, "They are left out."))
    enrolled = set(ids[reasons == ""])
    return Enrolment(
        participants.assign(not_enrolled=reasons),
        {who: scan for who, scan in scans.items() if who in enrolled},
        sites,
        lines,
        list(tables),
    )


def group_problems(
    values: pd.Series, mapped: pd.Series, groups: tuple[str, str], column: str
) -> dict[int, str]:
    """Say, by row, which values of the group's column nobody has given a meaning."""
    known = {*groups, OTHER}
    return {
        int(row): _group_problem(values[row], groups, column)
        for row in values.index[~mapped.isin(known)]
    }


def _group_problem(value: Any, groups: tuple[str, str], column: str) -> str:
    if pd.isna(value):
        return f"{column} is missing"
    return (
        f"{column} is {value!r}, neither {groups[0]} nor {groups[1]}. Correct groups, or map it in "
        f"source.group_values, to '{OTHER}' if it is not part of the study"
    )


def all_problems(problems: Mapping[str, Sequence[str]], n_all: int, name: str, advice: str) -> str:
    """Name everyone with a problem, those of the same problem together."""
    by_reason: dict[str, list[str]] = {}
    for who, reasons in problems.items():
        for reason in reasons:
            by_reason.setdefault(reason.replace(who, "sub-…"), []).append(who)
    lines = [f"  {', '.join(who)}: {reason}." for reason, who in by_reason.items()]
    head = f"{name}: {len(problems)} of {n_all} subjects cannot be used. {advice}"
    return "\n".join([head, *lines])
