"""A subject that fails says why and leaves nothing that passes for done."""

import errno

import pandas as pd
import pytest

from notears_pfl.errors import (
    ConfigError,
    ImageError,
    MachineError,
    OutOfMemoryError,
    SignalError,
    StorageError,
    TableError,
)
from notears_pfl.io.failures import mark_failure, naming, read_report
from notears_pfl.io.sidecars import write_json


def test_a_failure_is_reported_with_its_reason_and_empty_outputs(tmp_path):
    report, series = tmp_path / "report.json", tmp_path / "series.tsv"

    with mark_failure(report, [series]):
        raise ImageError("sub-01_bold.nii.gz: cannot be read")

    assert series.read_bytes() == b""
    with pytest.raises(SignalError, match=r"sub-01_bold\.nii\.gz: cannot be read"):
        read_report(report)


def test_a_failure_of_ours_is_not_hidden(tmp_path):
    with pytest.raises(ZeroDivisionError), mark_failure(tmp_path / "report.json", []):
        1 / 0

    assert not (tmp_path / "report.json").exists()


MACHINE = {
    "memory": (MemoryError(), r"report\.json: cannot be made: Out of memory\. Run fewer jobs"),
    "disk": (
        OSError(errno.EIO, "…", "sub-01_bold.nii"),
        r"^sub-01_bold\.nii: .*Input/output error",
    ),
    "vanished": (FileNotFoundError(errno.ENOENT, "…", "xfm.nii"), r"^xfm\.nii: .*disk is mounted"),
    "rights": (PermissionError(errno.EACCES, "…", "t1w.nii"), r"^t1w\.nii: .*Permission denied"),
    "full": (OSError(errno.ENOSPC, "…"), r"report\.json: .*No space left .*Free some space"),
    "ITK": (RuntimeError("itkImportImageContainer: Failed to allocate memory"), "Out of memory"),
    "greedy": (RuntimeError("std::bad_alloc"), "Out of memory"),
    "pandas": (pd.errors.ParserError("C error: out of memory"), "Out of memory"),
}


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize(("error", "message"), MACHINE.values(), ids=MACHINE)
def test_a_failure_of_the_machine_fails_the_job_even_if_a_reader_blamed_the_file(
    error, message, wrapped, tmp_path
):
    report, series = tmp_path / "report.json", tmp_path / "series.tsv"

    with pytest.raises(MachineError, match=message), mark_failure(report, [series]):
        if wrapped:
            raise TableError("sub-01.tsv: is damaged, copy it again") from error
        raise error

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", [StorageError, OutOfMemoryError])
def test_the_file_is_named_before_a_failure_of_the_machine_but_once(kind):
    name, message = "sub-01_bold.nii", "The program of preproc.engine.brain: cannot be run: Killed."

    with pytest.raises(kind, match=rf"^{name}: {message}"), naming(name):
        raise kind(message)
    with pytest.raises(kind, match=rf"^{name}: cannot be read"), naming(name):
        raise kind(f"{name}: cannot be read: Input/output error.")
    with pytest.raises(OutOfMemoryError, match=rf"^{name}: cannot be processed"), naming(name):
        raise MemoryError


@pytest.mark.parametrize("kind", [StorageError, OutOfMemoryError, ConfigError])
def test_a_full_disk_or_a_missing_program_is_not_the_subjects_failure(tmp_path, kind):
    with pytest.raises(kind), mark_failure(tmp_path / "report.json", []):
        raise kind("series.tsv cannot be written, or deepbet is not installed")

    assert not (tmp_path / "report.json").exists()


def test_the_file_is_named_before_the_message():
    with (
        pytest.raises(SignalError, match=r"^sub-01_bold\.nii: Volumes \[3\]"),
        naming("sub-01_bold.nii"),
    ):
        raise SignalError("Volumes [3] hold values that are not finite.")


def test_a_report_of_success_is_read(tmp_path):
    write_json({"status": "ok", "n_volumes": 230}, tmp_path / "report.json")

    assert read_report(tmp_path / "report.json")["n_volumes"] == 230
