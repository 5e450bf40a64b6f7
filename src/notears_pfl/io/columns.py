"""Dictionaries of columns, which lie as JSON beside the tables that the workflow writes."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from notears_pfl.errors import TableError

COLUMNS = Path(__file__).with_name("columns.yaml")
_PLACE = re.compile(r"\{(\w+)\}")
# Placeholders that are no study's own.
WORDS = {"kind": ("directed", "undirected"), "direction": ("out", "in", "total")}


def describe_columns(
    path: str | Path, groups: Sequence[str], regions: Sequence[str],
    others: Mapping[str, str] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Describe the columns of the table that the dictionary at ``path`` belongs to.

    Parameters
    ----------
    path : path
        The dictionary's, from the working directory: ``results/….json``.
    groups : sequence of str
        Patients and controls.
    regions : sequence of str
        All regions of the atlas.
    others : mapping of str to str
        Columns that the study's own tables add, with their description.

    Returns
    -------
    dict
        ``Description``, and if need be ``Units`` and ``Levels``, by column.
    """
    content = _dictionary()
    pattern = next((key for key in content["tables"] if _fits(key, str(path))), None)
    if pattern is None:
        msg = f"{path}: {COLUMNS.name} has no table of this path. Describe its columns there."
        raise TableError(msg)
    known = dict(zip(("patients", "controls"), groups, strict=True))
    several = {"group": groups, "region": regions, **WORDS}
    described: dict[str, Any] = {}
    for name, text in content["tables"][pattern].items():
        places = [place for place in _PLACE.findall(name) if place in several]
        for words in product(*(several[place] for place in places)):
            own = known | dict(zip(places, words, strict=True))
            entry = _filled(text or content["shared"][name], own)
            described[_filled(name, own)] = (
                entry if isinstance(entry, dict) else {"Description": entry}
            )
    added = {name: {"Description": text} for name, text in (others or {}).items()}
    return described | {name: entry for name, entry in added.items() if name not in described}


@cache
def _dictionary() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(COLUMNS.read_text(encoding="utf-8"))
    return content


def _fits(pattern: str, path: str) -> bool:
    literal = (re.escape(part) for part in _PLACE.sub("\0", pattern).split("\0"))
    return re.fullmatch("[^/]+".join(literal), path) is not None


def _filled(text: Any, words: Mapping[str, str]) -> Any:
    if isinstance(text, Mapping):
        return {key: _filled(value, words) for key, value in text.items()}
    return _PLACE.sub(lambda found: words.get(found[1], found[0]), text)
