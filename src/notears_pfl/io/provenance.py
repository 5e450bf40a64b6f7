"""What results of a target of their own were made from, and whether that still holds."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from notears_pfl.io.fingerprint import file_digest
from notears_pfl.io.sidecars import read_sidecar, write_json


def write_record(
    settings: Mapping[str, Any], sources: Iterable[str], path: str | Path,
    columns: Mapping[str, Any] | None = None,
) -> None:  # fmt: skip
    """Write down the settings that results were made with, and the digests of their sources.

    The record of one table, which lies beside it, describes its ``columns`` too.
    """
    digests = {str(source): file_digest(source) for source in sources}
    record = {"Settings": _as_json(settings), "Sources": digests}
    write_json(record | dict(columns or {}), path)


def departures(settings: Mapping[str, Any], path: str | Path) -> list[str]:
    """Name the settings and sources that are not what the record at ``path`` says they were."""
    if not Path(path).is_file():
        return [f"{path}, which says what they were made from, is missing"]
    record, now = read_sidecar(path), _as_json(settings)
    then = record["Settings"]
    changed = [key for key in {**then, **now} if then.get(key) != now.get(key)]
    return changed + [
        source
        for source, digest in record["Sources"].items()
        if not Path(source).is_file() or file_digest(source) != digest
    ]


def _as_json(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Give settings as they come back from a file, where tuples are lists."""
    content: dict[str, Any] = json.loads(json.dumps(settings))
    return content
