"""Mark a subject that cannot be processed as failed, with the reason; the others continue."""

import contextlib
import sys
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from notears_pfl.errors import ConfigError, MachineError, PflError, SignalError
from notears_pfl.io.atomic import whole_file
from notears_pfl.io.machine import machine_cause, machine_error
from notears_pfl.io.sidecars import read_sidecar, write_json


@contextlib.contextmanager
def mark_failure(report: str | Path, others: Iterable[str | Path]) -> Iterator[None]:
    """Turn an error in a subject's own files into a report with status ``failed`` and the reason.

    Every other error (settings, machine, our own bugs) fails the job, so that the rule runs again
    once it is fixed. The rule's other outputs, ``others``, are left empty: their readers check
    the report first.
    """
    try:
        yield
    except (ConfigError, MachineError):
        raise
    except Exception as error:
        if blamed := machine_cause(error, report, "made"):
            raise blamed from error
        if not isinstance(error, PflError):
            raise
        traceback.print_exc(file=sys.stderr)
        for path in others:
            with whole_file(path) as temporary:
                temporary.touch()
        write_json({"status": "failed", "reason": str(error)}, report)


@contextlib.contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Prefix the file's name to errors about its content, or raised while processing it."""
    try:
        yield
    except (SignalError, MachineError) as error:
        if str(error).startswith(str(path)):
            raise
        msg = f"{path}: {error}"
        raise type(error)(msg) from error
    except (MemoryError, RuntimeError) as error:
        if blamed := machine_error(error, path, "processed"):
            raise blamed from error
        raise


def read_report(path: str | Path) -> dict[str, Any]:
    """Read the report of an earlier rule; if that failed, this rule fails for the same reason."""
    report = read_sidecar(path)
    if report["status"] == "failed":
        raise SignalError(report["reason"])
    return report
