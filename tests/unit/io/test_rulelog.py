"""A rule's log keeps what the rule said, and why it failed."""

import errno
import sys

import pytest

from notears_pfl.errors import TableError
from notears_pfl.io.rulelog import rule_log


def test_rule_log_keeps_both_streams(tmp_path):
    log = tmp_path / "rule.log"

    with rule_log(log):
        print("to stdout")
        print("to stderr", file=sys.stderr)

    assert log.read_text() == "to stdout\nto stderr\n"


def test_an_error_of_ours_ends_the_script_with_its_message_alone(tmp_path):
    log = tmp_path / "rule.log"

    message = r"^TableError: a\.tsv: column site is missing$"
    with pytest.raises(SystemExit, match=message), rule_log(log):
        raise TableError("a.tsv: column site is missing")

    assert "Traceback" in log.read_text()


def test_any_other_error_passes_through_and_leaves_its_traceback(tmp_path):
    log = tmp_path / "rule.log"

    with pytest.raises(ZeroDivisionError), rule_log(log):
        1 / 0

    assert "ZeroDivisionError" in log.read_text()


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError(), r"^OutOfMemoryError: The job that logs to .*rule\.log: cannot be finished"),
        (OSError(errno.EIO, "…", "a.nii"), r"^StorageError: a\.nii: .*Input/output error"),
    ],
)
def test_a_failure_of_the_machine_ends_the_script_with_a_sentence(error, message, tmp_path):
    log = tmp_path / "rule.log"

    with pytest.raises(SystemExit, match=message), rule_log(log):
        raise error

    assert "Traceback" in log.read_text()


def test_a_disk_without_room_for_the_log_does_not_hide_the_error():
    with pytest.raises(SystemExit, match=r"^TableError: a\.tsv is empty"), rule_log("/dev/full"):
        raise TableError("a.tsv is empty")
