"""The site's own record of every message, in both directions."""

import datetime
import fcntl
import os
import string
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from notears_pfl.errors import StorageError
from notears_pfl.federated.messages import Message

COLUMNS = ("time", "run", "group", "round", "direction", "kind", "shape", "bytes")
# Kind of an NVFLARE request that the site refused; what was asked and by whom follow.
REFUSED = "refused"
# Marks a line that a full disk cut off.
CUT = "cut off"
PLAIN = frozenset(string.ascii_letters + string.digits + "._-/@")


class AppendOnlyTable:
    """A text table to which several processes can append lines.

    A line that a full disk cut off is marked before the next one is written; readers skip it.
    """

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        except OSError as error:
            raise self._failure(error) from error
        if not os.fstat(self._file).st_size:
            self.append(columns)

    def append(self, cells: Sequence[object]) -> None:
        """Write one complete line, or raise an error."""
        line = "\t".join(map(str, cells)).encode() + b"\n"
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX)
            size = os.fstat(self._file).st_size
            if size and os.pread(self._file, 1, size - 1) != b"\n":
                line = f"\t{CUT}\n".encode() + line
            while line:
                line = line[os.write(self._file, line) :]
        except OSError as error:
            raise self._failure(error) from error
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """End the record."""
        os.close(self._file)

    def _failure(self, error: OSError) -> StorageError:
        reason = os.strerror(error.errno or 0)
        msg = (
            f"{self._path}: cannot be written: {reason}. Free some space or check the folder's "
            "permissions."
        )
        return StorageError(msg)


def read_append_only(path: str | Path, columns: Sequence[str]) -> pd.DataFrame:
    """Read the complete lines as text; ``attrs["cut_off"]`` counts lines cut off by a full disk."""
    _, *lines = Path(path).read_text(encoding="utf-8", errors="replace").split("\n")
    rows = [line.split("\t") for line in lines if line]
    # Anything after the last line break was never finished.
    whole = [r for r in rows[: len(lines) - 1] if len(r) == len(columns) and r[-1] != CUT]
    table = pd.DataFrame(whole, columns=[*columns], dtype=str)
    table.attrs["cut_off"] = len(rows) - len(whole)
    return table


class Ledger:
    """One line per message; the line of an answer is written before the answer is sent.

    Parameters
    ----------
    path : Path
        The table; every run appends to the same one.
    run : str
        Name of the run, such as NVFLARE's job ID.
    """

    def __init__(self, path: Path, run: str) -> None:
        self._table, self._run = AppendOnlyTable(path, COLUMNS), run

    def write(self, direction: str, group: str, message: Message, kind: str, size: int) -> None:
        """Record one message; an answer is recorded under the ``kind`` of its request."""
        cells = (group, message.round, direction, kind, message.shape, size)
        self._table.append((_now(), self._run, *cells))

    def refuse(self, asker: str, what: str, size: int, count: str = "") -> None:
        """Record a refused NVFLARE request and who sent it."""
        kind = f"{REFUSED} {_plain(what)} from {_plain(asker)}{count}"
        self._table.append((_now(), self._run, "", -1, "in", kind, "", size))

    def close(self) -> None:
        """End the record."""
        self._table.close()


def read_ledger(path: str | Path) -> pd.DataFrame:
    """Read a ledger; ``attrs["cut_off"]`` counts lines cut off by a full disk."""
    table = read_append_only(path, COLUMNS)
    return table.astype({"round": int, "bytes": int})


def totals(ledger: pd.DataFrame) -> pd.DataFrame:
    """Count messages and bytes by direction and kind, and list the shapes that occurred."""
    keys = ["direction", "kind"]
    rows = ledger.groupby(keys, sort=False).agg(
        messages=("bytes", "size"),
        bytes=("bytes", "sum"),
        shapes=("shape", lambda shapes: ", ".join(sorted(set(shapes) - {""}))),
    )
    return rows.reset_index()


def _plain(text: str) -> str:
    """Text from outside made safe for the table: shortened, special characters replaced."""
    return "".join(sign if sign in PLAIN else "?" for sign in text[:60])


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
