"""A locked folder is unlocked only if nothing is at work in it."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace

import psutil
import pytest

from notears_pfl.cli import main
from notears_pfl.command.locks import (
    JOBS,
    LOCKS,
    NOTE,
    fcntl,
    is_under_way,
    note_this_run,
    noted_run,
    socket,
    why_locked,
)
from notears_pfl.command.logger import _in_our_words
from notears_pfl.errors import StorageError

SNAKEMAKE_SAYS = "LockException:\nError: Directory cannot be locked. Please make sure that no other"
# A run that does nothing but note itself, and ends with its standard input.
RUN = "from notears_pfl.command import locks; print(locks.note_this_run(), flush=True); input()"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def start(folder):
    """Give a function that starts a run in the folder and waits until it is noted."""
    processes = []

    def started(code=RUN):
        process = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        processes.append(process)
        assert process.stdout.readline() == "True\n"
        return process

    yield started
    for process in processes:
        process.kill()
        process.communicate()


def lock():
    LOCKS.mkdir(parents=True, exist_ok=True)
    (LOCKS / "0.input.lock").write_text("participants.tsv\n")


def kill(process):
    process.kill()
    process.wait()


def rewrite(**changes):
    """Change what the note says, in the same file."""
    NOTE.write_text(json.dumps(asdict(replace(noted_run(), **changes))))


def test_the_lock_of_a_run_that_is_there_stays(start, capsys):
    run = start()
    lock()

    assert "A run is under way in" in _in_our_words(SNAKEMAKE_SAYS)
    assert main(["study", "unlock"]) == 1
    assert f"(process {run.pid}, begun on" in capsys.readouterr().out
    assert LOCKS.exists()


def test_the_lock_of_a_run_that_was_killed_is_named_and_removed(folder, start, capsys):
    run = start()
    lock()
    kill(run)

    assert f"by a run that was killed (process {run.pid}" in _in_our_words(SNAKEMAKE_SAYS)
    assert main(["study", "unlock"]) == 0
    told = capsys.readouterr().out
    assert f"{folder} is unlocked." in told
    assert "squeue" in told
    assert not LOCKS.exists()
    assert noted_run() is None


def test_a_run_is_known_by_its_lock_whatever_the_clock_says_of_its_begin(start):
    run = start()
    lock()

    # The time at which a process began moves with the system's clock.
    rewrite(began=noted_run().began - 60)
    assert "A run is under way in" in why_locked()
    assert main(["study", "unlock"]) == 1

    kill(run)
    # Another process may have got the number of one that was killed.
    rewrite(process=os.getppid(), began=psutil.Process(os.getppid()).create_time())
    assert "still locked by a run that was killed" in why_locked()


def test_a_second_start_leaves_the_note_of_a_run_that_is_not_locked_yet(start, capsys):
    run = start()
    before = NOTE.read_bytes()

    assert not note_this_run()

    assert NOTE.read_bytes() == before
    lock()
    assert main(["study", "unlock"]) == 1
    assert f"(process {run.pid}, begun on" in capsys.readouterr().out


def test_a_start_in_a_locked_folder_leaves_the_note_of_the_run_that_was_killed(start):
    kill(start())
    lock()
    before = NOTE.read_bytes()

    assert not note_this_run()
    assert NOTE.read_bytes() == before


def test_a_run_takes_the_place_of_one_that_was_killed_and_ends_its_note(folder, start):
    kill(start())
    killed = noted_run()

    run = start()
    assert killed.process != noted_run().process == run.pid
    assert is_under_way()

    run.communicate("\n")
    assert noted_run() is None
    assert is_under_way() is False


def test_programs_that_a_run_has_started_do_not_hold_its_note(start):
    child = "import subprocess; print(subprocess.Popen(['sleep', '60']).pid, flush=True); input()"
    run = start(RUN.replace("input()", child))
    number = int(run.stdout.readline())
    try:
        kill(run)

        assert psutil.pid_exists(number)
        assert is_under_way() is False
    finally:
        os.kill(number, signal.SIGKILL)


@pytest.mark.parametrize("option", [["--directory", "{}"], ["--directory={}"], ["-d", "{}"], []])
def test_the_lock_of_a_snakemake_without_a_note_stays(folder, start, capsys, option):
    kill(start())
    (folder / "elsewhere").mkdir()
    (folder / "Snakefile").write_text("rule a:\n    output: 'a'\n    shell: 'sleep 60'\n")
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--snakefile"]
    snakemake = subprocess.Popen(
        [*command, str(folder / "Snakefile"), *(word.format(folder) for word in option)],
        cwd=folder / "elsewhere" if option else folder,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        while not [*LOCKS.glob("*.output.lock")]:
            assert snakemake.poll() is None
            time.sleep(0.1)

        assert f"Snakemake is at work in {folder} (processes {snakemake.pid})" in why_locked()
        assert main(["study", "unlock"]) == 1
        assert f"(processes {snakemake.pid})" in capsys.readouterr().out
        assert LOCKS.exists()
    finally:
        os.killpg(snakemake.pid, signal.SIGKILL)
        snakemake.wait()
    assert main(["study", "unlock"]) == 0


def test_a_snakemake_in_another_folder_does_not_count(folder):
    lock()
    (folder / "other").mkdir()
    words = [sys.executable, "-c", "input()", "snakemake", "--directory", "other"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, cwd=folder.parent) as process:
        assert main(["study", "unlock"]) == 0
        process.kill()


def test_a_run_on_another_machine_is_for_the_user_to_look_at(start):
    kill(start())
    lock()
    rewrite(host="elsewhere")

    assert "is locked by a run on elsewhere (process" in why_locked()
    assert main(["study", "unlock"]) == 0


def test_without_locks_of_the_file_system_the_user_is_to_look(start, monkeypatch):
    def no_locks(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    kill(start())
    lock()
    monkeypatch.setattr(fcntl, "flock", no_locks)

    assert is_under_way() is None
    assert "does not tell whether this still runs. Look for it." in why_locked()
    assert main(["study", "unlock"]) == 0


def test_without_a_note_the_user_is_told_how_to_unlock(folder):
    lock()

    assert why_locked().endswith("under way in it: notears-pfl study unlock")


def test_a_folder_stays_locked_while_a_job_of_the_killed_run_is_at_work(folder, capsys):
    lock()
    JOBS.mkdir(parents=True)
    script = folder / JOBS / "tmp1.cohort.py"
    script.write_text("input()\n")
    with subprocess.Popen([sys.executable, str(script)], stdin=subprocess.PIPE) as job:
        assert main(["study", "unlock"]) == 1
        assert f"(processes {job.pid})" in capsys.readouterr().out
        job.kill()

    assert main(["study", "unlock"]) == 0


def test_the_note_names_this_machine(start):
    run = start()

    assert (noted_run().host, noted_run().process) == (socket.gethostname(), run.pid)


def test_a_file_in_the_place_of_snakemakes_folder_is_named(folder):
    (folder / ".snakemake").write_text("")

    with pytest.raises(StorageError, match=r"\.snakemake: a folder is needed here, .* a file"):
        note_this_run()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_to_is_named(folder):
    folder.chmod(0o555)

    with pytest.raises(StorageError, match="Make the folder writable"):
        note_this_run()


def test_a_folder_that_is_not_locked_is_left_alone(folder, capsys):
    assert main(["study", "unlock"]) == 0
    assert capsys.readouterr().out == f"{folder} is not locked.\n"
    assert not NOTE.exists()
