"""Arrays come back as written, and damage is named."""

import io
import tracemalloc
from typing import NamedTuple
from zipfile import ZipFile

import numpy as np
import pytest

from notears_pfl.errors import StorageError, TableError
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
    S = np.array([record.S for record in records])
    for rows in ([3, 1], [0, 1, 2, 4], [2, 2, 3], [], range(5)):
        numbers = np.array(rows, dtype=np.intp)
        np.testing.assert_array_equal(stored[numbers], S[numbers])
    with pytest.raises(IndexError):
        stored[np.array([5])]
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


@pytest.fixture
def stored(tmp_path, monkeypatch, rng):
    """Give a table of 40 rows of 8 kB each that stays in its file."""
    np.savez(tmp_path / "large.npz", S=rng.normal(size=(40, 1000)))
    monkeypatch.setattr("notears_pfl.io.arrays.LARGE", 1)
    return read_arrays(tmp_path / "large.npz", table="S")["S"]


def test_rows_are_copied_once(stored):
    tracemalloc.start()

    rows = stored[np.arange(1, 40, 2)]

    assert tracemalloc.get_traced_memory()[1] < 1.3 * rows.nbytes
    tracemalloc.stop()


def test_a_table_that_was_cut_off_after_it_was_opened_is_refused(stored):
    whole = stored.path.read_bytes()
    stored.path.write_bytes(whole[: stored.offset + 30 * 8000 - 1])

    assert stored[np.arange(29)].shape == (29, 1000)
    with pytest.raises(TableError, match=r"large\.npz: cannot be read as arrays .*ends in row 30"):
        stored[np.arange(30)]


def test_a_table_that_is_gone_is_a_fault_of_the_machine(stored):
    stored.path.unlink()

    with pytest.raises(StorageError, match=r"large\.npz: cannot be read: No such file"):
        stored[np.arange(2)]


def written_with_another_shape(path):
    """Write a table of 25 numbers whose header tells of 20."""
    content = io.BytesIO()
    np.save(content, np.eye(5))
    with ZipFile(path, "w") as archive:
        archive.writestr("S.npy", content.getvalue().replace(b"(5, 5)", b"(5, 4)"))


@pytest.mark.parametrize(
    ("write", "reason"),
    [
        (lambda path: np.savez_compressed(path, S=np.eye(5)), "is compressed, stored column by"),
        (lambda path: np.savez(path, S=np.eye(5)[:4].copy("F")), "stored column by column"),
        (lambda path: np.savez(path, S=np.array([{}])), "or holds objects"),
        (written_with_another_shape, "S.npy has 200 bytes; 160 are needed"),
    ],
)
def test_a_large_table_that_is_not_stored_row_by_row_is_refused(
    tmp_path, monkeypatch, write, reason
):
    write(tmp_path / "large.npz")
    monkeypatch.setattr("notears_pfl.io.arrays.LARGE", 1)

    with pytest.raises(TableError, match=rf"large\.npz: cannot be read as arrays .*{reason}"):
        read_arrays(tmp_path / "large.npz", table="S")
