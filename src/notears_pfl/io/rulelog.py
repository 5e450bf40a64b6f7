"""Send what a rule prints, warns and raises to its log file."""

import contextlib
import os
import traceback
from collections.abc import Iterator
from pathlib import Path

from notears_pfl.errors import PflError
from notears_pfl.io.machine import machine_cause

# Set by a run that shows the last lines of a failed job's log: jobs then print nothing themselves.
SHOWN = "NOTEARS_PFL_LOGS_ARE_SHOWN"


@contextlib.contextmanager
def rule_log(path: str | Path) -> Iterator[None]:
    """Redirect stdout and stderr to ``path``; a failure leaves its traceback there.

    An error that the user can act on ends the script with its message alone, so that the
    terminal shows a sentence and the log the whole story.
    """
    failed = False
    log = open(path, "w", encoding="utf-8")  # noqa: SIM115, closed below, come what may
    try:
        with contextlib.redirect_stdout(log), contextlib.redirect_stderr(log):
            yield
    except Exception as error:
        failed = True
        # A disk without room for results has none for the log either.
        with contextlib.suppress(OSError):
            traceback.print_exc(file=log)
        told: PflError | None
        if isinstance(error, PflError):
            told = error
        else:
            told = machine_cause(error, f"The job that logs to {path}", "finished")
        if told is None:
            raise
        msg = f"{type(told).__name__}: {told}"
        raise SystemExit(1 if os.environ.get(SHOWN) else msg) from None
    finally:
        with contextlib.suppress(*([OSError] if failed else [])):
            log.close()
