"""A file is written whole or not at all."""

import pytest

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
