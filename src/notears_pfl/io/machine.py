"""Distinguish a failed machine (fail the job) from a bad file (mark the subject as failed).

A job that marks its subject as failed has succeeded, and is not run again. So only a fault in the
subject's own files may mark it: otherwise a minute without memory or disk would cost the study a
subject for good.
"""

import contextlib
import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path

from notears_pfl.errors import MachineError, OutOfMemoryError, StorageError

# System errors that the file itself causes: a folder in its place, a damaged offset.
OF_THE_FILE = {
    errno.EINVAL,
    errno.EISDIR,
    errno.ELOOP,
    errno.ENAMETOOLONG,
    errno.ENOTDIR,
    errno.EOVERFLOW,
}
# What the user can do about other system errors.
REMEDIES = {
    errno.ENOSPC: "Free some space",
    errno.EDQUOT: "Free some space, or ask for a larger quota",
    errno.EFBIG: "Raise the limit on the size of a file",
    errno.EROFS: "Make the folder writable",
    errno.EACCES: "Make the folder writable",
    errno.EPERM: "Make the folder writable",
    errno.EMFILE: "Raise the limit on open files (ulimit -n)",
    errno.ENFILE: "Raise the limit on open files (fs.file-max)",
}
# The same when reading a file.
TO_READ = REMEDIES | {
    errno.ENOENT: "It was there when the run was planned: check that its disk is mounted",
    errno.EACCES: "Make the file readable",
    errno.EPERM: "Make the file readable",
}
OTHERWISE = "Check that the disk works and is connected"
MORE_MEMORY = "Run fewer jobs at a time or, on a cluster, ask for more memory (mem_mb),"
NO_MEMORY, NO_SPACE = "Out of memory", os.strerror(errno.ENOSPC)
# What programs and libraries print when the machine fails, and what it means.
TOLD = {
    "bad_alloc|out of memory|(cannot|can't|could not|failed to|unable to) allocate": NO_MEMORY,
    r"\bkilled\b|return code: (-9|137)\b": "Killed, usually for lack of memory",
    "no space left on device|disk quota exceeded": NO_SPACE,
    "input/output error|stale (nfs )?file handle": os.strerror(errno.EIO),
    # Terminated, out of processor time, file too large, memory map on a failed disk.
    r"return code: (-15|143|-24|152|-25|153|-7|135)\b": "Stopped by the system",
}


@contextlib.contextmanager
def blaming_the_machine(path: str | Path, deed: str) -> Iterator[None]:
    """If the machine failed, raise an error with file, cause and next step; pass on the rest.

    ``deed`` is what could not be done: ``read``, ``written``.
    """
    try:
        yield
    except MachineError:
        raise
    except (MemoryError, OSError) as error:
        blamed = machine_error(error, path, deed)
        if blamed is None:
            raise
        raise blamed from error


def machine_error(error: BaseException, path: str | Path, deed: str) -> MachineError | None:
    """Make the error that blames the machine; None if it did not fail.

    An OSError without a number is not the system's: gzip and nibabel raise it for damaged files.
    """
    if isinstance(error, MemoryError):
        told = str(error)
        return _blame(path, deed, f"{NO_MEMORY} ({told})" if told else NO_MEMORY, MORE_MEMORY)
    if isinstance(error, OSError):
        number = error.errno
        if not number or number in OF_THE_FILE:
            return None
        if number == errno.ENOMEM:
            return _blame(path, deed, NO_MEMORY, MORE_MEMORY)
        remedies = TO_READ if deed in ("read", "used") else REMEDIES
        return _blame(path, deed, os.strerror(number), remedies.get(number, OTHERWISE))
    # Out of memory, SimpleITK and PyTorch raise a RuntimeError, pandas a ParserError.
    if isinstance(error, RuntimeError) or type(error).__name__ == "ParserError":
        return told_error(str(error), path, deed)
    return None


def told_error(text: str, path: str | Path, deed: str) -> MachineError | None:
    """Make the error that blames the machine from a program's output; None if it does not."""
    for pattern, cause in TOLD.items():
        if re.search(pattern, text, re.IGNORECASE):
            for_memory = "memory" in cause
            remedy = REMEDIES[errno.ENOSPC] if cause == NO_SPACE else OTHERWISE
            return _blame(path, deed, cause, MORE_MEMORY if for_memory else remedy)
    return None


def machine_cause(error: BaseException, path: str | Path, deed: str) -> MachineError | None:
    """Find a failure of the machine in an error or in its causes; None without one.

    So a reader that takes every error for a damaged file does not fail a subject for the machine.
    If the system names a file, that file is named instead of ``path``.
    """
    link: BaseException | None = error
    while link is not None:
        if isinstance(link, MachineError):
            return type(link)(str(link))
        place = getattr(link, "filename", None) or path
        blamed = machine_error(link, place, deed if str(place) == str(path) else "used")
        if blamed is not None:
            return blamed
        link = link.__cause__
    return None


def _blame(path: str | Path, deed: str, cause: str, remedy: str) -> MachineError:
    kind = OutOfMemoryError if remedy == MORE_MEMORY else StorageError
    return kind(
        f"{path}: cannot be {deed}: {cause}. {remedy} and run again; finished results are kept."
    )
