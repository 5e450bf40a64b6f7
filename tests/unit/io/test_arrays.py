"""Arrays come back as written, and damage is named."""

from typing import NamedTuple

import numpy as np
import pytest

from notears_pfl.errors import TableError
from notears_pfl.io.arrays import StoredRows, read_arrays, write_arrays, write_records


def test_equal_arrays_give_equal_bytes(tmp_path):
    for name in ("a.npz", "b.npz"):
        write_arrays({"x": np.arange(5), "names": ["p", "q"]}, tmp_path / name)

    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    assert read_arrays(tmp_path / "a.npz")["names"].tolist() == ["p", "q"]


def test_a_damaged_file_is_refused_with_the_next_step(tmp_path):
    path = tmp_path / "draws.npz"
    write_arrays({"x": np.arange(500)}, path)
    path.write_bytes(path.read_bytes()[:100])

    with pytest.raises(TableError, match=r"draws.npz: cannot be read as arrays.*Delete it"):
        read_arrays(path)


class Record(NamedTuple):
    """Two arrays of a subject."""

    S: np.ndarray
    n: float


@pytest.fixture
def records(rng):
    """Give five records of ten numbers and one."""
    return [Record(rng.normal(size=10), float(i)) for i in range(5)]


def test_records_are_written_like_arrays_of_all_of_them(tmp_path, records):
    write_records(iter(records), 5, {"names": list("abcde")}, tmp_path / "records.npz")

    S, n = (np.array(values) for values in zip(*records, strict=True))
    write_arrays({"S": S, "n": n, "names": list("abcde")}, tmp_path / "arrays.npz")
    assert (tmp_path / "records.npz").read_bytes() == (tmp_path / "arrays.npz").read_bytes()


def test_rows_of_a_large_table_are_read_from_its_file(tmp_path, records, monkeypatch):
    path = tmp_path / "records.npz"
    write_records(iter(records), 5, {}, path)
    monkeypatch.setattr("notears_pfl.io.arrays.LARGE", 1)

    stored = read_arrays(path, table="S")["S"]

    assert isinstance(stored, StoredRows)
    np.testing.assert_array_equal(stored[np.array([3, 1])], [records[3].S, records[1].S])
    np.testing.assert_array_equal(read_arrays(path)["S"], [record.S for record in records])


def test_a_large_table_that_is_damaged_is_refused(tmp_path, records, monkeypatch):
    path = tmp_path / "records.npz"
    write_records(iter(records), 5, {}, path)
    content = bytearray(path.read_bytes())
    content[content.index(records[2].S.tobytes())] ^= 1
    path.write_bytes(content)
    monkeypatch.setattr("notears_pfl.io.arrays.LARGE", 1)

    with pytest.raises(TableError, match=r"records.npz: cannot be read as arrays \(Bad CRC-32"):
        read_arrays(path, table="S")
