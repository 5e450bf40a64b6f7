"""Write files whole or not at all, and one process at a time."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from notears_pfl.io.machine import blaming_the_machine


@contextlib.contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` that becomes ``path`` when the block ends well.

    The temporary name is hidden and keeps the suffixes, because image writers choose their
    format by them; a run killed in between leaves ``path`` absent or as it was.
    """
    path = Path(path)
    temporary = path.with_name(f".writing-{os.getpid()}-{path.name}")
    try:
        with blaming_the_machine(path, "written"):
            path.parent.mkdir(parents=True, exist_ok=True)
            yield temporary
            temporary.replace(path)
    finally:
        # On a disk that takes no writes there is nothing to remove either.
        with contextlib.suppress(OSError):
            temporary.unlink()


@contextlib.contextmanager
def one_at_a_time(folder: str | Path) -> Iterator[None]:
    """Have the block's work in a folder done by one process at a time; others wait.

    The lock ends with the process, however that ends.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
