"""Check settings and tables against their JSON schemas, in words a user can act on."""

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from notears_pfl.errors import ConfigError, TableError

Schema = Mapping[str, Any]

# The same in C is ten times as fast; not every build of the library has it.
YAML_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
BOOLEANS = {"true": True, "false": False}


def read_schema(path: str | Path) -> Schema:
    """Read a JSON schema written as YAML."""
    schema: Schema = yaml.load(Path(path).read_text(encoding="utf-8"), Loader=YAML_LOADER)
    return schema


def problems(instance: object, schema: Schema) -> list[str]:
    """Say, one sentence each, how ``instance`` departs from ``schema``."""
    errors = sorted(Draft202012Validator(schema).iter_errors(instance), key=lambda e: e.json_path)
    return [_sentence(error) for error in errors]


def check_config(config: Mapping[str, Any], schema: Schema, name: str) -> None:
    """Refuse a configuration that departs from ``schema``, with every reason at once."""
    found = problems(dict(config), schema)
    if found:
        raise ConfigError("\n".join(f"{name}: {problem}" for problem in found))


def read_checked_table(path: str | Path, row_schema: Schema, key: str) -> pd.DataFrame:
    """Read a TSV whose rows follow ``row_schema`` and are told apart by column ``key``.

    Cells become numbers or booleans where the schema says so. Unknown and missing columns,
    bad values and repeated keys are all reported in one error.
    """
    path = Path(path)
    if not path.is_file():
        msg = f"{path}: no such table. Create it, or correct its path in the configuration."
        raise TableError(msg)
    text = pd.read_csv(path, sep="\t", dtype=str, keep_default_na=False)
    found = []
    for row_number, row in enumerate(text.to_dict("records"), start=1):
        typed = {str(name): _typed(cell, row_schema, str(name)) for name, cell in row.items()}
        found += [f"{path} row {row_number}: {problem}" for problem in problems(typed, row_schema)]
    if key in text:
        repeated = text[key][text[key].duplicated()].unique()
        found += [f"{path}: {key} {k!r} stands in more than one row. Keep one." for k in repeated]
    if text.empty:
        found.append(f"{path}: the table has no rows. Add at least one.")
    if found:
        raise TableError("\n".join(found))
    return text.apply(lambda column: column.map(lambda cell: _typed(cell, row_schema, column.name)))


def _typed(cell: str, row_schema: Schema, column: str) -> object:
    """Turn ``cell`` into the type its column announces; left as text where it cannot be."""
    kind = row_schema["properties"].get(column, {}).get("type")
    try:
        match kind:
            case "integer":
                return int(cell)
            case "number":
                return float(cell)
            case "boolean":
                return BOOLEANS[cell.lower()]
    except (KeyError, ValueError):
        pass
    return cell


def _sentence(error: ValidationError) -> str:
    """Word one schema violation: the key, what was needed, what was found, the next step."""
    place = ".".join(str(part) for part in error.absolute_path)
    inside = f" under '{place}'" if place else ""
    match error.validator:
        case "additionalProperties":
            known = list(error.schema["properties"])
            unknown = [key for key in error.instance if key not in known]
            return " ".join(_unknown_key(key, known, inside) for key in unknown)
        case "required":
            missing = [key for key in error.validator_value if key not in error.instance]
            return f"{_quoted(missing)} missing{inside}. Add it."
    meaning = error.schema.get("description", "")
    needed = f" ({meaning})" if meaning else ""
    if (error.validator, error.validator_value) == ("type", "string"):
        return (
            f"'{place}' is {error.instance!r}, but text was needed{needed}. If it is a label, put "
            "it in quotes: YAML reads 1, 01 and no as numbers and booleans."
        )
    return f"'{place}' is {error.instance!r}: {error.message}{needed}. Correct the value."


def _unknown_key(key: str, known: Sequence[str], inside: str) -> str:
    close = difflib.get_close_matches(key, known, n=1)
    remedy = f"Did you mean '{close[0]}'?" if close else f"Known: {', '.join(known)}."
    return f"unknown key '{key}'{inside}. {remedy}"


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names) + (" is" if len(names) == 1 else " are")
