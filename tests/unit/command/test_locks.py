"""A locked folder is unlocked only if nothing is at work in it."""

import subprocess
import sys
from dataclasses import asdict, replace

import psutil
import pytest

from notears_pfl.cli import main
from notears_pfl.command.locks import JOBS, LOCKS, NOTE, Run, noting_this_run, socket, why_locked
from notears_pfl.command.logger import _in_our_words
from notears_pfl.io.sidecars import read_sidecar, write_json

SNAKEMAKE_SAYS = "LockException:\nError: Directory cannot be locked. Please make sure that no other"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Give a folder that is locked."""
    monkeypatch.chdir(tmp_path)
    LOCKS.mkdir(parents=True)
    (LOCKS / "0.input.lock").write_text("participants.tsv\n")
    return tmp_path


@pytest.fixture
def other():
    """Start a process that does nothing, and give it as a run."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    began = psutil.Process(process.pid).create_time()
    yield process, Run(socket.gethostname(), process.pid, began)
    process.kill()
    process.wait()


def test_the_lock_of_a_run_that_is_there_stays(folder, other, capsys):
    write_json(asdict(other[1]), NOTE)

    assert "A run is under way in" in _in_our_words(SNAKEMAKE_SAYS)
    assert main(["study", "unlock"]) == 1
    assert f"process {other[0].pid}, begun on" in capsys.readouterr().out
    assert LOCKS.exists()


def test_the_lock_of_a_run_that_was_killed_is_named_and_removed(folder, other, capsys):
    write_json(asdict(other[1]), NOTE)
    other[0].kill()
    other[0].wait()

    assert "still locked by a run that was killed" in _in_our_words(SNAKEMAKE_SAYS)
    assert main(["study", "unlock"]) == 0
    assert f"{folder} is unlocked." in capsys.readouterr().out
    assert not LOCKS.exists()
    assert not NOTE.exists()


def test_another_process_with_the_same_number_is_not_the_run(folder, other):
    write_json(asdict(replace(other[1], began=other[1].began - 60)), NOTE)

    assert "still locked by a run that was killed" in why_locked()


def test_a_run_on_another_machine_is_for_the_user_to_look_at(folder, other):
    write_json(asdict(replace(other[1], host="elsewhere")), NOTE)

    assert "is locked by a run on elsewhere" in why_locked()
    assert main(["study", "unlock"]) == 0


def test_without_a_note_the_user_is_told_how_to_unlock(folder):
    assert why_locked().endswith("under way in it: notears-pfl study unlock")


def test_a_folder_stays_locked_while_a_job_of_the_killed_run_is_at_work(folder, capsys):
    JOBS.mkdir(parents=True)
    script = folder / JOBS / "tmp1.cohort.py"
    script.write_text("input()\n")
    with subprocess.Popen([sys.executable, str(script)], stdin=subprocess.PIPE) as job:
        assert main(["study", "unlock"]) == 1
        assert f"(processes {job.pid})" in capsys.readouterr().out
        job.kill()

    assert main(["study", "unlock"]) == 0


def test_a_run_is_noted_until_it_ends(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    with noting_this_run():
        assert Run(**read_sidecar(NOTE)).is_running
    assert not NOTE.exists()


def test_the_note_on_the_run_that_has_locked_a_folder_stays(folder, other):
    write_json(asdict(other[1]), NOTE)

    with noting_this_run():
        assert Run(**read_sidecar(NOTE)) == other[1]
    assert NOTE.exists()


def test_a_folder_that_is_not_locked_is_left_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    assert main(["study", "unlock"]) == 0
    assert capsys.readouterr().out == f"{tmp_path} is not locked.\n"
