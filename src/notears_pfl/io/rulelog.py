"""Send what a rule prints, warns and raises to its log file."""

import contextlib
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

from notears_pfl.errors import PflError


@contextlib.contextmanager
def rule_log(path: str | Path) -> Iterator[None]:
    """Redirect stdout and stderr to ``path``; a failure leaves its traceback there.

    An error that the user can act on ends the script with its message alone, so that the
    terminal shows a sentence and the log the whole story.
    """
    with (
        open(path, "w", encoding="utf-8") as log,
        contextlib.redirect_stdout(log),
        contextlib.redirect_stderr(log),
    ):
        try:
            yield
        except PflError as error:
            traceback.print_exc(file=sys.stderr)
            msg = f"{type(error).__name__}: {error}"
            raise SystemExit(msg) from None
        except Exception:
            traceback.print_exc(file=sys.stderr)
            raise
