"""Guess what the columns and groups of a table of participants mean, and what a guess rests on."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import pandas as pd

from notears_pfl.wording import counted

# Columns by the names that studies give them.
SITE_NAMES = ("site", "site_id", "siteid", "center", "centre", "hospital", "institution", "scanner")
GROUP_NAMES = ("group", "dx_group", "diagnosis", "diag", "dx", "patient", "condition", "status")
# A column of more values, in a small table, holds ages or names.
MOST_VALUES = 12
# Names of further columns, in lower-case letters and digits, by what the workflow calls them.
MOTION = "mean_fd_mm"
KNOWN_COLUMNS = {
    MOTION: (
        "meanfdmm", "funcmeanfd", "meanfd", "fdmean", "meanfdpower", "fdmeanpower",
        "meanframewisedisplacement", "framewisedisplacementmean",
    ),
    "age": ("age", "ageatscan", "ageyears", "ageatmri"),
    "sex": ("sex", "gender"),
}  # fmt: skip
CONTROLS = re.compile(r"(?i)^(hc|hv|nc|tc|td|tdc|cn|ctl|ctrl|con|controls?|healthy.*|normal.*)$")
CODE = re.compile(r"[+-]?[0-9]+(\.0*)?")
# Columns in which 1 stands for patients and 2 for controls, as ABIDE's.
OF_ABIDE = ("dx_group",)
# A value of fewer subjects, and a smaller share of all, is no group of its own.
FEWEST_OF_GROUP, SMALLEST_SHARE = 5, 0.1
# How alike words are of which one is the other, misspelt; fewer need be if it is rare.
ALIKE, ALIKE_IF_RARE = 0.8, 0.6


@dataclass(frozen=True)
class Groups:
    """What the values of a group column seem to mean.

    Parameters
    ----------
    patients, controls : str
        Values of the two groups.
    basis : str
        What the choice rests on; empty if the values themselves say it.
    third : mapping of str to int
        Further groups and their numbers of subjects.
    doubtful : mapping of str to str
        Values that may be misspelt, and what is to be said of each.
    """

    patients: str
    controls: str
    basis: str
    third: Mapping[str, int]
    doubtful: Mapping[str, str]

    @property
    def labels(self) -> tuple[str, str]:
        """Labels of patients and controls; words where the values are codes."""
        if CODE.fullmatch(self.patients) and CODE.fullmatch(self.controls):
            return "patients", "controls"
        return label(self.patients), label(self.controls)

    @property
    def are_codes(self) -> bool:
        """Whether the labels are not those of the table."""
        return self.labels == ("patients", "controls") != (self.patients, self.controls)


def label(value: str) -> str:
    """Reduce a name to letters and digits."""
    return re.sub(r"[^A-Za-z0-9]", "", value)


def named_column(table: pd.DataFrame, names: Sequence[str], fewest: int) -> str | None:
    """Column whose name, in any case, comes first among ``names``, if it holds few values."""
    by_name = {str(column).lower(): str(column) for column in table}
    found = [by_name[name] for name in names if name in by_name]
    most = max(MOST_VALUES, len(table) // 2)
    return next((name for name in found if fewest <= table[name].nunique() <= most), None)


def named_like_groups(table: pd.DataFrame) -> list[str]:
    """Columns with a name that studies give to the groups, whatever they hold."""
    return [name for name in map(str, table) if name.lower() in GROUP_NAMES]


def guess_groups(column: str, values: Mapping[str, int]) -> Groups | None:
    """Guess the groups from the values of ``column`` and their numbers of subjects.

    ``values`` begin with the most frequent one. None if there are fewer than two.
    """
    n_all = sum(values.values())
    rare = {v for v, n in values.items() if n < FEWEST_OF_GROUP and n < SMALLEST_SHARE * n_all}
    common = [value for value in values if value not in rare]
    candidates = common if len(common) > 1 else list(values)
    if len(candidates) < 2:
        return None
    patients, controls, basis = _pair(column, candidates)
    folded = {value.casefold(): value for value in (patients, controls)}
    third, doubtful = {}, {}
    for value, n in values.items():
        if value in (patients, controls):
            continue
        cutoff = ALIKE_IF_RARE if value in rare else ALIKE
        near = get_close_matches(value.casefold(), folded, n=1, cutoff=cutoff)
        if not near and value not in rare:
            third[value] = n
            continue
        means = (
            f"did you mean {folded[near[0]]}?" if near else f"a misspelt {patients} or {controls}?"
        )
        doubtful[value] = f"{value} ({counted(n, 'subject', 'subjects')}): {means}"
    return Groups(patients, controls, basis, third, doubtful)


def _pair(column: str, values: Sequence[str]) -> tuple[str, str, str]:
    """Values of patients and controls, and what the choice rests on."""
    if controls := next(filter(CONTROLS.match, values), None):
        others = [value for value in values if value != controls]
        basis = f"the most frequent value besides {controls}" if len(others) > 1 else ""
        return others[0], controls, basis
    by_code = {value.partition(".")[0]: value for value in values if CODE.fullmatch(value)}
    if column.lower() in OF_ABIDE and {"1", "2"} <= {*by_code}:
        return by_code["1"], by_code["2"], "in ABIDE's tables, 1 is autism and 2 control"
    if {"0", "1"} <= {*by_code}:
        return by_code["1"], by_code["0"], "0 is usually the controls"
    if len(by_code) == len(values):
        first, second = sorted(values, key=float)[:2]
        if float(first) == 0:
            return second, first, "0 is usually the controls"
        return first, second, "the lower number; nothing else tells them apart"
    first, second = values[:2]
    return first, second, f"no value is named like controls; {first} comes first"


def guess_columns(table: pd.DataFrame, wanted: Collection[str]) -> dict[str, str]:
    """Columns that have other names than the ``wanted`` ones of the workflow, {old: new}."""
    named: dict[str, str] = {}
    for new in (new for new in KNOWN_COLUMNS if new in wanted and new not in table):
        by_name = {label(str(old)).lower(): str(old) for old in reversed(table.columns)}
        found = [by_name[name] for name in KNOWN_COLUMNS[new] if name in by_name]
        if new == MOTION:
            found = [old for old in found if _are_numbers(table[old])]
        if found:
            named[found[0]] = new
    return named


def _are_numbers(column: pd.Series) -> bool:
    """Whether a column has numbers, and no text."""
    given = column.dropna()
    return len(given) > 0 and bool(pd.to_numeric(given, errors="coerce").notna().all())
