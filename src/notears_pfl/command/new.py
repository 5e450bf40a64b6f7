"""Write the settings for a folder of data, after a look at what is there."""

import shutil
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import yaml

from notears_pfl.command.guesses import GROUP_NAMES, MOTION, Groups, label, named_like_groups
from notears_pfl.command.study import (
    described,
    merged_settings,
    plan_of,
    refusal,
    regions_used,
)
from notears_pfl.command.survey import ID, Survey, survey
from notears_pfl.command.workflow import DEFAULTS, ROOT
from notears_pfl.errors import ConfigError, PflError
from notears_pfl.io.settings import read_settings
from notears_pfl.io.tables import read_regions
from notears_pfl.study.derived_series import PROGRAMS
from notears_pfl.study.enrolment import OTHER
from notears_pfl.wording import counted

KINDS = {
    "bids": "raw BIDS", "fmriprep": "fMRIPrep output", "srpbs": "the SRPBS release",
    "timeseries": "ROI series",
}  # fmt: skip
SPACES = ("MNI152NLin2009cAsym", "MNI152NLin6Asym")
# A column of so many values may be one of groups.
FEW_VALUES = 4
# Groups of a study whose table does not name them.
DEFAULT_GROUPS = ("MDD", "HC")


def new_study(folder: Path, out: Path, participants: Path | None) -> int:
    """Survey a folder, write settings for it, and check them."""
    found = survey(folder.resolve(), participants.resolve() if participants else None)
    if out.exists():
        msg = f"{out}: exists already. Name another file with --out, or remove it."
        raise ConfigError(msg)
    print("\n".join(findings(found)))
    if not DEFAULTS.is_file():
        copy_defaults(DEFAULTS.parent)
        print(f"Copied the default settings and tables to {DEFAULTS.parent}/")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(settings_text(found), encoding="utf-8")
    print(f"Wrote {out}. Read it: lines with CHECK are guesses.")
    try:
        plan = plan_of(out)
    except PflError as error:
        print(f"\nThis study cannot be run yet:\n{refusal(error, out)}\n")
        print(f"Correct that, then: notears-pfl study check {out}")
        return 1
    print("\n".join(described(plan, merged_settings(out))))
    for notice in plan.source.notices:
        print(notice)
    print(f"To run it: notears-pfl study run {out}")
    return 0


def copy_defaults(folder: Path) -> None:
    """Copy the default settings and the tables that they name, not other studies' settings."""
    own = ROOT / DEFAULTS
    shutil.copytree(own.parent / "published", folder / "published", dirs_exist_ok=True)
    for path in (own, *own.parent.glob("*.tsv")):
        shutil.copy(path, folder)


def findings(found: Survey) -> list[str]:
    """Say what a folder holds."""
    what = f"series of {PROGRAMS[found.layout]}" if found.layout else KINDS[found.kind]
    subjects = counted(len(found.table), "subject", "subjects")
    lines = [f"{found.folder}: {what}, table of {subjects}"]
    if len(found.datasets) < 2 or not found.has_own_tables:
        lines.append(f"  table: {found.participants}")
    if found.id_column != ID:
        lines.append(f"  subjects: column {found.id_column}")
    if len(found.datasets) > 1:
        lines.append(f"  one dataset per site: {', '.join(found.datasets)}")
    elif found.site_column:
        sites = Counter(found.table[found.site_column].fillna("(none)"))
        lines.append(f"  sites (column {found.site_column}): {_counts(sites)}")
    else:
        lines.append("  sites: no column tells them apart")
    if found.group_column:
        counts = dict(found.values)
        if blank := int(found.table[found.group_column].isna().sum()):
            counts["(none)"] = blank
        lines += [f"  groups (column {found.group_column}): {_counts(counts)}", *_guessed(found)]
    elif alike := named_like_groups(found.table):
        n_values = counted(found.table[alike[0]].nunique(), "value", "values")
        lines.append(f"  groups: column {alike[0]} has {n_values}, but two or a few were needed")
    else:
        lines.append(
            f"  groups: no column is called {', '.join(GROUP_NAMES)}; columns: "
            f"{', '.join(map(str, found.table))}"
        )
    if found.columns:
        named = (f"{old} as {new}" for old, new in found.columns.items())
        lines.append(f"  further columns: {', '.join(named)} (by their names: a guess)")
    if found.unused:
        lines.append(f"  columns that are not used: {', '.join(found.unused)}")
    if found.tasks:
        lines.append(f"  tasks (subjects): {_counts(found.tasks)}")
    if found.times:
        times = {f"{time:g} s": n for time, n in sorted(found.times.items())}
        lines.append(f"  repetition times (images): {_counts(times)}")
    if found.spaces:
        lines.append(f"  spaces (subjects): {_counts(found.spaces)}")
    if found.n_several:
        lines.append(
            f"  subjects with several runs: {found.n_several}; all of them are used and joined, "
            "unless source.runs says 'session' or 'first', or source.bold names one"
        )
    if found.series:
        lines.append(f"  series: {found.series}")
    if found.variants:
        lines.append(f"  series of a run differ (files): {_counts(found.variants)}")
    return lines


def settings_text(found: Survey) -> str:
    """Write the settings of a study as commented YAML, with only what differs from the default."""
    lines = [
        f"# Settings of a study of {found.folder}.",
        "# Only what differs from config/config.yaml; config/README.md lists all settings.",
        "source:",
        f"  kind: {found.kind}",
    ]
    lines += [f"  {line}" for line in [*_places(found), *_columns(found), *_runs(found)]]
    lines += [
        "  # If subjects cannot be used: stop lists them, exclude runs the study without them.",
        "  on_problem: stop",
    ]
    if found.kind != "srpbs":
        groups = found.groups
        if groups and groups.basis:
            lines.append(
                f"# CHECK which are the patients: {found.group_column} {groups.patients} is a "
                f"guess ({groups.basis})."
            )
        if groups and groups.are_codes:
            lines.append(
                "# You may call the groups otherwise, such as ASD and TC: here and in group_values."
            )
        patients, controls = groups.labels if groups else DEFAULT_GROUPS
        lines.append(f"groups: {_flow({'patients': patients, 'controls': controls})}")
    if found.n_untimed and found.kind == "bids":
        lines += [
            "preproc:",
            f"  # {counted(found.n_untimed, 'run has', 'runs have')} no SliceTiming in a sidecar.",
            "  slice_timing: false",
        ]
    if found.kind == "fmriprep":
        lines += [
            "preproc:",
            "  # CHECK: volumes to discard, counted from the first of fMRIPrep's image.",
            "  drop_volumes: 10",
        ]
    if found.layout:
        which = "in the order" if found.layout == "giga_connectome" else "under the names"
        lines += [
            f"# CHECK: the table of regions must have those of the series, {which} of the columns.",
            "# rois: {table: /path/to/regions.tsv}",
        ]
    elif found.kind == "timeseries":
        table = read_settings(DEFAULTS)["rois"]["table"]
        selected = read_regions(table)["selected"]
        source = {"kind": found.kind, "series": found.series}
        n_used = int(selected.astype(bool).sum())
        said = regions_used(table, n_used, len(selected), source)
        lines += [f"# CHECK {line}." for line in said]
    if found.kind != "timeseries":
        lines += [
            "# The AAL atlas is downloaded once. To use your own copy, or without a network:",
            "# rois: {atlas: /path/to/aal.nii.gz}",
        ]
    return "\n".join(lines) + "\n"


def _places(found: Survey) -> list[str]:
    """Lines that say where the data are."""
    lines = []
    if found.layout:
        return [
            f"layout: {found.layout}",
            f"dataset: {_flow(str(found.folder))}",
            f"participants: {_flow(str(found.participants))}",
        ]
    if found.kind == "timeseries":
        return [f"participants: {_flow(str(found.participants))}", f"series: {_flow(found.series)}"]
    roots = {label(site): str(root) for site, root in found.datasets.items()}
    if len(roots) == 1:
        (root,) = roots.values()
        if found.site_column or found.kind == "srpbs":
            lines.append(f"dataset: {_flow(root)}")
        else:
            lines.append("# CHECK: the table has no column of sites, so all subjects are one site.")
            lines.append(f"dataset: {_flow({'Site1': root})}")
    else:
        lines.append(f"dataset: {_flow(roots)}")
        names = Counter(name for root in found.datasets.values() for name in _subjects(root))
        if any(count > 1 for count in names.values()):
            lines.append("# Datasets use the same labels for different people.")
            lines.append("prefix_site: true")
    if not found.has_own_tables:
        lines.append(f"participants: {_flow(str(found.participants))}")
    return lines


def _columns(found: Survey) -> list[str]:
    """Lines on the columns of the table, and on the values of its groups."""
    if found.kind == "srpbs":
        released = read_settings(ROOT / "config/srpbs.yaml")["source"]
        return [
            f"group_column: {released['group_column']}",
            "# The diagnoses of the release; other is not part of the study.",
            f"group_values: {_flow({str(k): v for k, v in released['group_values'].items()})}",
        ]
    lines = []
    if found.id_column != ID:
        lines.append(f"id_column: {_flow(found.id_column)}")
    if found.site_column and len(found.datasets) < 2:
        lines.append(f"site_column: {_flow(found.site_column)}")
    if found.group_column is None:
        taken = (found.id_column, found.site_column)
        likely = [
            f"{name} ({', '.join(sorted(own))})"
            for name, column in found.table.items()
            if name not in taken and 2 <= len(own := set(column.dropna())) <= FEW_VALUES
        ]
        return [
            *lines,
            "# CHECK: name the column that says who is a patient"
            + (f"; of few values: {', '.join(likely)}." if likely else "."),
            "group_column: group",
        ]
    lines.append(f"group_column: {_flow(found.group_column)}")
    values, groups = _group_values(found), found.groups
    if values:
        lines.append("# Values of that column: the group, or other if it is not part of the study.")
    if groups:
        lines += [f"# CHECK {said}" for said in _beside(groups)]
    if values:
        lines.append(f"group_values: {_flow(values)}")
    if found.columns:
        lines.append("# CHECK these columns of the table; they are called thus in results.")
        if MOTION in found.columns.values():
            lines.append(f"# {MOTION}: mean framewise displacement, mm.")
            lines.append("# Subjects above cohort.limits.max_mean_fd_mm are left out.")
        lines.append(f"columns: {_flow(found.columns)}")
    return lines


def _runs(found: Survey) -> list[str]:
    """Lines on the runs to use."""
    lines, bold = [], {}
    if found.tasks and "rest" not in found.tasks:
        resting = [task for task in found.tasks if "rest" in task.lower()]
        bold["task"] = (resting or [found.tasks.most_common(1)[0][0]])[0]
        lines.append("# CHECK: the task of the resting-state runs.")
    if found.entities:
        bold |= found.entities
        lines.append("# CHECK: of the series of a run, those to use.")
    if bold:
        lines.append(f"bold: {_flow(bold)}")
    space = next((space for space in SPACES if space in found.spaces), None)
    if found.kind == "fmriprep" and space:
        lines.append(f"space: {space}")
    return lines


def _guessed(found: Survey) -> list[str]:
    """Lines on the values of the patients and controls, and on those of neither."""
    groups, column = found.groups, found.group_column
    if groups is None or found.kind == "srpbs":
        return []
    guess = f" (a guess: {groups.basis})" if groups.basis else ""
    pair = f"patients: {column} {groups.patients}{guess}; controls: {column} {groups.controls}"
    return [f"  {line}" for line in [pair, *_beside(groups)]]


def _beside(groups: Groups) -> list[str]:
    """Say which values of the group column are no group, and which may be misspelt."""
    left_out = [
        f"{value} ({counted(n, 'subject', 'subjects')}): left out as a group of its own, '{OTHER}'"
        for value, n in groups.third.items()
    ]
    return [*left_out, *(f"{said} Correct the table." for said in groups.doubtful.values())]


def _group_values(found: Survey) -> dict[str, str]:
    """Group of every value that is not itself the label of a group; none where it is in doubt."""
    groups = found.groups
    if groups is None:
        return {}
    pair = zip((groups.patients, groups.controls), groups.labels, strict=True)
    values = {value: own for value, own in pair if value != own}
    return values | dict.fromkeys(groups.third, OTHER)


def _subjects(root: Path) -> list[str]:
    return [path.name for path in root.glob("sub-*") if path.is_dir()]


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _flow(value: object) -> str:
    """Write a value as YAML on one line."""
    text = yaml.safe_dump([value], default_flow_style=True, sort_keys=False, width=sys.maxsize)
    return text.strip()[1:-1]
