"""Read a user's file of settings, and refuse one that would not mean what it says."""

import contextlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from notears_pfl.errors import ConfigError
from notears_pfl.io.text import MissingError, UnreadableError, read_text, shortened

# The same in C is ten times as fast; not every build of the library has it.
YAML_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
YAML = "tag:yaml.org,2002:"
# What a tag that is written out may say; any other asks for code or for no plain value.
PLAIN_TAGS = {YAML + name for name in ("str", "int", "float", "bool", "null", "seq", "map")} | {"!"}
# Far beyond what settings need; a few lines of references to references could fill the memory.
DEEPEST, MOST_VALUES = 40, 100_000
RESOLVER: Any = yaml.resolver.Resolver()
MALFORMED = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)


@dataclass
class _Open:
    """A list or mapping that is being read: its anchor, its size so far, its depth, its keys."""

    is_mapping: bool
    anchor: str | None
    size: int = 1
    depth: int = 1
    children: int = 0
    lines: dict[str, int] = field(default_factory=dict)


def read_settings(path: str | Path, missing: str = "Write it, or correct its path.") -> Any:
    """Read YAML or JSON: one document without repeated keys, endless references or foreign tags.

    Python's readers take the last of repeated keys in silence.
    """
    try:
        text = read_text(path)
    except MissingError as error:
        msg = f"{path}: no such file. {missing}"
        raise ConfigError(msg) from error
    except UnreadableError as error:
        msg = f"{path}: cannot be read as YAML ({error}). Settings are a file of text in UTF-8."
        raise ConfigError(msg) from error
    try:
        is_json, content = _from_json(text, path)
        if is_json:
            return content
        _check_structure(text, path)
        return yaml.load(text, Loader=YAML_LOADER)
    except ConfigError:
        raise
    except (yaml.YAMLError, *MALFORMED) as error:
        reason = _tab_in(text, error) or " ".join(str(error).split())
        msg = f"{path}: cannot be read as YAML ({reason}). Correct the place that it names."
        raise ConfigError(msg) from error


def _tab_in(text: str, error: Exception) -> str:
    """Say where a tab is, which YAML's readers call a character, if that is what is wrong."""
    mark = getattr(error, "problem_mark", None)
    lines = text.splitlines()
    if mark is None or mark.line >= len(lines) or lines[mark.line][mark.column :][:1] != "\t":
        return ""
    return f"line {mark.line + 1}: a tab, where YAML needs blanks"


def _from_json(text: str, path: str | Path) -> tuple[bool, Any]:
    """Whether a text is JSON, and then its content."""
    if not text.lstrip().startswith("{"):
        return False, None

    def refuse_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        content = dict(pairs)
        if len(content) < len(pairs):
            names = [name for name, _ in pairs]
            repeated = next(name for name in names if names.count(name) > 1)
            raise ConfigError(_repeated(path, repeated, "in one object"))
        return content

    try:
        return True, json.loads(text, object_pairs_hook=refuse_repeated)
    except json.JSONDecodeError:
        return False, None


def _check_structure(text: str, path: str | Path) -> None:
    """Go through the YAML piece by piece, before anything is made of it."""
    documents = 0
    unfinished: list[_Open] = []
    sizes: dict[str, tuple[int, int]] = {}
    for event in yaml.parse(text, Loader=YAML_LOADER):
        line = event.start_mark.line + 1
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                msg = f"{path} line {line}: a second document begins. Keep one, without '---'."
                raise ConfigError(msg)
        elif isinstance(event, yaml.CollectionEndEvent):
            closed = unfinished.pop()
            if closed.anchor:
                sizes[closed.anchor] = closed.size, closed.depth
            if unfinished:
                _count(unfinished[-1], closed.size, closed.depth, path, line)
        elif isinstance(event, yaml.NodeEvent):
            _check_tag(event, path, line)
            if unfinished and unfinished[-1].is_mapping and unfinished[-1].children % 2 == 0:
                _check_key(event, unfinished[-1], path, line)
            if unfinished:
                unfinished[-1].children += 1
            if isinstance(event, yaml.CollectionStartEvent):
                is_mapping = isinstance(event, yaml.MappingStartEvent)
                unfinished.append(_Open(is_mapping, event.anchor))
                if len(unfinished) > DEEPEST:
                    raise ConfigError(_too_large(path, line))
                continue
            size, depth = 1, 0
            if isinstance(event, yaml.AliasEvent):
                if event.anchor in [opened.anchor for opened in unfinished]:
                    msg = f"{path} line {line}: *{event.anchor} refers to itself. Write it out."
                    raise ConfigError(msg)
                size, depth = sizes.get(str(event.anchor), (1, 0))
            elif event.anchor:
                sizes[event.anchor] = 1, 0
            if unfinished:
                _count(unfinished[-1], size, depth, path, line)


def _count(opened: _Open, size: int, depth: int, path: str | Path, line: int) -> None:
    """Add what a list or mapping contains to its size, references written out."""
    opened.size += size
    opened.depth = max(opened.depth, depth + 1)
    if opened.size > MOST_VALUES or opened.depth > DEEPEST:
        raise ConfigError(_too_large(path, line))


def _check_tag(event: yaml.NodeEvent, path: str | Path, line: int) -> None:
    tag = getattr(event, "tag", None)
    if tag and tag not in PLAIN_TAGS:
        msg = f"{path} line {line}: settings have no tag {shortened(tag)}. Remove it."
        raise ConfigError(msg)


def _check_key(event: yaml.NodeEvent, opened: _Open, path: str | Path, line: int) -> None:
    """Refuse a key that stands there already, or that YAML does not read as it is written."""
    if not isinstance(event, yaml.ScalarEvent):
        msg = f"{path} line {line}: a key must be one word or number. Correct the place."
        raise ConfigError(msg)
    key = event.value
    if key in opened.lines:
        raise ConfigError(_repeated(path, key, f"in lines {opened.lines[key]} and {line}"))
    opened.lines[key] = line
    read_as = event.tag or RESOLVER.resolve(yaml.ScalarNode, key, event.implicit)
    if read_as not in (YAML + "str", YAML + "merge", "!") and not _is_plain_number(key):
        what = str(read_as).removeprefix(YAML)
        msg = (
            f"{path} line {line}: YAML reads the key {shortened(key)} as {what}. Put it in quotes."
        )
        raise ConfigError(msg)


def _is_plain_number(key: str) -> bool:
    """Whether a key that is a number means what it says; 010 is 8 in YAML."""
    for number in (int, float):
        with contextlib.suppress(ValueError):
            if str(number(key)) == key:
                return True
    return False


def _repeated(path: str | Path, key: str, where: str) -> str:
    return f"{path}: the key {shortened(key)} appears twice {where}. Keep one."


def _too_large(path: str | Path, line: int) -> str:
    return (
        f"{path} line {line}: settings may have at most {DEEPEST} levels and at most "
        f"{MOST_VALUES} values, references (*) written out; these have more. Correct the place."
    )
