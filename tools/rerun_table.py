"""The table of reruns in config/README.md: what Snakemake would run again for each setting.

``python tools/rerun_table.py`` rewrites it. It changes one setting at a time in a study of two
small sites whose files are empty but count as finished, and reads the answer from a dry run.
"""

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from snakemake.cli import main as snakemake_main

# The plan, too, is imported once here instead of in every dry run.
import notears_pfl.study.plan  # noqa: F401
from notears_pfl.io.schema import Schema, read_schema
from settings_table import rewrite_readme

MARKERS = ("<!-- reruns: generated, see make figures -->", "<!-- end of reruns -->")
# Another source of data is another study, the content of tables matters, not their path, and how
# subjects are divided into jobs shows in larger studies only.
NOT_ASKED = ("source.", "subjects_per_job", "sites", "rois.table", "rois.atlas", "rois.n_selected")
# Short lists, so that few simulations are planned.
FEW = {"runs": 1, "variables": [7], "sites": [2], "perturbation": [5]}
# Results that are folders.
FOLDERS = ("results/report/subjects/", "results/report/tables")
CHANGED = "params have changed since last execution:"
FOLLOWS = "input files updated by another job:"
NEW = "output files have to be generated:"


@dataclass(frozen=True)
class Plan:
    """Rules that a dry run would run: because they changed, or because their inputs did."""

    starts: tuple[str, ...]
    follows: tuple[str, ...]


@dataclass(frozen=True)
class PretendedStudy:
    """A folder with the files of a finished study, all empty."""

    folder: Path
    workflow: Path
    targets: tuple[str, ...] = ()
    rules: frozenset[str] = frozenset()  # those that make files

    def ask(self, *arguments: str) -> tuple[int, str]:
        """Run Snakemake in a forked process; give its exit code and output."""
        where = ["--snakefile", str(self.workflow / "Snakefile"), "--directory", str(self.folder)]
        with tempfile.NamedTemporaryFile("r", encoding="utf-8") as words:
            # Forked, because importing Snakemake takes longer than the dry run itself.
            process = get_context("fork").Process(
                target=_snakemake, args=(words.name, [*where, "--nolock", *arguments])
            )
            process.start()
            process.join()
            return process.exitcode or 0, words.read()

    def plan(self, settings: Mapping[str, Any] | None = None) -> Plan | None:
        """Plan what runs again with changed ``settings``; None if they are refused."""
        with tempfile.TemporaryDirectory() as folder:
            changed = Path(folder) / "changed.yaml"
            changed.write_text(yaml.safe_dump(settings or {}), encoding="utf-8")
            code, words = self.ask("--dry-run", "--configfile", str(changed), "--", *self.targets)
        return None if code else Plan(*_reasons(words, self.rules))


def pretend_finished(folder: Path, workflow: Path) -> PretendedStudy:
    """Make a study of eight subjects in ``folder`` that counts as finished."""
    shutil.copytree(workflow / "config", folder / "config")
    sites = pd.read_csv(folder / "config/sites.tsv", sep="\t", dtype=str, keep_default_na=False)
    sites = sites.iloc[[0, -1]].assign(phantom_patients="2", phantom_controls="2")
    sites.to_csv(folder / "config/sites.tsv", sep="\t", index=False)
    config = yaml.safe_load((folder / "config/config.yaml").read_text(encoding="utf-8"))
    config["simulation"] |= {"quick": FEW, "weights": ["shared"]}
    (folder / "config/config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")

    study = PretendedStudy(folder, workflow)
    targets = tuple(
        line for line in _lines(study.ask("--list-target-rules")) if line.isidentifier()
    )
    summary = [line.split("\t") for line in _lines(study.ask("--summary", "--", *targets))]
    # Rows of the summary below its heading: file, date, rule and more.
    files = {row[0]: row[2] for row in summary if len(row) > 2 and row[1] != "date"}
    for path in files:
        made = folder / path
        is_folder = path.startswith(FOLDERS)
        (made if is_folder else made.parent).mkdir(parents=True, exist_ok=True)
        if not is_folder:
            made.touch()
    _lines(study.ask("--touch", "--forceall", "--cores", "1", "--", *targets))
    # Touching removes the benchmark files beside the logs.
    for log in (folder / "logs").rglob("*.log"):
        log.with_suffix(".benchmark.tsv").touch()
    return PretendedStudy(folder, workflow, targets, frozenset(files.values()))


def rerun_table(study: PretendedStudy, schema: Schema, defaults: Mapping[str, Any]) -> str:
    """Markdown table of what runs again; settings with the same answer share a row."""
    settings = list(_leaves(schema, defaults))
    with ProcessPoolExecutor(os.cpu_count(), get_context("fork")) as workers:
        plans = list(workers.map(partial(_first_plan, study), settings))
    rows: dict[Plan | None, list[str]] = {}
    for (name, _, _), plan in zip(settings, plans, strict=True):
        rows.setdefault(plan, []).append(f"`{name}`")
    lines = ["| you change | runs again | and what follows |", "|---|---|---|"]
    for plan, names in rows.items():
        starts, follows = ("refused alone", "") if plan is None else _words(plan)
        lines.append(f"| {', '.join(names)} | {starts} | {follows} |")
    return "\n".join(lines)


def other_values(field: Schema, default: Any) -> list[Any]:
    """Values that a setting may take instead of ``default``, smallest change first."""
    if "oneOf" in field:
        return [value for one in field["oneOf"] for value in other_values(one, default)]
    if "enum" in field or "const" in field:
        return [value for value in field.get("enum", [field.get("const")]) if value != default]
    if field["type"] == "array":
        default = default if isinstance(default, list) else []
        return [other for other in (default[:-1], default[1:]) if other] + _longer(field, default)
    if field["type"] == "boolean":
        return [not default]
    if field["type"] == "string":
        return [f"{default}X"]
    start = default if isinstance(default, int | float) else field.get("minimum", 1)
    near = [start + 1, start - 1, 1.01 * start, 0.99 * start, start + 0.01]
    numbers = [int(n) for n in near[:2]] if field["type"] == "integer" else near
    return [n for n in numbers if n != default and _within(field, n)]


def _first_plan(study: PretendedStudy, setting: tuple[str, Schema, Any]) -> Plan | None:
    """Plan with the first other value of a setting that passes the checks on its own."""
    name, field, default = setting
    plans = (study.plan(_nested(name, value)) for value in other_values(field, default))
    return next((plan for plan in plans if plan), None)


def _longer(field: Schema, default: Sequence[Any]) -> list[Any]:
    """Give lists with one number changed, or with one more of the allowed items."""
    if "prefixItems" in field:
        return [[*default[:-1], 0.9 * default[-1]]]
    items = field.get("items", {})
    if items.get("type") in ("integer", "number"):
        return [[*default, value] for value in other_values(items, max(default, default=None))]
    allowed = items.get("enum", items.get("examples", ["other"]))
    return [[*default, value] for value in allowed if value not in default]


def _within(field: Schema, number: float) -> bool:
    return (
        number >= field.get("minimum", number)
        and number <= field.get("maximum", number)
        and number > field.get("exclusiveMinimum", number - 1)
        and number < field.get("exclusiveMaximum", number + 1)
    )


def _leaves(
    schema: Schema, defaults: Mapping[str, Any], prefix: str = ""
) -> Iterator[tuple[str, Schema, Any]]:
    for key, field in schema["properties"].items():
        name = f"{prefix}{key}"
        if "properties" in field:
            yield from _leaves(field, defaults.get(key, {}), f"{name}.")
        elif key in defaults and not name.startswith(NOT_ASKED):
            yield name, field, defaults[key]


def _nested(name: str, value: Any) -> dict[str, Any]:
    for key in reversed(name.split(".")):
        value = {key: value}
    return value


def _words(plan: Plan) -> tuple[str, str]:
    return ", ".join(plan.starts) or "nothing", ", ".join(plan.follows) or "nothing"


def _reasons(words: str, rules: frozenset[str]) -> Iterator[tuple[str, ...]]:
    """Rules named in the summary of a dry run: changed or new, then those that follow."""
    summary = words.rpartition("\nReasons:")[2].splitlines()
    after = dict(zip(map(str.strip, summary), map(str.strip, summary[1:]), strict=False))
    named = [set(after.get(reason, "").split(", ")) & rules for reason in (CHANGED, NEW, FOLLOWS)]
    starts = named[0] | named[1]
    yield tuple(sorted(starts))
    yield tuple(sorted(named[2] - starts))


def _lines(answer: tuple[int, str]) -> list[str]:
    """Lines of Snakemake's output."""
    code, words = answer
    if code:
        msg = f"Snakemake refused the study of the table of reruns:\n{words}"
        raise RuntimeError(msg)
    return words.splitlines()


def _snakemake(words: str, arguments: list[str]) -> None:
    with (
        open(words, "w", encoding="utf-8") as file,
        contextlib.redirect_stdout(file),
        contextlib.redirect_stderr(file),
    ):
        # The workflow looks here whether it is a dry run.
        sys.argv[1:] = arguments
        snakemake_main(arguments)


def main() -> None:
    """Rewrite the table in config/README.md."""
    schema = read_schema("workflow/schemas/config.schema.yaml")
    with tempfile.TemporaryDirectory() as folder:
        study = pretend_finished(Path(folder), Path.cwd())
        config = yaml.safe_load((study.folder / "config/config.yaml").read_text(encoding="utf-8"))
        table = rerun_table(study, schema, config)
    rewrite_readme(table, MARKERS)


if __name__ == "__main__":
    main()
