"""Who and what is in datasets of the shape of BIDS: one, or one per site."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from notears_pfl.errors import CohortError, MachineError, PflError
from notears_pfl.io.bids_tree import BidsTree, check_folders
from notears_pfl.io.sidecars import read_metadata
from notears_pfl.io.tables import read_table
from notears_pfl.study.enrolment import Enrolment, enrol, group_problems
from notears_pfl.study.participants import (
    UNKNOWN,
    site_labels,
    standard_participants,
    with_mapped_values,
)
from notears_pfl.study.scans import (
    Scan,
    checked_repetition_time,
    choose_confounds,
    choose_run,
    choose_t1w,
    unequal_repetition_times,
)

# Stands for the site in the path of a participants table.
PLACEHOLDER = "{site}"
Finder = Callable[[BidsTree, str, Mapping[str, Any], bool], tuple[Scan | None, list[str]]]


def enrol_datasets(
    source: Mapping[str, Any], groups: tuple[str, str], needs_slice_times: bool, find: Finder
) -> Enrolment:
    """Enrol the subjects of the datasets under ``source.dataset``; ``find`` finds their scans."""
    tables: list[pd.DataFrame] = []
    scans: dict[str, Scan] = {}
    check_folders(_datasets(source).values())
    paths = _participants_tables(source)
    rest, problems = _rows_of_no_dataset(source, groups)
    # Subjects without a site may have their folder in any dataset.
    without_site = set(rest["folder"][rest["site"] == UNKNOWN])
    for site, root in _datasets(source).items():
        tree, path = BidsTree(root), paths[str(root)]
        table, wrong = read_participants(path, source, site, groups, _sharing(source))
        table, unlisted = _with_unlisted_subjects(table, tree, site, path, without_site)
        wrong |= unlisted
        if source["prefix_site"]:
            table["participant_id"] = _with_site(table)
        for row, who, folder in table[["participant_id", "folder"]].itertuples():
            scan, found = (
                find(tree, folder, source, needs_slice_times)
                if os.path.isdir(tree.root / folder)
                else (None, [f"has no folder in {root}"])
            )
            problems.setdefault(who, []).extend([*wrong.get(row, []), *found])
            if scan:
                scans[who] = scan
        tables.append(table)
    participants = pd.concat([*tables, rest] if len(rest) else tables, ignore_index=True)
    _refuse_namesakes(participants)
    everybody = participants.set_index("participant_id")
    times = pd.Series({who: scan.repetition_time for who, scan in scans.items()}, dtype=float)
    in_study = times[everybody["group"].reindex(times.index).isin(groups)]
    for who, problem in unequal_repetition_times(in_study, everybody["site"]).items():
        problems[who].append(problem)
    unasked = participants["unasked"]
    participants = participants.drop(columns=["folder", "dataset", "unasked"])
    named = list(dict.fromkeys(paths.values()))
    return enrol(participants, scans, problems, groups, source["on_problem"], named, unasked)


def read_participants(
    path: str,
    source: Mapping[str, Any],
    site: str,
    groups: tuple[str, str],
    sharing: Sequence[str] = (),
) -> tuple[pd.DataFrame, dict[int, list[str]]]:
    """Read a participants table; also give what is wrong with its rows.

    Of a table that several sites are ``sharing``, only the rows of ``site`` are read; of no site,
    those of none of them.
    """
    site_column, group_column = source["site_column"], source["group_column"]
    table = read_table(path, text=(site_column, group_column))
    if site_column not in table and (sharing or not site):
        remedy = (
            f"give a table per site: {PLACEHOLDER} in source.participants stands for the site."
            if sharing
            else "give a dataset per site: source.dataset: {SITE: folder}."
        )
        msg = (
            f"{path}: column {site_column} is missing; the table has "
            f"{', '.join(table.columns)}. Name the column of the site in source.site_column, or "
            f"{remedy}"
        )
        raise CohortError(msg)
    if sharing:
        labels = site_labels(table[site_column])
        table = table[labels == site if site else ~labels.isin(sharing)].copy()
    elif site:
        table[site_column] = site
    raw = table.copy()
    problems: dict[int, list[str]] = {}
    if group_column in table:
        table[group_column] = with_mapped_values(table[group_column], source["group_values"])
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


def find_raw_scan(
    tree: BidsTree, folder: str, source: Mapping[str, Any], needs_slice_times: bool
) -> tuple[Scan | None, list[str]]:
    """Find the run and the T1w of a subject; also give everything that stands in the way."""
    problems: list[str] = []
    run = t1w = tr = None
    sidecars: list[str] = []
    try:
        run = choose_run(tree.images(folder, "func", "bold"), source["bold"])
        sidecars = tree.sidecars(run)
        metadata = read_metadata(sidecars)
        tr = checked_repetition_time(metadata, sidecars, run.path, needs_slice_times)
    except MachineError:
        raise
    except PflError as error:
        problems.append(str(error))
    try:
        session = run.entities.get("ses") if run else None
        t1w = choose_t1w(tree.images(folder, "anat", "T1w"), source["t1w"], session)
    except MachineError:
        raise
    except PflError as error:
        problems.append(str(error))
    if run and t1w and tr:
        return Scan(run.path, tuple(sidecars), tr, t1w=t1w.path), problems
    return None, problems


def find_normalised_scan(
    tree: BidsTree, folder: str, source: Mapping[str, Any], needs_slice_times: bool
) -> tuple[Scan | None, list[str]]:
    """Find fMRIPrep's run in MNI space and its confounds; slice times are behind it."""
    wanted = {**source["bold"], "space": source["space"], "desc": "preproc"}
    try:
        run = choose_run(tree.images(folder, "func", "bold"), wanted)
        sidecars = tree.sidecars(run)
        tr = checked_repetition_time(read_metadata(sidecars), sidecars, run.path, False)
        # Older versions of fMRIPrep call them regressors.
        tables = [*tree.beside(run, "timeseries"), *tree.beside(run, "regressors")]
        confounds = choose_confounds(run, tables)
    except MachineError:
        raise
    except PflError as error:
        return None, [str(error)]
    return Scan(run.path, tuple(sidecars), tr, confounds=confounds.path), []


def _participants_tables(source: Mapping[str, Any]) -> dict[str, str]:
    """Path of the participants table of every dataset, by the dataset's path."""
    return {
        str(root): str(source.get("participants", Path(root) / "participants.tsv")).replace(
            PLACEHOLDER, site
        )
        for site, root in _datasets(source).items()
    }


def _datasets(source: Mapping[str, Any]) -> dict[str, str]:
    """Folder of each dataset by site; one dataset of all sites stands under an empty name."""
    dataset = source["dataset"]
    if isinstance(dataset, Mapping):
        return {str(site): root for site, root in dataset.items()}
    return {"": dataset}


def _sharing(source: Mapping[str, Any]) -> list[str]:
    """Sites whose datasets have one participants table together."""
    sites = list(_datasets(source))
    shared = PLACEHOLDER not in source.get("participants", PLACEHOLDER)
    return sites if shared and len(sites) > 1 else []


def _rows_of_no_dataset(
    source: Mapping[str, Any], groups: tuple[str, str]
) -> tuple[pd.DataFrame, dict[str, list[str]]]:
    """Rows of a shared table whose site has no dataset or is blank, and what is wrong, by id."""
    sharing = _sharing(source)
    if not sharing:
        return pd.DataFrame({"folder": [], "site": []}), {}
    path = source["participants"]
    table, wrong = read_participants(path, source, "", groups, sharing)
    if source["prefix_site"]:
        table["participant_id"] = _with_site(table)
    unasked = "site " + table["site"] + " has no dataset in source.dataset"
    unasked = unasked.where(table["site"] != UNKNOWN, "")
    problems = {table["participant_id"][row]: found for row, found in wrong.items()}
    return table.assign(dataset=path, unasked=unasked), problems


def _with_site(table: pd.DataFrame) -> pd.Series:
    """Ids that name the site too."""
    return "sub-" + table["site"] + table["folder"].str[4:]


def _with_unlisted_subjects(
    table: pd.DataFrame, tree: BidsTree, site: str, path: str, known: set[str]
) -> tuple[pd.DataFrame, dict[int, list[str]]]:
    """Add subjects with a folder but no row, and say so; ``known`` have a row elsewhere."""
    unlisted = sorted(set(tree.subjects()) - set(table["folder"]) - known)
    first = int(table.index.max()) + 1 if len(table) else 0
    numbers = range(first, first + len(unlisted))
    rows = pd.DataFrame(
        {"participant_id": unlisted, "folder": unlisted, "site": site or UNKNOWN},
        index=numbers,
        dtype=object,
    ).assign(group=UNKNOWN)
    joined = pd.concat([table, rows]) if unlisted else table
    problems = {row: [f"has a folder in {tree.root} but no row in {path}"] for row in numbers}
    return joined.assign(dataset=str(tree.root), unasked=""), problems


def _refuse_namesakes(participants: pd.DataFrame) -> None:
    names = participants["participant_id"]
    twice = participants[names.duplicated(keep=False)]
    if len(twice):
        where = [
            f"  {who}: {', '.join(datasets)}" for who, datasets in twice.groupby(names)["dataset"]
        ]
        msg = (
            f"{len(where)} subjects are in more than one dataset. If these are different people, "
            "set source.prefix_site to true; if not, remove one of each, or correct its site.\n"
            + "\n".join(where)
        )
        raise CohortError(msg)
