"""Whose run has locked a folder, and how to unlock it: a run that is killed leaves its lock.

A run notes itself in a file and holds a lock of the operating system on it as long as it lives,
however it ends. Jobs do not inherit this lock, as they are programs of their own.
"""

import atexit
import contextlib
import fcntl
import os
import shutil
import socket
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import pairwise
from json import dumps
from pathlib import Path
from typing import TextIO

import psutil

from notears_pfl.errors import PflError, StorageError
from notears_pfl.io.machine import blaming_the_machine
from notears_pfl.io.sidecars import read_sidecar

LOCKS, NOTE = Path(".snakemake/locks"), Path(".snakemake/study_run.json")
# Scripts of jobs on this machine.
JOBS = Path(".snakemake/scripts")
# What Snakemake says of a locked folder.
CANNOT_LOCK = "Directory cannot be locked"
UNLOCK = "notears-pfl study unlock"
# Another process holds the note for a moment when it looks whether a run does.
ATTEMPTS, PAUSE = 5, 0.1
# Notes that this process holds: closed, they would be free.
_held: dict[Path, TextIO] = {}


@dataclass(frozen=True)
class Run:
    """The process of a run: machine, number, and when it began, in seconds since 1970."""

    host: str
    process: int
    began: float

    @property
    def is_of_this_machine(self) -> bool:
        """Whether it can be seen from here."""
        return self.host == socket.gethostname()

    def __str__(self) -> str:
        """Name the process and when it began."""
        when = datetime.fromtimestamp(self.began).strftime("%d %B, %H:%M")
        return f"process {self.process}, begun on {when}"


def is_locked() -> bool:
    """Whether a run has locked this folder."""
    return any(LOCKS.glob("*"))


def noted_run() -> Run | None:
    """Give the run that was noted last in this folder and has not ended by itself."""
    try:
        return Run(**read_sidecar(NOTE))
    except (PflError, OSError, TypeError):
        return None


def note_this_run() -> bool:
    """Note that this process runs a study here, for those who find the folder locked.

    Returns whether it is noted: not if another run is, or has locked the folder, whose note stays.
    """
    place = NOTE.absolute()
    if place in _held:
        return True
    if is_locked():
        return False
    for attempt in range(ATTEMPTS):
        time.sleep(PAUSE if attempt else 0)
        try:
            file = _taken_note()
        except BlockingIOError:
            continue
        own = psutil.Process()
        with blaming_the_machine(NOTE, "written"):
            _write(file, dumps(asdict(Run(socket.gethostname(), own.pid, own.create_time()))))
        _held[place] = file
        atexit.register(_forget, place, own.pid)
        return True
    return False


def why_locked() -> str:
    """Say who has locked this folder, and what to do."""
    here, run = Path.cwd(), noted_run()
    if is_under_way():
        return f"A run is under way in {here} ({_named(run)}). Wait until it has ended, or stop it."
    if processes := _snakemakes():
        return _at_work(processes)
    if run is None or NOTE.absolute() in _held:
        return f"{here} is locked. If no run of Snakemake is under way in it: {UNLOCK}"
    if not run.is_of_this_machine:
        return (
            f"{here} is locked by a run on {run.host} ({run}). Look there whether it still "
            f"runs. If not: {UNLOCK}"
        )
    if is_under_way() is None:
        return (
            f"{here} is locked by a run ({run}); its file system does not tell whether this still "
            f"runs. Look for it. If it does not: {UNLOCK}"
        )
    return (
        f"{here} is still locked by a run that was killed ({run}). Unlock it, and run again: "
        f"{UNLOCK}"
    )


def is_under_way() -> bool | None:
    """Whether another process holds the note; None if the file system does not tell."""
    if NOTE.absolute() in _held:
        return False
    try:
        with NOTE.open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return None
    return False


def unlock() -> int:
    """Remove the lock that a killed run has left, unless the run or a job of it is at work."""
    if not is_locked():
        print(f"{Path.cwd()} is not locked.")
        return 0
    try:
        # Held until it is unlocked: no run begins meanwhile.
        note = _taken_note()
    except BlockingIOError:
        print(why_locked())
        return 1
    with note:
        if processes := _snakemakes():
            print(_at_work(processes))
            return 1
        if jobs := _jobs_at_work():
            print(
                f"Jobs of the run that was killed are still at work ({_numbers(jobs)}). Wait until "
                "they have ended, or stop them."
            )
            return 1
        with blaming_the_machine(LOCKS, "removed"):
            shutil.rmtree(LOCKS)
            _write(note, "")
    print(
        f"{Path.cwd()} is unlocked. Jobs of a cluster go on when their run is killed. If you use "
        "one, look for them (on SLURM: squeue --me) and cancel them (scancel) before you run again."
    )
    return 0


def _taken_note() -> TextIO:
    """Open the note and lock it, if the file system has locks; an error if another process has."""
    if NOTE.parent.exists() and not NOTE.parent.is_dir():
        msg = (
            f"{NOTE.parent.absolute()}: a folder is needed here, in which Snakemake keeps its "
            "notes; found a file. Move it away and run again."
        )
        raise StorageError(msg)
    with blaming_the_machine(NOTE, "written"):
        NOTE.parent.mkdir(exist_ok=True)
        # Not emptied: it may be another run's.
        file = NOTE.open("a+", encoding="utf-8")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise
    except OSError:  # a file system without locks
        pass
    return file


def _write(file: TextIO, text: str) -> None:
    """Replace what the note says; the file itself stays, because the lock is on it."""
    file.truncate(0)
    file.write(text)
    file.flush()


def _forget(place: Path, process: int) -> None:
    """Empty the note of a run that ends by itself. Children that are no programs leave it."""
    if os.getpid() == process:
        # A disk that has gone takes no writes, and keeps no lock.
        with contextlib.suppress(OSError), _held.pop(place) as file:
            _write(file, "")


def _named(run: Run | None) -> str:
    if run is None:
        return f"it holds {NOTE}"
    return str(run) if run.is_of_this_machine else f"on {run.host}, {run}"


def _at_work(processes: list[int]) -> str:
    return (
        f"Snakemake is at work in {Path.cwd()} ({_numbers(processes)}). Wait until it has ended, "
        "or stop it."
    )


def _numbers(processes: list[int]) -> str:
    return f"processes {', '.join(map(str, processes))}"


def _snakemakes() -> list[int]:
    """Numbers of this machine's processes of Snakemake in this folder, but those that called us."""
    own = psutil.Process()
    ours = {own.pid, *(parent.pid for parent in own.parents())}
    here = os.getcwd()
    return [
        process.pid
        for process in psutil.process_iter(["cmdline", "cwd"])
        if process.pid not in ours
        and _runs_snakemake(words := process.info["cmdline"] or [])
        and here in _folders(words, process.info["cwd"])
    ]


def _runs_snakemake(words: list[str]) -> bool:
    names = {Path(word).name for word in words}
    return "snakemake" in names or (bool({"notears-pfl", "notears_pfl"} & names) and "run" in names)


def _folders(words: list[str], working: str | None) -> Iterator[str]:
    """Folders that a process of Snakemake works in: its own, and the one that it is given."""
    if working:
        yield working
    for word, following in pairwise([*words, ""]):
        option, equals, value = word.partition("=")
        given = value if equals else following
        # Where a process of another user works is not known.
        if option in ("--directory", "-d") and (working or os.path.isabs(given)):
            yield os.path.realpath(os.path.join(working or "", given))


def _jobs_at_work() -> list[int]:
    """Numbers of this machine's processes that run the script of a job of this folder."""
    scripts = os.fspath(JOBS.absolute())
    return [
        process.pid
        for process in psutil.process_iter(["cmdline"])
        if any(word.startswith(scripts) for word in process.info["cmdline"] or ())
    ]
