"""A subject that cannot be processed is marked as failed, with its reason; the others go on."""

import contextlib
import sys
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from notears_pfl.errors import ConfigError, PflError, SignalError, StorageError
from notears_pfl.io.atomic import whole_file
from notears_pfl.io.sidecars import read_sidecar, write_json


@contextlib.contextmanager
def mark_failure(report: str | Path, others: Iterable[str | Path]) -> Iterator[None]:
    """Turn an error that the user can act on into a report that says ``failed`` and why.

    The rule's ``others`` outputs are left empty: whoever reads them asks the report first.
    """
    try:
        yield
    except (StorageError, ConfigError):
        # The disk or the settings failed, not the subject: once mended, the rule runs again.
        raise
    except PflError as error:
        traceback.print_exc(file=sys.stderr)
        for path in others:
            with whole_file(path) as temporary:
                temporary.touch()
        write_json({"status": "failed", "reason": str(error)}, report)


@contextlib.contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Put the file's name before the message of an error about its content."""
    try:
        yield
    except SignalError as error:
        msg = f"{path}: {error}"
        raise SignalError(msg) from error


def read_report(path: str | Path) -> dict[str, Any]:
    """Read the report of an earlier rule; its failure is this rule's too."""
    report = read_sidecar(path)
    if report["status"] == "failed":
        raise SignalError(report["reason"])
    return report
