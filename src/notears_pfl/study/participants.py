"""The participants table of a study: ids, sites and groups in a standard form."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from notears_pfl.errors import CohortError, TableError
from notears_pfl.io.tables import read_table
from notears_pfl.io.text import MissingError
from notears_pfl.names import LONGEST_ID, LONGEST_NAME, alike
from notears_pfl.wording import counted

# Label of a site or group that is missing in the table.
UNKNOWN = "unknown"
# Names that are listed one by one where many were changed.
SHOWN_NAMES = 5
# In the message on a study that can only be preprocessed.
NO_SITE = "no site has both groups"
# In that on a site.
LACKS = "is excluded: it has no"


def text_columns(source: Mapping[str, Any]) -> list[str]:
    """Columns of a participants table, as it is on disk, that hold ids, sites and groups."""
    wanted = [source["site_column"], source["group_column"]]
    old = [str(old) for old, new in source.get("columns", {}).items() if str(new) in wanted]
    return [*wanted, source.get("id_column", "participant_id"), *old]


def read_participants(path: str, text: Sequence[str]) -> pd.DataFrame:
    """Read the table of participants; if it is not there, name the setting."""
    try:
        return read_table(path, text=text)
    except TableError as error:
        if not isinstance(error.__cause__, MissingError):
            raise
        msg = f"{path}: no such table. Create it, or correct source.participants."
        raise CohortError(msg) from error


def named_columns(table: pd.DataFrame, source: Mapping[str, Any], name: str) -> pd.DataFrame:
    """Give columns the names of ``source.columns``, and ``participant_id`` its own.

    Parameters
    ----------
    table : DataFrame
        A participants table as it is on disk.
    source : mapping
        ``id_column``, the column with the subjects' names, and ``columns``, new names by old.
    name : str
        Name of the table in error messages: its file.
    """
    new = {str(old): str(called) for old, called in source.get("columns", {}).items()}
    ids = source.get("id_column", "participant_id")
    missing = [column for column in (ids, *new) if column not in table]
    if missing and (ids != "participant_id" or new):
        msg = (
            f"{name}: column {', '.join(missing)} is missing; the table has "
            f"{', '.join(map(str, table.columns))}. Correct source.id_column or source.columns."
        )
        raise CohortError(msg)
    taken = [called for called in new.values() if called in table and called not in new]
    if taken:
        msg = (
            f"{name}: source.columns gives the name {', '.join(taken)}, which another column "
            "already has. Give another name."
        )
        raise CohortError(msg)
    if ids != "participant_id":
        table = table.drop(columns="participant_id", errors="ignore")
        table = table.assign(participant_id=table[ids])
    return table.rename(columns=new)


def standard_participants(
    table: pd.DataFrame, site_column: str, group_column: str, name: str
) -> pd.DataFrame:
    """Give a participants table the columns ``participant_id``, ``site`` and ``group``.

    Ids get the prefix ``sub-``, and only letters and digits of ids and sites are kept, as in BIDS
    file names. A blank site or group becomes ``UNKNOWN``. Other columns are kept, except a column
    called ``site`` or ``group`` if another one was named for it.

    Parameters
    ----------
    table : DataFrame
        Has ``participant_id`` and the two columns named next.
    site_column, group_column : str
        Columns with the site and the group of a subject.
    name : str
        Name of the table in error messages: its file.
    """
    require_columns(table, ("participant_id", site_column, group_column), name)
    nameless = table.index[table["participant_id"].isna()] + 1
    if len(nameless):
        msg = (
            f"{name}: rows {nameless.tolist()} have no participant_id. Add one, or remove the rows."
        )
        raise CohortError(msg)
    if len({"participant_id", site_column, group_column}) < 3:
        msg = (
            f"{name}: participant, site and group each need their own column; site_column is "
            f"{site_column!r}, group_column {group_column!r}. Correct them in the configuration."
        )
        raise CohortError(msg)
    named = {site_column: "site", group_column: "group"}
    others = [column for column in ("site", "group") if column in table and column not in named]
    subjects = table.drop(columns=others).rename(columns=named)
    ids = subjects["participant_id"].astype(str).str.removeprefix("sub-").map(_letters_and_digits)
    _refuse_ambiguous_ids(table["participant_id"], ids, name)
    subjects["participant_id"] = "sub-" + ids
    _refuse_ambiguous_sites(subjects["site"], name)
    subjects["site"] = site_labels(subjects["site"]).replace("", UNKNOWN)
    subjects["group"] = subjects["group"].astype(object).fillna(UNKNOWN).astype(str)
    repeated = subjects["participant_id"][subjects["participant_id"].duplicated()].unique()
    if len(repeated):
        several = f"{', '.join(repeated[:10])} ({len(repeated)} in all) appear"
        who = f"{repeated[0]} appears" if len(repeated) == 1 else several
        msg = (
            f"{name}: {who} in more than one row, but each subject must have one row. Remove or "
            "rename the others."
        )
        raise CohortError(msg)
    return subjects


def require_columns(table: pd.DataFrame, columns: Sequence[str], name: str) -> None:
    """Refuse a participants table, called ``name``, that lacks one of the columns."""
    missing = [column for column in columns if column not in table]
    if missing:
        msg = (
            f"{name}: column {', '.join(missing)} is missing; the table has "
            f"{', '.join(map(str, table.columns))}. Add it, or name yours: source.site_column, "
            "source.group_column, source.id_column."
        )
        raise CohortError(msg)


def site_labels(column: pd.Series) -> pd.Series:
    """Reduce site names to letters and digits; empty where the site is missing or unknown."""
    text = column.astype(object).fillna("").astype(str)
    return text.map(_letters_and_digits).replace(UNKNOWN, "")


def renamings(
    table: pd.DataFrame,
    source: Mapping[str, Any],
    name: str,
    site: str = "",
    *,
    with_site: bool = False,
) -> list[str]:
    """Say, in one line, which sites and subjects of a table are called otherwise from here on.

    Parameters
    ----------
    table : DataFrame
        A participants table whose columns have the names of the settings.
    source : mapping
        ``site_column``.
    name : str
        Name of the table: its file.
    site : str
        Site of all subjects, if it is not the table that tells it.
    with_site : bool
        Whether the subjects' names begin with their site.
    """
    column = source["site_column"]
    ids = table["participant_id"].fillna("").astype(str).str.strip()
    told = table[column] if not site and column in table else pd.Series(site, table.index)
    sites = told.fillna("").astype(str).str.strip()
    labels = site_labels(sites)
    prefixes = labels.replace("", UNKNOWN) if with_site else [""] * len(table)
    called = ids.str.removeprefix("sub-")
    subjects = zip(ids, called, prefixes, called.map(_letters_and_digits), strict=True)
    new = {
        "sites": [f"{a} → {b}" for a, b in zip(sites, labels, strict=True) if b not in ("", a)],
        "subjects": [
            f"{own} → sub-{prefix}{b}" for own, a, prefix, b in subjects if b not in ("", a)
        ],
    }
    parts = []
    for what, pairs in new.items():
        different = list(dict.fromkeys(pairs))
        shown = different[:SHOWN_NAMES]
        more = f" and {len(different) - len(shown)} more" if len(different) > len(shown) else ""
        parts += [f"{what} {', '.join(shown)}{more}"] if shown else []
    return [f"{name}: names keep only letters and digits: {'; '.join(parts)}."] if parts else []


def _refuse_ambiguous_sites(sites: pd.Series, name: str) -> None:
    """Reject site names that become empty, identical or too long as letters and digits only."""
    spelled = sites.dropna().astype(str).str.strip()
    spelled = spelled[spelled.map(lambda text: any(map(str.isalnum, text)))]
    labels = site_labels(spelled)
    for key, names in spelled.groupby(labels.str.casefold()).unique().items():
        label = str(key)
        if len(names) > 1 or (label == "" and names[0] != UNKNOWN):
            called = " or ".join(labels[spelled.isin(names)].unique())
            msg = (
                f"{name}: sites {', '.join(names)} become {called or 'empty'} when only letters a "
                "to z and digits are kept; each needs a different name, whatever the case. Rename "
                "them in the table."
            )
            raise CohortError(msg)
        if len(label) > LONGEST_NAME:
            msg = (
                f"{name}: the name of site {label[:40]} … has {len(label)} characters; at most "
                f"{LONGEST_NAME} are allowed. Shorten it."
            )
            raise CohortError(msg)


def _refuse_ambiguous_ids(written: pd.Series, ids: pd.Series, name: str) -> None:
    """Reject ids that differ only by case, or are too short or too long for file names."""
    for own, label in zip(written, ids, strict=True):
        if not 0 < len(label) <= LONGEST_ID:
            msg = (
                f"{name}: participant_id {str(own)[:40]!r} has {len(label)} letters a to z and "
                f"digits, but 1 to {LONGEST_ID} are needed. Rename the subject."
            )
            raise CohortError(msg)
    same = alike(ids)
    if same:
        pairs = "; ".join(", ".join(f"sub-{label}" for label in several) for several in same[:5])
        msg = (
            f"{name}: {pairs} ({len(same)} in all) differ only by case; some file systems treat "
            "such names as one. Rename the subjects."
        )
        raise CohortError(msg)


def refuse_blanks(table: pd.DataFrame, site_column: str, group_column: str, name: str) -> None:
    """Reject a table in which a site or group is missing, and list these subjects."""
    blank = {
        site_column: site_labels(table[site_column]) == "",
        group_column: table[group_column].isna(),
    }
    lines = [
        f"  {column}: {', '.join(map(str, table['participant_id'][rows]))}"
        for column, rows in blank.items()
        if rows.any()
    ]
    if lines:
        msg = (
            f"{name}: these subjects have no site or no group, but every subject needs both. Fill "
            "in the column, or remove the rows.\n" + "\n".join(lines)
        )
        raise CohortError(msg)


def with_mapped_values(column: pd.Series, values: Mapping[object, str]) -> pd.Series:
    """Replace the values of ``column``, as text, according to the mapping ``values``."""
    table = {str(key): value for key, value in values.items()}
    text = column.astype("string").str.strip()
    return text.map(lambda value: table.get(value, value), na_action="ignore").astype(object)


def meaning_of_groups(source: Mapping[str, Any], groups: Mapping[str, str]) -> str:
    """Say which values of the group column, ``source.group_column``, are the two ``groups``."""
    values = source.get("group_values") or {}
    parts = []
    for role in ("patients", "controls"):
        own = [str(value) for value, label in values.items() if label == groups[role]]
        written = f"{source['group_column']} {' or '.join(own or [groups[role]])}"
        # Not "patients patients".
        name = "" if groups[role] == role else f" {groups[role]}"
        parts.append(f"{role}{name} ({written})")
    return "groups: " + ", ".join(parts)


def sites_with_both_groups(
    subjects: pd.DataFrame, groups: tuple[str, str], name: str
) -> tuple[list[str], list[str]]:
    """Find the sites that have patients and controls, and describe those that lack a group.

    Returns
    -------
    tuple of two lists
        The sites with both groups, in the table's order, and a message for each other site; if no
        site has both, one message that says so, with ``NO_SITE``.
    """
    for several in alike([*groups, *subjects["group"].unique()]):
        if not set(groups).isdisjoint(several):
            msg = (
                f"{name}: the groups {', '.join(map(repr, several))} differ only by case, blanks "
                "or Unicode form. Write them as in groups in the configuration."
            )
            raise CohortError(msg)
    present = subjects.groupby("site", sort=False)["group"].agg(set)
    complete = [str(site) for site, found in present.items() if set(groups) <= found]
    if not complete:
        found = ", ".join(sorted(subjects["group"].unique())) or "none"
        line = (
            f"{name}: {NO_SITE}, {groups[0]} and {groups[1]}; the groups in the table are {found}. "
            "Correct groups in the configuration, or the table. Without both groups, subjects can "
            "only be preprocessed (snakemake preprocessing): networks need them."
        )
        return [], [line]
    lines = []
    for site, found in present.items():
        lacking = [group for group in groups if group not in found]
        if lacking:
            roles = dict(zip(groups, ("patients", "controls"), strict=True))
            none = " and no ".join(
                label if label == roles[label] else f"{label} ({roles[label]})" for label in lacking
            )
            n = int((subjects["site"] == site).sum())
            lost = f"{counted(n, 'subject is', 'subjects are')} lost"
            lines.append(f"{name}: site {site} {LACKS} {none}. Its {lost}.")
    return complete, lines


def _letters_and_digits(label: str) -> str:
    # Unicode may write é as one character or as two, one of which is a plain e.
    return re.sub(r"[^A-Za-z0-9]", "", unicodedata.normalize("NFC", label))
