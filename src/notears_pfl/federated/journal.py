"""The centre's saved state: every answer so far, in order.

The centre's computations depend only on the answers. A stopped fit therefore resumes by replaying
the saved answers, and continues from there bit for bit as if it had not stopped. The journal grows
by at most K d² numbers per round: 125 kB for five sites and 56 ROIs.
"""

import json
import struct
import zlib
from pathlib import Path
from typing import Any

from notears_pfl.errors import FederatedError

# Version of the format; a file of another version is discarded.
FORMAT = 4
# Length and checksum of a record, and the checksum of the request that it answers.
HEAD = struct.Struct("<QII")


class Journal:
    """The answers of one fit, in an append-only file.

    Parameters
    ----------
    path : Path
        The file; if it was written for a different ``purpose``, it is discarded.
    purpose : mapping
        What is fitted and with which sites.
    """

    def __init__(self, path: Path, purpose: dict[str, Any]) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        first = json.dumps({**purpose, "format": FORMAT}, sort_keys=True).encode()
        records = saved_records(path)
        if not records or records[0][1] != first:
            path.unlink(missing_ok=True)
            records = [(0, first)]
        size = sum(HEAD.size + len(body) for _, body in records)
        self._saved = records[:0:-1]
        # Overwrite a record that a crash cut off.
        self._file = path.open("r+b" if path.exists() else "w+b")
        self._file.truncate(size if self._file.seek(0, 2) else 0)
        self._file.seek(0, 2)
        if not self._file.tell():
            self._write(0, first)

    @property
    def n_saved(self) -> int:
        """Number of saved answers not yet replayed."""
        return len(self._saved)

    def replay(self, request: bytes) -> bytes | None:
        """Return the saved answers to the next request, or None if no more are saved."""
        if not self._saved:
            return None
        checksum, body = self._saved.pop()
        if checksum != zlib.crc32(request):
            msg = (
                f"{self._path}: the saved state belongs to another version of the fit: its "
                f"requests differ, {len(self._saved)} records before the end. Delete the file to "
                "start the fit again."
            )
            raise FederatedError(msg)
        return body

    def add(self, request: bytes, answers: bytes) -> None:
        """Save the answers to a request."""
        self._write(zlib.crc32(request), answers)

    def _write(self, checksum: int, body: bytes) -> None:
        self._file.write(HEAD.pack(len(body), zlib.crc32(body), checksum) + body)
        self._file.flush()

    def close(self) -> None:
        """Close the file and keep it."""
        self._file.close()

    def delete(self) -> None:
        """Remove the file once the fit is done."""
        self._file.close()
        self._path.unlink()


def saved_records(path: Path) -> list[tuple[int, bytes]]:
    """Complete records of a journal: the request's checksum and the body."""
    data = path.read_bytes() if path.exists() else b""
    records, start = [], 0
    while start + HEAD.size <= len(data):
        length, checksum, request = HEAD.unpack_from(data, start)
        body = data[start + HEAD.size : start + HEAD.size + length]
        if len(body) < length or zlib.crc32(body) != checksum:
            break
        records.append((request, body))
        start += HEAD.size + length
    return records
