"""Whose run has locked a folder, and how to unlock it: a run that is killed leaves its lock."""

import contextlib
import os
import shutil
import socket
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

import psutil

from notears_pfl.errors import PflError
from notears_pfl.io.sidecars import read_sidecar, write_json

LOCKS, NOTE = Path(".snakemake/locks"), Path(".snakemake/study_run.json")
# Scripts of jobs on this machine.
JOBS = Path(".snakemake/scripts")
# What Snakemake says of a locked folder.
CANNOT_LOCK = "Directory cannot be locked"
UNLOCK = "notears-pfl study unlock"


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

    @property
    def is_running(self) -> bool:
        """Whether the process is there; another one may have got its number."""
        try:
            return psutil.Process(self.process).create_time() == self.began
        except psutil.NoSuchProcess:
            return False

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
    except (PflError, TypeError):
        return None


@contextlib.contextmanager
def noting_this_run() -> Iterator[None]:
    """Note who runs a study here, for those who find the folder locked."""
    if is_locked():  # by another run, whose note stays
        yield
        return
    own = psutil.Process()
    NOTE.parent.mkdir(exist_ok=True)
    write_json(asdict(Run(socket.gethostname(), own.pid, own.create_time())), NOTE)
    try:
        yield
    finally:
        NOTE.unlink(missing_ok=True)


def why_locked() -> str:
    """Say who has locked this folder, and what to do."""
    run = noted_run()
    if run is None:
        return f"{Path.cwd()} is locked. If no run of Snakemake is under way in it: {UNLOCK}"
    if not run.is_of_this_machine:
        return (
            f"{Path.cwd()} is locked by a run on {run.host} ({run}). Look there whether it still "
            f"runs. If not: {UNLOCK}"
        )
    if run.is_running:
        return f"A run is under way in {Path.cwd()} ({run}). Wait until it has ended, or stop it."
    return (
        f"{Path.cwd()} is still locked by a run that was killed ({run}). Unlock it, and run again: "
        f"{UNLOCK}"
    )


def unlock() -> int:
    """Remove the lock that a killed run has left, unless the run or a job of it is at work."""
    if not is_locked():
        print(f"{Path.cwd()} is not locked.")
        return 0
    run = noted_run()
    if run is not None and run.is_of_this_machine and run.is_running:
        print(why_locked())
        return 1
    if jobs := _jobs_at_work():
        print(
            f"Jobs of the run that was killed are still at work (processes "
            f"{', '.join(map(str, jobs))}). Wait until they have ended, or stop them."
        )
        return 1
    shutil.rmtree(LOCKS)
    NOTE.unlink(missing_ok=True)
    print(
        f"{Path.cwd()} is unlocked. Jobs of a cluster go on when their run is killed: cancel them "
        "before you run again (make unlock, in the clone, does)."
    )
    return 0


def _jobs_at_work() -> list[int]:
    """Numbers of this machine's processes that run the script of a job of this folder."""
    scripts = os.fspath(JOBS.absolute())
    return [
        process.pid
        for process in psutil.process_iter(["cmdline"])
        if any(word.startswith(scripts) for word in process.info["cmdline"] or ())
    ]
