"""The site's own record of every message, in both directions."""

import datetime
from pathlib import Path

import pandas as pd

from notears_pfl.federated.messages import Message

COLUMNS = ("time", "run", "group", "round", "direction", "kind", "shape", "bytes")


class Ledger:
    """A table that only grows: one line per message, written before an answer leaves.

    Parameters
    ----------
    path : Path
        The table; a new run goes on in the same one.
    run : str
        Name of the run, such as the engine's number of the job.
    """

    def __init__(self, path: Path, run: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        is_new = not path.exists()
        self._file = path.open("a", encoding="utf-8", buffering=1)
        self._run = run
        if is_new:
            self._file.write("\t".join(COLUMNS) + "\n")

    def write(self, direction: str, group: str, message: Message, kind: str, size: int) -> None:
        """Write one message down; ``kind`` is that of the request that an answer answers."""
        time = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        cells = (time, self._run, group, message.round, direction, kind, message.shape, size)
        self._file.write("\t".join(map(str, cells)) + "\n")

    def close(self) -> None:
        """End the record."""
        self._file.close()


def read_ledger(path: str | Path) -> pd.DataFrame:
    """Read a ledger."""
    return pd.read_csv(path, sep="\t", dtype={"group": str, "run": str, "shape": str},
                       keep_default_na=False)  # fmt: skip


def totals(ledger: pd.DataFrame) -> pd.DataFrame:
    """Count the messages and bytes by direction and kind, with the shapes that occurred."""
    keys = ["direction", "kind"]
    rows = ledger.groupby(keys, sort=False).agg(
        messages=("bytes", "size"),
        bytes=("bytes", "sum"),
        shapes=("shape", lambda shapes: ", ".join(sorted(set(shapes) - {""}))),
    )
    return rows.reset_index()
