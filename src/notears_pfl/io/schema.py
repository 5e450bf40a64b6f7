"""Check settings and tables against their JSON schemas, in words a user can act on."""

import difflib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from notears_pfl.errors import ConfigError, TableError
from notears_pfl.io.settings import DEEPEST, MOST_VALUES, YAML_LOADER, read_settings
from notears_pfl.io.tables import read_cells
from notears_pfl.io.text import LONGEST_SHOWN, shortened

Schema = Mapping[str, Any]

BOOLEANS = {"true": True, "false": False}
# Numbers in a table; Python's own readers take 1_000 and nan as well.
NUMBER = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")
# What no setting needs; others have bounds of their own.
LARGEST_INTEGER, LONGEST_TEXT = 2**63, 4096
MOST_SHOWN = 10
# What stands between the names of files whose settings were merged, and the file that all override.
MERGED, DEFAULTS = " + ", Path("config/config.yaml")
# What tells the options of a setting apart.
KINDS = ("type", "const")


@cache
def read_schema(path: str | Path) -> Schema:
    """Read a JSON schema written as YAML."""
    schema: Schema = yaml.load(Path(path).read_text(encoding="utf-8"), Loader=YAML_LOADER)
    return schema


def _matches_to_the_end(
    validator: Any, pattern: str, instance: object, schema: Schema
) -> Iterator[ValidationError]:
    """Check a pattern whose ``$`` is the end of the text, as JSON schemas have it.

    In Python it is also the place before a last line feed: COI with one would be a second COI.
    """
    to_the_end = re.sub(r"(?<!\\)\$\Z", r"\\Z", pattern)
    if isinstance(instance, str) and not re.search(to_the_end, instance):
        yield ValidationError(f"it does not match {pattern!r}")


def _is_whole(checker: Any, instance: object) -> bool:
    """Whether a value is a whole number; 10.0 counts nothing."""
    return isinstance(instance, int) and not isinstance(instance, bool)


Validator = extend(
    Draft202012Validator,
    {"pattern": _matches_to_the_end},
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_whole),
)


def problems(instance: object, schema: Schema) -> list[str]:
    """Say, one sentence each, how ``instance`` departs from ``schema``."""
    return [_sentence(error) for error in _errors(instance, schema)]


def _errors(instance: object, schema: Schema) -> list[ValidationError]:
    return sorted(Validator(schema).iter_errors(instance), key=lambda e: e.json_path)


def check_config(config: object, schema: Schema, name: str) -> None:
    """Refuse a configuration that departs from ``schema``, with every reason at once."""
    # No bound of a schema holds for not-a-number, and no message for a number of 5000 digits.
    found = [f"{name}: {problem}" for problem in _impossible(config)] or [
        f"{_file_with(error, name)}: {_sentence(error)}"
        for error in _errors(_with_text_keys(config), schema)
    ]
    if found:
        raise ConfigError("\n".join(found))


def _file_with(error: ValidationError, name: str) -> str:
    """Name of the file, of several that ``name`` lists, in which a wrong setting stands.

    Of two files that have it, the user's counts: the default settings are overridden.
    """
    files = name.split(MERGED)
    keys = list(error.absolute_path)
    if error.validator == "additionalProperties":
        keys += [key for key in error.instance if key not in error.schema["properties"]][:1]
    having = [file for file in files if len(files) > 1 and _has(file, keys)]
    own = [file for file in having if Path(file).resolve() != DEFAULTS.resolve()] or having
    return own[0] if len(own) == 1 else name


def _has(path: str, keys: Sequence[str | int]) -> bool:
    """Whether a settings file has a key, given with those above it."""
    try:
        place: Any = _with_text_keys(read_settings(path))
        for key in keys:
            place = place[key]
    except (ConfigError, LookupError, TypeError):
        return False
    return True


def _impossible(config: object) -> Iterator[str]:
    """Say which values no setting can have, whatever its schema."""
    seen, waiting = 0, [("", config, 0)]
    while waiting:
        place, value, depth = waiting.pop()
        seen += 1
        if depth > DEEPEST or seen > MOST_VALUES:
            yield (
                f"settings may have at most {DEEPEST} levels and {MOST_VALUES} values; "
                "these have more. Correct them."
            )
            return
        if isinstance(value, Mapping):
            below = [(f"{place}.{key}" if place else str(key), v) for key, v in value.items()]
            waiting += [(key[-LONGEST_TEXT:], v, depth + 1) for key, v in reversed(below)]
        elif isinstance(value, list | tuple):
            waiting += [(f"{place}.{i}", v, depth + 1) for i, v in reversed([*enumerate(value)])]
        elif isinstance(value, float) and not math.isfinite(value):
            yield f"'{place}' is {value}: every number must be finite. Correct the value."
        elif isinstance(value, int) and abs(value) >= LARGEST_INTEGER:
            yield f"'{place}' is a number beyond 2^63. Correct the value."
        elif isinstance(value, str) and (len(value) > LONGEST_TEXT or "\0" in value):
            yield (
                f"'{place}' is {shortened(value)}: text may have at most {LONGEST_TEXT} "
                "characters, and no zero byte. Correct the value."
            )


def _with_text_keys(config: object) -> object:
    """Make text of all keys: a label of digits is a number in YAML, and means the same."""
    if isinstance(config, Mapping):
        return {str(key): _with_text_keys(value) for key, value in config.items()}
    if isinstance(config, list | tuple):
        return [_with_text_keys(value) for value in config]
    return config


def read_checked_table(path: str | Path, row_schema: Schema, key: str) -> pd.DataFrame:
    """Read a TSV whose rows follow ``row_schema`` and have different values in the column ``key``.

    Cells become numbers or booleans where the schema says so. Unknown and missing columns,
    bad values and repeated keys are all reported in one error.
    """
    text = read_cells(path)
    found = []
    for row_number, row in enumerate(text.to_dict("records"), start=1):
        typed = {str(name): _typed(cell, row_schema, str(name)) for name, cell in row.items()}
        found += [f"{path} row {row_number}: {problem}" for problem in problems(typed, row_schema)]
    if key in text:
        repeated = text[key][text[key].duplicated()].unique()
        found += [f"{path}: {key} {k!r} appears in more than one row. Keep one." for k in repeated]
    if text.empty:
        found.append(f"{path}: the table has no rows. Add at least one.")
    if found:
        raise TableError("\n".join(found))
    return text.apply(lambda column: column.map(lambda cell: _typed(cell, row_schema, column.name)))


def _typed(cell: str, row_schema: Schema, column: str) -> object:
    """Turn ``cell`` into the type its column announces; left as text where it cannot be."""
    kind = row_schema["properties"].get(column, {}).get("type")
    if kind == "boolean":
        return BOOLEANS.get(cell.lower(), cell)
    if kind in ("integer", "number") and NUMBER.fullmatch(cell):
        try:
            number = int(cell) if kind == "integer" else float(cell)
        except ValueError:
            return cell
        return number if abs(number) < LARGEST_INTEGER else cell
    return cell


def _sentence(error: ValidationError) -> str:
    """Word one schema violation: the key, what was needed, what was found, the next step."""
    place = ".".join(str(part) for part in error.absolute_path)
    inside = f" under '{place}'" if place else ""
    match error.validator:
        case "additionalProperties":
            known = list(error.schema["properties"])
            unknown = [key for key in error.instance if key not in known]
            return " ".join(_unknown_key(key, known, inside) for key in unknown[:MOST_SHOWN])
        case "required":
            missing = [key for key in error.validator_value if key not in error.instance]
            return f"{_quoted(missing)} missing{inside}. Add it."
        case "oneOf":
            if meant := _meant_option(error):
                return _sentence(meant)
    found = shortened(error.instance)
    meaning = error.schema.get("description", "")
    needed = f" ({meaning})" if meaning else ""
    if (error.validator, error.validator_value) == ("type", "string"):
        return (
            f"'{place}' is {found}, but text was needed{needed}. If it is a label, put "
            "it in quotes: YAML reads 1, 01 and no as numbers and booleans."
        )
    if error.validator == "maxLength":
        return (
            f"'{place}' is {found}: it has {len(error.instance)} characters, but "
            f"at most {error.validator_value} are allowed{needed}. Shorten it."
        )
    # The library's message has the value once more, however long.
    message = error.message.replace(repr(error.instance), found)
    return f"'{place}' is {found}: {message}{needed}. Correct the value."


def _meant_option(error: ValidationError) -> ValidationError | None:
    """Find what is wrong by the one option that takes values of this type."""
    options: dict[int, list[ValidationError]] = {}
    for below in error.context:
        options.setdefault(below.relative_schema_path[0], []).append(below)
    meant = [
        below
        for below in options.values()
        if not any(len(e.relative_schema_path) == 2 and e.validator in KINDS for e in below)
    ]
    return meant[0][0] if len(meant) == 1 else None


def _unknown_key(key: str, known: Sequence[str], inside: str) -> str:
    key = key if len(key) <= LONGEST_SHOWN else f"{key[:LONGEST_SHOWN]} …"
    close = difflib.get_close_matches(key, known, n=1)
    remedy = f"Did you mean '{close[0]}'?" if close else f"Known: {', '.join(known)}."
    return f"unknown key '{key}'{inside}. {remedy}"


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names) + (" is" if len(names) == 1 else " are")
