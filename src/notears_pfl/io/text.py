"""Read the text of a user's file, whatever the file turns out to be."""

import codecs
import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

from notears_pfl.io.machine import machine_error

UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
LONGEST_SHOWN = 200


class UnreadableError(Exception):
    """A file has no text to read; the reason is for the caller's own error."""


class MissingError(UnreadableError, FileNotFoundError):
    """There is no such file."""


def read_text(path: str | Path) -> str:
    """Read a file as UTF-8; a byte order mark is left out.

    Folders, pipes and devices are refused before they are opened: some of them never end. Where
    the machine fails, that is said instead.
    """
    return _decoded(_bytes_of(path, Path.read_bytes))


def read_first_line(path: str | Path) -> str:
    """Read a file as :func:`read_text` does, but only to its first line that is not blank."""
    return _decoded(_bytes_of(path, _to_first_line))


def _to_first_line(path: Path) -> bytes:
    data = b""
    with path.open("rb") as file:
        for line in file:
            data += line
            # A name in quotes may go on in the next line.
            if data.removeprefix(codecs.BOM_UTF8).strip() and data.count(b'"') % 2 == 0:
                break
    return data


def _bytes_of(path: str | Path, read: Callable[[Path], bytes]) -> bytes:
    try:
        kind = os.stat(path).st_mode
        if not stat.S_ISREG(kind):
            what = "a folder" if stat.S_ISDIR(kind) else "a pipe or a device"
            msg = f"it is {what}, not a file"
            raise UnreadableError(msg)
        return read(Path(path))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise MissingError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from error
    except (OSError, ValueError, MemoryError) as error:
        if blamed := machine_error(error, path, "read"):
            raise blamed from error
        # Paths, too, can be none: a zero byte, or what stands for no character, is a ValueError.
        reason = error.strerror if isinstance(error, OSError) else "its path is not valid"
        raise UnreadableError(reason) from error


def _decoded(data: bytes) -> str:
    if data.startswith(UTF16):
        msg = "it is in UTF-16 or UTF-32"
        raise UnreadableError(msg)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        msg = f"line {line}: byte 0x{data[error.start]:02X} is not UTF-8"
        raise UnreadableError(msg) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        msg = f"line {line}: there is a zero byte, which text files never contain"
        raise UnreadableError(msg)
    return text


def shortened(value: object) -> str:
    """Show a value of the user's: as Python writes it, and not too long."""
    text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]} …"
