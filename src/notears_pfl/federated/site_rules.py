"""A site's own file: its data and what it allows. The centre cannot change it."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from notears_pfl.errors import ConfigError, FederatedError, TableError
from notears_pfl.federated.privacy import Noise
from notears_pfl.io.schema import Schema, check_config, read_checked_table, read_schema
from notears_pfl.io.settings import read_settings
from notears_pfl.names import alike

SCHEMAS = Path(__file__).parent
# Schema of a table of ROIs; other columns are ignored. Without ``selected``, all are.
ROI: Schema = {
    "required": ["abbreviation"],
    "properties": {
        "abbreviation": {"type": "string", "minLength": 1, "maxLength": 64},
        "selected": {"type": "boolean", "description": "true or false"},
    },
}
# Default of allow.minimum_fold_subjects, as in the schema.
MINIMUM_FOLD_SUBJECTS = 5


class RefusedError(FederatedError):
    """The site refuses a request; the reason names no subject and none of their values."""


@dataclass(frozen=True)
class SiteRules:
    """The checked content of one site's file."""

    centre: str
    participants: str
    series: str
    records: Path
    groups: tuple[str, ...]
    rois: tuple[str, ...]
    scales: tuple[str, ...]
    minimum_subjects: int
    minimum_fold_subjects: int
    ranges: Mapping[str, tuple[float, float]]
    messages: tuple[str, ...]
    noise: Noise | None

    def check_kind(self, kind: str) -> None:
        """Refuse a kind of message that the site does not allow."""
        if kind not in self.messages:
            msg = f"messages of kind {kind!r} are not allowed here ({', '.join(self.messages)})."
            raise RefusedError(msg)

    def check_plan(self, plan: Mapping[str, Any]) -> None:
        """Refuse a plan whose group, ROIs, scale or penalties the site does not allow."""
        for name, value, allowed in (
            ("group", plan["group"], self.groups),
            ("scale", plan["scale"], self.scales),
        ):
            if value not in allowed:
                msg = f"{name} {value!r} is not allowed here ({', '.join(allowed)})."
                raise RefusedError(msg)
        rois = plan["rois"]
        if not isinstance(rois, list) or len(rois) < 2 or len(set(map(str, rois))) < len(rois):
            msg = "the plan must list at least two ROIs, without duplicates."
            raise RefusedError(msg)
        beyond = [str(roi) for roi in rois if roi not in self.rois]
        if beyond:
            msg = f"ROIs {', '.join(beyond[:5])} ({len(beyond)} in all) are not allowed here."
            raise RefusedError(msg)
        if not isinstance(plan["estimator"], dict):
            msg = "the plan's estimator must be a mapping of settings."
            raise RefusedError(msg)
        for name, kind in (("lambda1", "lambda"), ("lambda2", "lambda"), ("kappa", "kappa")):
            value = plan["estimator"].get(name, "auto")
            if value != "auto":
                self.check_number(kind, value, name)

    def check_number(self, kind: str, value: Any, name: str) -> None:
        """Refuse a value outside its allowed range."""
        low, high = self.ranges[kind]
        if not isinstance(value, int | float) or not low <= value <= high:
            msg = f"{name} must be from {low:g} to {high:g} here; found {value!r}."
            raise RefusedError(msg)

    def check_subjects(self, n_subjects: int) -> None:
        """Refuse a group with too few subjects."""
        if n_subjects < self.minimum_subjects:
            msg = (
                f"this site answers only about groups of at least {self.minimum_subjects} "
                "subjects; this group has fewer."
            )
            raise RefusedError(msg)


def read_yaml(path: str | Path, schema: str) -> dict[str, Any]:
    """Read a YAML file and check it against one of this package's schemas."""
    content = read_settings(path, "Create it; docs/federated.md has an example.")
    if not isinstance(content, dict):
        msg = f"{path}: must be a mapping of settings; found {type(content).__name__}."
        raise ConfigError(msg)
    check_config(content, read_schema(SCHEMAS / schema), str(path))
    return content


def read_rois(rois: str | list[str], folder: Path) -> tuple[str, ...]:
    """Labels of ROIs, either listed or selected in a table; all without a column selected."""
    if not isinstance(rois, str):
        return tuple(rois)
    table = read_checked_table(folder / rois, ROI, "abbreviation")
    is_selected = table["selected"].astype(bool) if "selected" in table else slice(None)
    selected = tuple(table["abbreviation"][is_selected])
    if len(selected) < 2:
        msg = (
            f"{folder / rois}: at least two ROIs must be selected; found {len(selected)}. Write "
            "true in the column 'selected' of each ROI to fit."
        )
        raise TableError(msg)
    return selected


@contextlib.contextmanager
def errors_naming(path: str | Path) -> Iterator[None]:
    """Begin the message of a ``ConfigError`` with the file's name."""
    try:
        yield
    except ConfigError as error:
        msg = f"{path}: {error}"
        raise ConfigError(msg) from error


def refuse_alike(kind: str, names: Sequence[str]) -> None:
    """Refuse names that a reader or a file system could confuse."""
    for several in alike(names):
        msg = (
            f"the {kind} {', '.join(map(repr, several))} differ only by case or blanks. Keep one, "
            "or rename the others."
        )
        raise ConfigError(msg)


def read_rules(path: str | Path) -> SiteRules:
    """Read a site's file; paths in it are relative to its folder."""
    content = read_yaml(path, "site.schema.yaml")
    folder, allow = Path(path).resolve().parent, content["allow"]
    with errors_naming(path):
        refuse_alike("groups", allow["groups"])
    for name in ("lambda", "kappa", "rho"):
        if allow[name][0] > allow[name][1]:
            msg = f"{path}: allow.{name} is {allow[name]}; write the smaller value first."
            raise ConfigError(msg)
    return SiteRules(
        centre=content["centre"],
        participants=str(folder / content["participants"]),
        series=str(folder / content["series"]),
        records=folder / content["records"],
        groups=tuple(allow["groups"]),
        rois=read_rois(allow["rois"], folder),
        scales=tuple(allow["scales"]),
        minimum_subjects=allow["minimum_subjects"],
        minimum_fold_subjects=allow.get("minimum_fold_subjects", MINIMUM_FOLD_SUBJECTS),
        ranges={name: (allow[name][0], allow[name][1]) for name in ("lambda", "kappa", "rho")},
        messages=tuple(allow["messages"]),
        noise=Noise(**content["noise"]) if "noise" in content else None,
    )
