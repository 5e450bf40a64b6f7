"""Find the subjects and scans of one BIDS dataset, or of one dataset per site."""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from notears_pfl.errors import CohortError, MachineError, PflError
from notears_pfl.io.bids_tree import BidsFile, BidsTree, check_folders
from notears_pfl.io.sidecars import read_metadata
from notears_pfl.study.enrolment import Enrolment, checked_participants, enrol, several_runs
from notears_pfl.study.headers import HeaderChecks
from notears_pfl.study.participants import (
    UNKNOWN,
    named_columns,
    read_participants,
    renamings,
    site_labels,
    text_columns,
)
from notears_pfl.study.scans import (
    FoundScans,
    Scan,
    checked_repetition_time,
    choose_confounds,
    choose_runs,
    choose_t1w,
    unequal_repetition_times,
    usable_scans,
)
from notears_pfl.wording import counted

# Placeholder for the site in the path of a participants table.
PLACEHOLDER = "{site}"
Finder = Callable[[BidsTree, str, Mapping[str, Any], HeaderChecks], FoundScans]


def enrol_datasets(
    source: Mapping[str, Any], groups: tuple[str, str], headers: HeaderChecks, find: Finder
) -> Enrolment:
    """Enrol the subjects of the datasets in ``source.dataset``; ``find`` finds their scans."""
    tables: list[pd.DataFrame] = []
    scans: dict[str, Sequence[Scan]] = {}
    lost: dict[str, Mapping[str, str]] = {}
    check_folders(_datasets(source).values())
    paths = _participants_tables(source)
    own_tables = {path: own_table(path, source) for path in dict.fromkeys(paths.values())}
    unplaced, problems = _rows_without_dataset(own_tables, source, groups)
    # The folder of a subject without a site may be in any dataset.
    without_site = set(unplaced["folder"][unplaced["site"] == UNKNOWN])
    for site, root in _datasets(source).items():
        tree, path = BidsTree(root), paths[str(root)]
        table, row_problems = participants_of(
            own_tables[path], path, source, site, groups, _sites_sharing_table(source)
        )
        table, unlisted = _with_unlisted_subjects(table, tree, site, path, without_site)
        row_problems |= unlisted
        if source["prefix_site"]:
            table["participant_id"] = _ids_with_site(table)
        for row, who, folder in table[["participant_id", "folder"]].itertuples():
            found = (
                find(tree, folder, source, headers)
                if os.path.isdir(tree.root / folder)
                else FoundScans([], [f"has no folder in {root}"])
            )
            problems.setdefault(who, []).extend([*row_problems.get(row, []), *found.problems])
            if found.scans:
                scans[who], lost[who] = found.scans, found.lost
        tables.append(table)
    participants = pd.concat([*tables, unplaced] if len(unplaced) else tables, ignore_index=True)
    _refuse_repeated_subjects(participants)
    by_participant = participants.set_index("participant_id")
    in_study = by_participant.index[by_participant["group"].isin(groups)]
    unequal = _unequal_times(scans, in_study, by_participant["site"])
    for who, of_runs in unequal.items():
        others = [scan for scan in scans[who] if scan.run not in of_runs]
        if others and source["on_problem"] == "exclude":
            scans[who], lost[who] = others, {**lost[who], **of_runs}
        else:
            several = len(scans[who]) > 1
            problems[who] += [f"{run}: {why}" if several else why for run, why in of_runs.items()]
    outside_study = participants["outside_study"]
    participants = participants.drop(columns=["folder", "dataset", "outside_study"])
    enrolment = enrol(
        participants, scans, problems, groups, source["on_problem"], list(own_tables), outside_study
    )
    numbers = {who: len(found) for who, found in enrolment.scans.items()}
    notices = [
        *enrolment.notices,
        *several_runs(numbers),
        *_lost_runs(lost, enrolment.scans),
        *_changed_names(own_tables, paths, source),
    ]
    return replace(enrolment, notices=notices, lost=lost)


def _unequal_times(
    scans: Mapping[str, Sequence[Scan]], in_study: Collection[str], sites: pd.Series
) -> dict[str, dict[str, str]]:
    """Describe, by subject, runs whose repetition time differs from the majority at their site."""
    runs = {
        f"{who}_{scan.run}": (who, scan)
        for who, found in scans.items()
        for scan in found
        if who in in_study
    }
    times = pd.Series({name: scan.repetition_time for name, (_, scan) in runs.items()}, dtype=float)
    places = pd.Series({name: sites[who] for name, (who, _) in runs.items()}, dtype=object)
    unequal: dict[str, dict[str, str]] = {}
    for name, problem in unequal_repetition_times(times, places).items():
        who, scan = runs[name]
        unequal.setdefault(who, {})[scan.run] = problem
    return unequal


def _lost_runs(lost: Mapping[str, Mapping[str, str]], enrolled: Collection[str]) -> list[str]:
    """Name the runs of enrolled subjects that cannot be used."""
    lines = [f"  {who} {run}: {why}" for who in enrolled for run, why in lost.get(who, {}).items()]
    head = counted(
        len(lines),
        "run cannot be used; its subject is used without it.",
        "runs cannot be used; their subjects are used without them.",
    )
    return ["\n".join([head, *lines])] if lines else []


def _changed_names(
    own_tables: Mapping[str, pd.DataFrame], paths: Mapping[str, str], source: Mapping[str, Any]
) -> list[str]:
    """Say which names of each table change; sites only where they are the table's."""
    is_shared = bool(_sites_sharing_table(source))
    sites = {paths[str(root)]: site for site, root in _datasets(source).items()}
    return [
        line
        for path, table in own_tables.items()
        for line in renamings(
            table, source, path, "" if is_shared else sites[path], with_site=source["prefix_site"]
        )
    ]


def participants_of(
    own: pd.DataFrame,
    path: str,
    source: Mapping[str, Any],
    site: str,
    groups: tuple[str, str],
    sharing_sites: Sequence[str] = (),
) -> tuple[pd.DataFrame, dict[int, list[str]]]:
    """Participants of a dataset by their table, which is left as it is; also problems of its rows.

    Of a table that the datasets of ``sharing_sites`` have in common, only the rows of ``site``
    count; if ``site`` is empty, only the rows of sites without a dataset.
    """
    site_column = source["site_column"]
    table = own.copy()
    if site_column not in table and (sharing_sites or not site):
        remedy = (
            f"give one table per site: {PLACEHOLDER} in source.participants stands for the site."
            if sharing_sites
            else "give one dataset per site: source.dataset: {SITE: folder}."
        )
        msg = (
            f"{path}: column {site_column} is missing; the table has "
            f"{', '.join(table.columns)}. Name the site column in source.site_column, or "
            f"{remedy}"
        )
        raise CohortError(msg)
    if sharing_sites:
        labels = site_labels(table[site_column])
        table = table[labels == site if site else ~labels.isin(sharing_sites)].copy()
    elif site:
        table[site_column] = site
    return checked_participants(table, path, source, groups)


def own_table(path: str, source: Mapping[str, Any]) -> pd.DataFrame:
    """Participants table as it is on disk, its columns called by the names of the settings."""
    return named_columns(read_participants(path, text_columns(source)), source, path)


def find_raw_scan(
    tree: BidsTree, folder: str, source: Mapping[str, Any], headers: HeaderChecks
) -> FoundScans:
    """Find the BOLD runs and the T1w image of a subject."""
    runs, problems = _chosen_runs(tree, folder, source, source["bold"])
    t1w = None
    try:
        session = runs[0].entities.get("ses") if runs else None
        t1w = choose_t1w(tree.images(folder, "anat", "T1w"), source["t1w"], session)
        problems += headers.t1w(t1w.path)
    except MachineError:
        raise
    except PflError as error:
        problems.append(str(error))
    files = {"t1w": t1w.path} if t1w else None
    return _scans_of(tree, runs, problems, source, headers, lambda _: files)


def find_normalised_scan(
    tree: BidsTree, folder: str, source: Mapping[str, Any], headers: HeaderChecks
) -> FoundScans:
    """Find fMRIPrep's runs in MNI space and their confounds; slice timing is corrected."""
    wanted = {**source["bold"], "space": source["space"], "desc": "preproc"}
    runs, problems = _chosen_runs(tree, folder, source, wanted)

    def beside(run: BidsFile) -> dict[str, str]:
        # Older versions of fMRIPrep name this table "regressors".
        tables = [*tree.beside(run, "timeseries"), *tree.beside(run, "regressors")]
        table = choose_confounds(run, tables).path
        described = table.removesuffix(".tsv") + ".json"
        has_json = described in (file.path for file in tables)
        return {"confounds": table} | ({"confounds_json": described} if has_json else {})

    return _scans_of(tree, runs, problems, source, headers, beside)


def _scans_of(
    tree: BidsTree, runs: Sequence[BidsFile], problems: Sequence[str], source: Mapping[str, Any],
    headers: HeaderChecks, others: Callable[[BidsFile], Mapping[str, Any] | None],
) -> FoundScans:  # fmt: skip
    """Check the runs of a subject; ``others`` gives the further files of one, or None."""
    scans: dict[str, Scan | None] = {}
    run_problems: dict[str, list[str]] = {}
    for run in runs:
        tr = files = None
        sidecars: list[str] = []
        found = run_problems[run.run_name] = []
        try:
            sidecars = tree.sidecars(run)
            metadata = read_metadata(sidecars)
            tr = checked_repetition_time(metadata, sidecars, run.path, headers.needs_slice_times)
            files = others(run)
        except MachineError:
            raise
        except PflError as error:
            found.append(str(error))
        found += headers.bold(run.path, sidecars if tr else [])
        scans[run.run_name] = (
            Scan(run.path, tuple(sidecars), tr, **files, run=run.run_name) if tr and files else None
        )
    return usable_scans(scans, run_problems, problems, source.get("on_problem", "stop"))


def _chosen_runs(
    tree: BidsTree, folder: str, source: Mapping[str, Any], wanted: Mapping[str, object]
) -> tuple[list[BidsFile], list[str]]:
    """Find the runs of a subject that the settings choose, or say why there are none."""
    try:
        return choose_runs(
            tree.images(folder, "func", "bold"), wanted, source.get("runs", "all")
        ), []
    except MachineError:
        raise
    except PflError as error:
        return [], [str(error)]


def _participants_tables(source: Mapping[str, Any]) -> dict[str, str]:
    """Path of the participants table of every dataset, by the dataset's path."""
    return {
        str(root): str(source.get("participants", Path(root) / "participants.tsv")).replace(
            PLACEHOLDER, site
        )
        for site, root in _datasets(source).items()
    }


def _datasets(source: Mapping[str, Any]) -> dict[str, str]:
    """Folder of each dataset by site; a single dataset for all sites has an empty name."""
    dataset = source["dataset"]
    if isinstance(dataset, Mapping):
        return {str(site): root for site, root in dataset.items()}
    return {"": dataset}


def _sites_sharing_table(source: Mapping[str, Any]) -> list[str]:
    """Sites whose datasets share one participants table."""
    sites = list(_datasets(source))
    shared = PLACEHOLDER not in source.get("participants", PLACEHOLDER)
    return sites if shared and len(sites) > 1 else []


def _rows_without_dataset(
    own_tables: Mapping[str, pd.DataFrame], source: Mapping[str, Any], groups: tuple[str, str]
) -> tuple[pd.DataFrame, dict[str, list[str]]]:
    """Rows of a shared table whose site is blank or has no dataset, and their problems by id."""
    sharing_sites = _sites_sharing_table(source)
    if not sharing_sites:
        return pd.DataFrame({"folder": [], "site": []}), {}
    path = source["participants"]
    table, row_problems = participants_of(own_tables[path], path, source, "", groups, sharing_sites)
    if source["prefix_site"]:
        table["participant_id"] = _ids_with_site(table)
    outside_study = "site " + table["site"] + " has no dataset in source.dataset"
    outside_study = outside_study.where(table["site"] != UNKNOWN, "")
    problems = {table["participant_id"][row]: found for row, found in row_problems.items()}
    return table.assign(dataset=path, outside_study=outside_study), problems


def _ids_with_site(table: pd.DataFrame) -> pd.Series:
    """Participant ids that include the site."""
    return "sub-" + table["site"] + table["participant_id"].str[4:]


def _with_unlisted_subjects(
    table: pd.DataFrame, tree: BidsTree, site: str, path: str, known: set[str]
) -> tuple[pd.DataFrame, dict[int, list[str]]]:
    """Add subjects with a folder but no row, as problems; ``known`` have a row elsewhere."""
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
    return joined.assign(dataset=str(tree.root), outside_study=""), problems


def _refuse_repeated_subjects(participants: pd.DataFrame) -> None:
    names = participants["participant_id"]
    twice = participants[names.duplicated(keep=False)]
    if len(twice):
        where = [
            f"  {who}: {', '.join(datasets)}" for who, datasets in twice.groupby(names)["dataset"]
        ]
        msg = (
            f"{counted(len(where), 'subject is', 'subjects are')} in more than one dataset. If "
            "these are different people, set source.prefix_site to true; if not, remove one copy "
            "or correct its site.\n" + "\n".join(where)
        )
        raise CohortError(msg)
