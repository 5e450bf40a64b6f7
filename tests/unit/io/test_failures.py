"""A subject that fails says why and leaves nothing that passes for done."""

import pytest

from notears_pfl.errors import ConfigError, ImageError, SignalError, StorageError
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


@pytest.mark.parametrize("kind", [StorageError, ConfigError])
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
