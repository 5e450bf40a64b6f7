"""Enrolment: find the subjects that can be processed, and report all problems at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import pandas as pd

from notears_pfl.errors import CohortError
from notears_pfl.study.participants import (
    SHOWN_NAMES,
    require_columns,
    site_labels,
    sites_with_both_groups,
    standard_participants,
    with_mapped_values,
)
from notears_pfl.study.scans import Scan
from notears_pfl.wording import counted

# Label of subjects that the user excludes on purpose (source.group_values).
OTHER = "other"
# Subjects with a problem that most of all have.
MOST_NAMED = 10
STOP_ADVICE = (
    "Fix the problems below, or set source.on_problem to 'exclude' to run without these subjects."
)


@dataclass(frozen=True)
class Enrolment:
    """The participants of a study, and the scans of the enrolled ones.

    Parameters
    ----------
    participants : DataFrame
        All participants: ``participant_id``, ``site``, ``group``, all other columns of the
        tables, and ``not_enrolled``: why a subject is not processed, empty if it is.
    scans : mapping of str to sequence of Scan
        Scans of the runs of the enrolled participants, by participant.
    sites : list of str
        The sites that have both groups.
    notices : list of str
        Messages to show to the user before the first job starts.
    tables : list of str
        Files that list the participants.
    lost : mapping of str to mapping
        Why runs cannot be used that others stand in for, by participant and run.
    """

    participants: pd.DataFrame
    scans: Mapping[str, Sequence[Scan]]
    sites: list[str]
    notices: list[str]
    tables: list[str]
    lost: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def enrolled(self) -> pd.DataFrame:
        """The participants that are processed."""
        return self.participants[self.participants["not_enrolled"] == ""]

    def rows(self) -> dict[str, list[Any]]:
        """Return the columns of the participants table as lists, with None for missing values."""
        columns = self.participants.astype(object).items()
        return {str(name): [None if pd.isna(v) else v for v in column] for name, column in columns}


def enrol(
    participants: pd.DataFrame,
    scans: Mapping[str, Sequence[Scan]],
    problems: Mapping[str, Sequence[str]],
    groups: tuple[str, str],
    on_problem: str,
    tables: Sequence[str],
    outside_study: pd.Series | None = None,
) -> Enrolment:
    """Enrol the subjects of a study that can be processed.

    Subjects outside the study are excluded. If any of the others has a problem, ``stop`` raises an
    error that lists all problems, and ``exclude`` continues without these subjects. Sites that are
    left with one group are excluded, unless all are. A study of which nobody is left is refused.

    Parameters
    ----------
    participants : DataFrame
        One row per subject: ``participant_id``, ``site``, ``group`` and anything else.
    scans : mapping of str to sequence of Scan
        Scans of the participants without problems.
    problems : mapping of str to sequence of str
        Problems of each participant.
    groups : tuple of str
        Patients and controls.
    on_problem : {"stop", "exclude"}
        What to do if a subject has a problem (``source.on_problem``).
    tables : sequence of str
        Files that the participants were read from.
    outside_study : Series of str, optional
        Why a participant is not part of the study, whatever its scans; empty if it is.
    """
    name = ", ".join(tables)
    ids = participants["participant_id"]
    if outside_study is None:
        outside_study = pd.Series("", participants.index)
    reasons = outside_study.astype(object)
    reasons[participants["group"] == OTHER] = "the group is not part of this study"
    is_outside = reasons != ""
    # Subjects outside the study need no usable scans, so their problems do not count.
    unusable = {
        who: [problem.removesuffix(".") for problem in problems[who]]
        for who in ids[~is_outside]
        if problems.get(who)
    }
    if unusable and on_problem == "stop":
        raise CohortError(describe_problems(unusable, len(participants), name, STOP_ADVICE))
    lines = [
        f"{name}: {counted(count, 'subject is', 'subjects are')} excluded: {reason}."
        for reason, count in reasons[is_outside].value_counts(sort=False).items()
    ]
    problems_text = ids.map(lambda who: "; ".join(unusable.get(who, []))).astype(object)
    reasons = reasons.where(is_outside, problems_text)
    sites, lacking = sites_with_both_groups(participants[reasons == ""], groups, name)
    # Without a site with both groups, all subjects can still be preprocessed.
    elsewhere = (reasons == "") & ~participants["site"].isin(sites or participants["site"])
    reasons[elsewhere] = "site " + participants["site"][elsewhere] + " lacks one of the groups"
    lines += lacking
    if unusable:
        lines.append(describe_problems(unusable, len(participants), name, "They are excluded."))
    enrolled = set(ids[reasons == ""])
    if not enrolled:
        excluded = [line for line in lines if line not in lacking]
        msg = (
            f"{name}: of {len(ids)} subjects, none can be processed. Complete the table, or "
            "correct what excludes them."
        )
        raise CohortError("\n".join([msg, *excluded]))
    return Enrolment(
        participants.assign(not_enrolled=reasons),
        {who: found for who, found in scans.items() if who in enrolled},
        sites,
        lines,
        list(tables),
    )


def group_problems(
    values: pd.Series, mapped: pd.Series, groups: tuple[str, str], column: str
) -> dict[int, str]:
    """Describe, by row, the values of the group column that belong to no known group."""
    known = {*groups, OTHER}
    return {
        int(row): _group_problem(values[row], mapped[row], groups, column)
        for row in values.index[~mapped.isin(known)]
    }


def _group_problem(value: Any, label: Any, groups: tuple[str, str], column: str) -> str:
    if pd.isna(value):
        return f"{column} is missing"
    if str(value).strip() != label:
        return (
            f"{column} {str(value).strip()!r} is mapped to {label!r} in source.group_values, but "
            f"groups are {groups[0]!r} and {groups[1]!r}. Write the same labels in both"
        )
    folded = {group.casefold(): group for group in groups}
    near = get_close_matches(str(value).casefold(), folded)
    like = f" (did you mean {folded[near[0]]}?)" if near else ""
    return (
        f"{column} is {str(value)!r}, neither {groups[0]} nor {groups[1]}{like}. "
        "Correct groups, or map it in source.group_values "
        f"(to '{OTHER}' if it is not part of the study)"
    )


def describe_problems(
    problems: Mapping[str, Sequence[str]], n_all: int, name: str, advice: str
) -> str:
    """List all subjects with problems, grouped by problem."""
    by_reason: dict[str, list[str]] = {}
    for who, reasons in problems.items():
        for reason in reasons:
            by_reason.setdefault(reason.replace(who, "sub-…"), []).append(who)
    lines = [
        f"  {_who(who, is_common=len(problems) > n_all / 2)}: {reason}."
        for reason, who in by_reason.items()
    ]
    head = f"{name}: {len(problems)} of {n_all} subjects cannot be used. {advice}"
    return "\n".join([head, *lines])


def _who(names: Sequence[str], *, is_common: bool) -> str:
    """List subjects; a few of them if most of a study have problems, which are then not theirs."""
    if not is_common or len(names) <= MOST_NAMED:
        return ", ".join(names)
    return f"{', '.join(names[:SHOWN_NAMES])} and {len(names) - SHOWN_NAMES} more"


def checked_participants(
    table: pd.DataFrame, path: str, source: Mapping[str, Any], groups: tuple[str, str]
) -> tuple[pd.DataFrame, dict[int, list[str]]]:
    """Standardise a participants table, called ``path``; also return the problems of its rows."""
    site_column, group_column = source["site_column"], source["group_column"]
    require_columns(table, ("participant_id", site_column, group_column), path)
    raw = table.copy()
    problems: dict[int, list[str]] = {}
    table[group_column] = with_mapped_values(table[group_column], source.get("group_values", {}))
    for row, problem in group_problems(
        raw[group_column], table[group_column], groups, group_column
    ).items():
        problems.setdefault(row, []).append(problem)
    for row in table.index[site_labels(table[site_column]) == ""]:
        problems.setdefault(int(row), []).append(f"{site_column} is missing in {path}")
    standard = standard_participants(table, site_column, group_column, path)
    labels = raw["participant_id"].str.strip().str.removeprefix("sub-")
    standard["folder"] = "sub-" + labels
    return standard, problems


def several_runs(numbers: Mapping[str, int]) -> list[str]:
    """Say how many subjects have several runs, if any; ``numbers`` are those of their runs."""
    several = [who for who, n in numbers.items() if n > 1]
    if not several:
        return []
    return [
        f"{len(several)} of {len(numbers)} subjects have several runs ({several[0]} has "
        f"{numbers[several[0]]}), which are cleaned one by one and joined. For one run of each, "
        "set source.runs to 'first', or name it in source.bold."
    ]
