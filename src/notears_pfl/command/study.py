"""What ``notears-pfl study check`` and ``study run`` do."""

import contextlib
import copy
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from snakemake.utils import update_config

from notears_pfl.command.locks import is_locked
from notears_pfl.command.workflow import (
    DEFAULTS,
    REPORT,
    SCHEMAS,
    STOPPED,
    USAGE,
    config_option,
    run_snakemake,
    starts_jobs,
    targets_of,
)
from notears_pfl.errors import ConfigError, PflError
from notears_pfl.io.settings import read_settings
from notears_pfl.io.tables import read_table
from notears_pfl.study.configuration import check_settings_file
from notears_pfl.study.participants import LACKS, NO_SITE, meaning_of_groups
from notears_pfl.study.plan import Plan, plan_study
from notears_pfl.study.series_check import check_series
from notears_pfl.wording import counted

CANNOT_RUN = "This study cannot be run as it is configured:"
COHORT = Path("results/cohort/participants.tsv")
PAPERS_REGIONS = Path("config/rois.tsv")
# Endings of series in which no column has a name.
NAMELESS = (".npz", ".npy", ".mat", ".1D", ".txt")


def merged_settings(config: Path) -> dict[str, Any]:
    """Merge a study's settings into the default ones, as Snakemake does."""
    if not DEFAULTS.is_file():
        msg = (
            f"{DEFAULTS}: not in {Path.cwd()}. Call this in the folder of the workflow, or make a "
            "folder of your own with: notears-pfl study new FOLDER"
        )
        raise ConfigError(msg)
    merged: dict[str, Any] = {}
    for path in (DEFAULTS, config):
        check_settings_file(path)
        update_config(merged, copy.deepcopy(read_settings(path)))
    return merged


def plan_of(config: Path, *, needs_networks: bool = True) -> Plan:
    """Check a study and plan it; every problem that is found before a job starts is raised."""
    settings = merged_settings(config)
    names = dict.fromkeys([str(config), str(DEFAULTS)])
    return plan_study(
        settings, SCHEMAS, " + ".join(names), record=None, is_main=True,
        needs_networks=needs_networks,
    )  # fmt: skip


def refusal(error: PflError, config: Path) -> str:
    """Say why a study cannot be run, and whether its images can still be preprocessed."""
    if NO_SITE not in str(error):
        return str(error)
    return f"{error}\nTo check it for that: notears-pfl study check {config} --preprocessing"


def described(plan: Plan, settings: Mapping[str, Any]) -> list[str]:
    """Who is in a planned study, subjects by site and group, and which regions."""
    people = plan.source.participants
    # Without a site with both groups, all are preprocessed.
    used = plan.sites or plan.processed_sites
    sites = "one site" if len(used) == 1 else f"{len(used)} sites"
    subjects = counted(len(people), "subject", "subjects")
    lines = [f"{subjects} at {sites} (source.kind: {plan.kind}):"]
    for site in plan.processed_sites:
        here = people["group"][people["site"] == site]
        counts = ", ".join(f"{int((here == group).sum())} {group}" for group in plan.groups)
        lines.append(f"  {site}: {counts}" + ("" if site in used else " (left out)"))
    # They stand in the notices, too, among much else.
    lines += [f"  {said.partition(': ')[2]}" for said in plan.source.notices if LACKS in said]
    lines.append(meaning_of_groups(settings["source"], settings["groups"]))
    n_all, n_used = len(plan.atlas.rois), len(plan.atlas.selected)
    return [*lines, *regions_used(settings["rois"]["table"], n_used, n_all, settings["source"])]


def regions_used(table: str, n_used: int, n_all: int, source: Mapping[str, Any]) -> list[str]:
    """Say how many regions are used and, of series without names, in which order they are taken."""
    whose = ": the paper's selection" if Path(table) == PAPERS_REGIONS and n_used < n_all else ""
    number = f"all {n_all}" if n_used == n_all else f"{n_used} of {n_all}"
    lines = [f"{number} regions of {table} are used{whose}"]
    nameless = Path(source.get("series", "")).suffix in NAMELESS
    if source["kind"] == "timeseries" and (nameless or source.get("layout") == "giga_connectome"):
        lines.append("columns without names are taken in the order of that table")
    return lines


def check_study(config: Path, *, preprocessing: bool = False) -> int:
    """Run every check of a study, or of its preprocessing alone, and count its jobs; start none."""
    print(f"Checking {config}")
    notices: list[str] = []
    try:
        plan = plan_of(config, needs_networks=not preprocessing)
        settings = merged_settings(config)
        print("\n".join(described(plan, settings)), flush=True)
        notices = plan.source.notices
        for line in check_series(plan, settings["source"]):
            print(line, flush=True)
    except PflError as error:
        print("\n".join([*notices, f"\n{CANNOT_RUN}\n{refusal(error, config)}"]))
        return 1
    # It looks for the files that the first jobs need, and passes on the plan's notices.
    target = ["preprocessing"] if preprocessing else []
    code = run_snakemake([*config_option(config), "--dry-run", "--cores", "1", *target])
    if code == 0:
        further = " -- preprocessing" if preprocessing else ""
        print(f"All checks passed. To run it: notears-pfl study run {config}{further}")
    return code


def run_study(config: Path, cores: str, further: Sequence[str]) -> int:
    """Run a study with a line per stage; say where the report is."""
    if not DEFAULTS.is_file():
        merged_settings(config)
    before = {path: _changed_at(path) for path in (COHORT, REPORT)}
    if starts_jobs(further):
        # What is wrong with the settings is said by the rules.
        with contextlib.suppress(PflError, LookupError, TypeError, AttributeError):
            settings = merged_settings(config)
            print(meaning_of_groups(settings["source"], settings["groups"]), flush=True)
    # In one word: all by itself would be taken for the target by the rules.
    options = [f"--cores={cores}", *further]
    code = run_snakemake([*config_option(config), *options])
    if code == 0:
        targets = targets_of(options)
        # Not what an earlier run has left, unless this one has found it up to date.
        of_run = [
            path
            for path, changed in before.items()
            if {"all", str(path)} & targets or _changed_at(path) != changed
        ]
        for line in ending(of_run):
            print(line)
    elif code == STOPPED:
        print(
            "The run was stopped by a signal. To go on, give the same command again: finished work "
            "is kept."
        )
    # Who has locked the folder, and what to do, was said.
    elif code != USAGE and not is_locked():
        print(
            "The run stopped. Correct what is named above, then give the same command again: "
            "finished work is kept."
        )
    return code


def ending(made: Collection[Path]) -> list[str]:
    """Say what a finished run leaves: its subjects, and the report, of these files."""
    lines = []
    if COHORT in made and COHORT.is_file():
        people = read_table(COHORT)
        out = people[~people["included"].astype(bool)]
        lines.append(f"{len(people) - len(out)} of {len(people)} subjects are included.")
        if len(out):
            lines[-1] += f" The others and the reasons: {COHORT}"
    if REPORT in made and REPORT.is_file():
        lines.append(f"The report: {REPORT.absolute()} (open it in a browser)")
    return lines


def _changed_at(path: Path) -> int | None:
    return path.stat().st_mtime_ns if path.is_file() else None
