"""The ledger survives a full disk and several writers; unrecorded messages are not sent."""

import errno
import multiprocessing
import os

import numpy as np
import pytest

from notears_pfl.errors import StorageError
from notears_pfl.federated import ledger as ledgers
from notears_pfl.federated.border import CANNOT_RECORD
from notears_pfl.federated.ledger import Ledger, read_ledger
from notears_pfl.federated.messages import Message, decode, encode
from notears_pfl.federated.run_records import read_runs, record_run
from notears_pfl.federated.statement import write_statement

WEIGHTS = Message("answer", 1, 1, ((np.zeros((2, 2)), 0.5),))


class Disk:
    """A disk with room for a given number of bytes; when full, it cuts a write off and fails."""

    def __init__(self, monkeypatch):
        self.room, self._write = None, os.write
        monkeypatch.setattr(ledgers.os, "write", self)

    def __call__(self, file, data):
        """Write as much as there is room for."""
        if self.room is None:
            return self._write(file, data)
        if self.room == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        n = self._write(file, data[: self.room])
        self.room -= n
        return n


@pytest.fixture
def disk(monkeypatch):
    return Disk(monkeypatch)


@pytest.mark.parametrize("room", [1, 30, 59, 60])
@pytest.mark.parametrize("reopened", [False, True])
def test_a_line_cut_off_by_a_full_disk_is_skipped_and_counted(tmp_path, disk, room, reopened):
    path = tmp_path / "ledger.tsv"
    ledger = Ledger(path, "run-1")
    ledger.write("in", "MDD", WEIGHTS, "step", 111)
    disk.room = room
    with pytest.raises(StorageError, match=r"ledger\.tsv: cannot be written: No space left"):
        ledger.write("out", "MDD", WEIGHTS, "step", 222)
    disk.room = None
    ledger = Ledger(path, "run-2") if reopened else ledger
    ledger.write("out", "MDD", WEIGHTS, "step", 333)

    found = read_ledger(path)
    assert found["bytes"].tolist() == [111, 333]
    assert found.attrs["cut_off"] == 1
    write_statement("COI", tmp_path)
    assert "1 line of the ledger was cut off" in (tmp_path / "statement.md").read_text()


def test_a_ledger_that_ends_in_the_middle_of_a_line_is_read(tmp_path):
    path = tmp_path / "ledger.tsv"
    Ledger(path, "run-1").write("in", "MDD", WEIGHTS, "step", 12345)
    path.write_bytes(path.read_bytes() + path.read_bytes().split(b"\n")[1][:-2])

    assert read_ledger(path)["bytes"].tolist() == [12345]


def test_rules_of_a_run_that_were_cut_off_are_skipped(tmp_path, rules, disk):
    record_run(tmp_path, "run-1", rules)
    disk.room = 12
    with pytest.raises(StorageError):
        record_run(tmp_path, "run-2", rules)
    disk.room = None
    record_run(tmp_path, "run-3", rules)

    assert list(read_runs(tmp_path)) == ["run-1", "run-3"]


@pytest.mark.parametrize("n_whole", [0, 1])
def test_a_site_that_cannot_record_refuses_with_the_reason(hospitals, disk, n_whole):
    border = hospitals.borders["S0"]
    plan = encode(Message("plan", 0, 1, (hospitals.plan,)))
    size = len((hospitals.folder / "S0.tsv").read_bytes())
    before = hospitals.folder / "S0.tsv"
    assert decode(border.handle(plan))[0][0].kind == "answer"
    lines = before.read_bytes()[size:].splitlines(keepends=True)
    disk.room = len(b"".join(lines[:n_whole])) + 5

    ((answer, _),) = decode(border.handle(encode(Message("describe", 1, 1))))

    assert (answer.kind, answer.values) == ("refusal", (CANNOT_RECORD,))
    disk.room = None
    assert read_ledger(before)["direction"].tolist() == ["in", "out"] + ["in"] * n_whole


def test_the_centre_is_told_at_once_that_a_site_cannot_record(hospitals, disk):
    courier = hospitals.courier(answer_s=3600.0)
    disk.room = 0

    with pytest.raises(Exception, match=r"site S0 refuses: the site cannot write its records"):
        courier.sites.describe()


def _write_many(path, name, n):
    ledger = Ledger(path, name)
    for i in range(n):
        ledger.write("in", "MDD", WEIGHTS, "step", i)


def test_concurrent_writers_do_not_break_lines(tmp_path):
    path = tmp_path / "ledger.tsv"
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write_many, args=(path, f"r{i}", 300)) for i in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    found = read_ledger(path)
    assert found.attrs["cut_off"] == 0
    assert found.groupby("run")["bytes"].sum().tolist() == [sum(range(300))] * 3
