"""What ``notears-pfl study check`` and ``study run`` do."""

import copy
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from snakemake.utils import update_config

from notears_pfl.command.workflow import (
    DEFAULTS,
    REPORT,
    SCHEMAS,
    USAGE,
    config_option,
    run_snakemake,
    targets_of,
)
from notears_pfl.errors import ConfigError, PflError
from notears_pfl.io.settings import read_settings
from notears_pfl.io.tables import read_table
from notears_pfl.study.configuration import check_settings_file
from notears_pfl.study.enrolment import describe_problems
from notears_pfl.study.participants import NO_SITE
from notears_pfl.study.plan import Plan, plan_study
from notears_pfl.study.series_check import series_problems, unknown_groups
from notears_pfl.study.sources import RoiSeries
from notears_pfl.wording import counted

SERIES_ADVICE = (
    "A run would leave them out, with these reasons. Correct the files, or remove the subjects "
    "from the table."
)
COHORT = Path("results/cohort/participants.tsv")


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


def described(plan: Plan) -> list[str]:
    """Who is in a planned study: subjects by site and group."""
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
    return lines


def check_study(config: Path, *, preprocessing: bool = False) -> int:
    """Run every check of a study, or of its preprocessing alone, and count its jobs; start none."""
    print(f"Checking {config}")
    try:
        plan = plan_of(config, needs_networks=not preprocessing)
    except PflError as error:
        print(f"\nThis study cannot be run as it is configured:\n{refusal(error, config)}")
        return 1
    print("\n".join(described(plan)), flush=True)
    if isinstance(plan.source, RoiSeries):
        people, source = plan.source.participants, merged_settings(config)["source"]
        # The user's own; results, which list enrolled subjects, are not there before a run.
        table = source.get("participants") or source["series"]
        if unknown := unknown_groups(people, plan.groups, table):
            print(unknown, flush=True)
        regions = (plan.atlas.rois, plan.atlas.selected)
        if problems := series_problems(plan.source.series, source, *regions):
            unusable = describe_problems(problems, len(people), table, SERIES_ADVICE)
            print("\n".join([*plan.source.notices, "", unusable]))
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
    elif code != USAGE:
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
