"""A file is written whole or not at all."""

import errno
import resource
import signal

import pytest

from notears_pfl.errors import StorageError
from notears_pfl.io.atomic import whole_file


def test_the_file_appears_when_the_block_ends_well(tmp_path):
    path = tmp_path / "new" / "image.nii.gz"

    with whole_file(path) as temporary:
        temporary.write_text("whole")
        assert not path.exists()

    assert path.read_text() == "whole"
    assert list(path.parent.iterdir()) == [path]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "table.tsv"
    path.write_text("old")

    with pytest.raises(KeyboardInterrupt), whole_file(path) as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt

    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_temporary_name_keeps_the_suffixes(tmp_path):
    with whole_file(tmp_path / "image.nii.gz") as temporary:
        temporary.touch()
        assert temporary.name.endswith(".nii.gz")


def test_a_full_disk_is_named_with_the_file_and_the_remedy(tmp_path):
    path = tmp_path / "image.nii.gz"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with (
            pytest.raises(StorageError, match=r"image\.nii\.gz: cannot be written: File too large"),
            whole_file(path) as temporary,
        ):
            temporary.write_bytes(bytes(2000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)

    assert list(tmp_path.iterdir()) == []


def test_an_error_that_is_not_the_machines_is_left_as_it_is(tmp_path):
    with pytest.raises(OSError, match="not the disk's") as raised, whole_file(tmp_path / "x"):
        raise OSError(errno.EISDIR, "not the disk's")

    assert not isinstance(raised.value, StorageError)
