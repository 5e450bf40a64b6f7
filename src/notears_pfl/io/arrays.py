"""Read and write named arrays."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile

import numpy as np
from numpy.lib import format as npy

from notears_pfl.errors import TableError
from notears_pfl.io.atomic import whole_file
from notears_pfl.io.machine import blaming_the_machine

# Bytes from which a table stays in its file, and that are read at a time to check it.
LARGE, CHUNK = 1 << 28, 1 << 24


@dataclass(frozen=True)
class StoredRows:
    """A large table in a file, of which only the rows that are asked for are read."""

    path: Path
    offset: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    def __getitem__(self, rows: Any) -> np.ndarray:
        """Read rows, by their numbers.

        Where the file is damaged or its disk fails, reading raises an error; a memory map would
        end the process.
        """
        numbers = np.arange(self.shape[0])[rows]
        found = np.empty((len(numbers), *self.shape[1:]), self.dtype)
        starts = np.flatnonzero(np.diff(numbers, prepend=-2) != 1)
        with blaming_the_machine(self.path, "read"), self.path.open("rb") as file:
            # Neighbouring rows are read at once.
            for first, end in pairwise([*starts.tolist(), len(numbers)]):
                block = found[first:end]
                file.seek(self.offset + int(numbers[first]) * (block.nbytes // len(block)))
                if file.readinto(block.data) < block.nbytes:
                    raise _unreadable(self.path, f"it ends in row {numbers[end - 1] + 1} or before")
        return found


def write_arrays(arrays: Mapping[str, Any], path: str | Path) -> None:
    """Write arrays as .npz; equal arrays give equal bytes."""
    with whole_file(path) as temporary:
        np.savez(temporary, **arrays)


def write_records(
    records: Iterator[Any], number: int, arrays: Mapping[str, Any], path: str | Path
) -> None:
    """Write named tuples as arrays with one row each, and then other arrays, as .npz.

    The first field goes to the file record by record: it may be larger than the memory.

    Parameters
    ----------
    records : iterator of named tuples
        Numbers or arrays of one shape per field.
    number : int
        How many records there are, one at least.
    arrays : mapping
        Other arrays by name.
    path : path
        The file.
    """
    with whole_file(path) as temporary, ZipFile(temporary, "w") as archive:
        first = next(records)
        large, *names = first._fields
        rest = []
        with archive.open(f"{large}.npy", "w", force_zip64=True) as file:
            shape = (number, *first[0].shape)
            header = {"descr": first[0].dtype.str, "fortran_order": False, "shape": shape}
            npy.write_array_header_1_0(file, header)
            for record in chain([first], records):
                file.write(record[0].tobytes())
                rest.append(record[1:])
        assert len(rest) == number
        columns = dict(zip(names, map(np.array, zip(*rest, strict=True)), strict=True))
        for name, array in (columns | dict(arrays)).items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                npy.write_array(file, np.asarray(array), allow_pickle=False)


def read_arrays(path: str | Path, *, table: str = "") -> dict[str, Any]:
    """Read all arrays of an .npz file; ``table``, if it is large, stays there (`StoredRows`)."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            found = {name: archive[name] for name in archive.files if name != table}
            if table:
                member = f"{table}.npy"
                large = archive.zip.getinfo(member).file_size >= LARGE
                found[table] = _stored(Path(path), archive.zip, member) if large else archive[table]
            return found
    except (KeyError, ValueError, EOFError, OSError, BadZipFile) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: str | Path, reason: object) -> TableError:
    return TableError(
        f"{path}: cannot be read as arrays ({reason}). Delete it and run the workflow again."
    )


def _stored(path: Path, archive: ZipFile, member: str) -> StoredRows:
    """Find an uncompressed table of an archive in its file, and check that it is undamaged."""
    with archive.open(member) as file:
        version = npy.read_magic(file)
        read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran_order, dtype = read_header(file)
        size, start = int(np.prod(shape)) * dtype.itemsize, file.tell()
        # Reading to the end compares the checksum.
        while file.read(CHUNK):
            pass
    info = archive.getinfo(member)
    if info.compress_type != ZIP_STORED or fortran_order or dtype.hasobject:
        msg = f"{member} is compressed, stored column by column, or holds objects"
        raise ValueError(msg)
    if start + size != info.file_size:
        msg = f"{member} has {info.file_size - start} bytes; {size} are needed"
        raise ValueError(msg)
    with path.open("rb") as raw:
        raw.seek(info.header_offset + 26)
        lengths = np.frombuffer(raw.read(4), dtype="<u2")
    return StoredRows(path, info.header_offset + 30 + int(lengths.sum()) + start, dtype, shape)
