"""Read ROI series in the forms that studies share them."""

import contextlib
import errno
import io
import os
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from notears_pfl.errors import MachineError, TableError
from notears_pfl.io.machine import blaming_the_machine, machine_cause
from notears_pfl.io.sidecars import read_metadata
from notears_pfl.io.tables import read_columns, read_names, read_table
from notears_pfl.io.text import UnreadableError, read_text

# Stands for the subject in a pattern of file names.
PLACEHOLDER = "{participant_id}"
# What the libraries below raise at files that are not what their names say.
DAMAGED = (
    ValueError, TypeError, AttributeError, LookupError, ArithmeticError, OSError, EOFError,
    RuntimeError, SyntaxError, struct.error, tokenize.TokenError,
    zipfile.BadZipFile, zlib.error, UnreadableError,
)  # fmt: skip
SEPARATORS = {".tsv": "\t", ".csv": ","}
# What a file must hold, by its ending.
FORMS = {
    ".tsv": "numbers separated by tabs under a line of names",
    ".csv": "numbers separated by commas under a line of names",
    ".1D": "numbers separated by blanks, without names",
    ".txt": "numbers separated by blanks, without names",
    ".npy": "an array of numbers",
    ".npz": "an array of numbers for each subject",
    ".mat": "one matrix of numbers, saved by MATLAB before version 7.3",
}


def series_path(pattern: str, *names: str) -> Path:
    """File that holds a subject's series: the pattern's, or the one file of all subjects.

    Of several ``names`` of the subject the first that has a file counts.
    """
    paths = [Path(pattern.replace(PLACEHOLDER, name)) for name in names]
    return next((path for path in paths if os.path.isfile(path)), paths[0])


def read_series(
    pattern: str, *names: str, planned: Collection[str] = ()
) -> pd.DataFrame | np.ndarray:
    """Read a subject's series: a frame where columns are named, else an array.

    ``.tsv`` and ``.csv`` have a line of names; ``.1D`` and ``.txt`` are bare numbers with
    ``#`` comments; ``.npy`` is one array, ``.mat`` one matrix; ``.npz`` has one array per subject,
    by one of its ``names``. A missing file fails the subject; one of those ``planned``, which were
    there when the run was planned, was lost by the machine.
    """
    path = series_path(pattern, *names)
    if not os.path.isfile(path):
        msg = f"{path}: no such file. Provide it, or correct source.series in the configuration."
        lost = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        raise TableError(msg) from (lost if str(path) in planned else None)
    with _readable(path):
        match path.suffix:
            case ".tsv" | ".csv":
                return read_columns(path, SEPARATORS[path.suffix])
            case ".1D" | ".txt":
                return np.loadtxt(io.StringIO(read_text(path)), ndmin=2)
            case ".npy":
                # A map refuses a damaged header that asks for more than the file holds.
                return np.array(require_numbers(np.load(path, mmap_mode="r"), path))
            case ".npz":
                return require_numbers(_from_archive(path, names), path)
            case ".mat":
                return require_numbers(_only_matrix(path), path)
    raise TableError(_unknown_ending(path))


@dataclass(frozen=True)
class RunTables:
    """Series of a run as they are on disk, and what XCP-D or giga_connectome tell about it."""

    series: pd.DataFrame | np.ndarray
    outliers: pd.DataFrame | None
    motion: pd.DataFrame | None
    sidecar: Mapping[str, Any]


def read_run(
    files: Mapping[str, Any], names: Sequence[str], planned: Collection[str] = ()
) -> RunTables:
    """Read the files of a run: its ``series`` and, if there are any, the others by name."""
    outliers, motion = (
        read_table(files[name]) if name in files else None for name in ("outliers", "motion")
    )
    sidecar = read_metadata(files.get("sidecars", []))
    return RunTables(
        read_series(files["series"], *names, planned=planned), outliers, motion, sidecar
    )


def archive_names(path: str | Path) -> list[str]:
    """Names of the arrays in an archive of all subjects; one that is damaged is refused."""
    with _readable(path), np.load(path) as archive:
        names: list[str] = archive.files
        return names


def archive_outlines(
    path: str | Path, wanted: Container[str]
) -> dict[str, np.ndarray | TableError]:
    """Arrays of an archive that are wanted, by name, in shape and type alone, or what is wrong.

    Their values are not read.
    """
    arrays: dict[str, np.ndarray | TableError] = {}
    with _readable(path), zipfile.ZipFile(path) as archive:
        for member in archive.namelist():
            name = member.removesuffix(".npy")
            if name in wanted:
                try:
                    with _readable(path), archive.open(member) as file:
                        arrays[name] = require_numbers(_outline(file), path)
                except TableError as error:
                    arrays[name] = error
    return arrays


def archive_check_sums(path: str | Path) -> dict[str, tuple[int, int]]:
    """Check sum and size of the arrays in an archive, by name, as it states them."""
    with _readable(path), zipfile.ZipFile(path) as archive:
        return {
            member.filename.removesuffix(".npy"): (member.CRC, member.file_size)
            for member in archive.infolist()
        }


def series_outline(path: str | Path) -> pd.DataFrame | np.ndarray:
    """Series of one file as :func:`read_series` gives them, as far as the file tells at once.

    A frame has the names of the columns and no rows; of an array, the shape and the type count.
    """
    path = Path(path)
    with _readable(path):
        match path.suffix:
            case ".tsv" | ".csv":
                return read_names(path, SEPARATORS[path.suffix])
            case ".1D" | ".txt":
                lines = [line.partition("#")[0].split() for line in read_text(path).splitlines()]
                rows = [cells for cells in lines if cells]
                return np.broadcast_to(0.0, (len(rows), len(rows[0]) if rows else 0))
            case ".npy":
                with path.open("rb") as file:
                    return require_numbers(_outline(file), path)
            case ".mat":
                # The outlines in such a file do not tell complex numbers from real ones.
                return require_numbers(_only_matrix(path), path)
    raise TableError(_unknown_ending(path))


def _unknown_ending(path: Path) -> str:
    return (
        f"{path}: series cannot be read from {path.suffix or 'a file without ending'}; use "
        f"{', '.join(FORMS)}."
    )


def _outline(file: IO[bytes]) -> np.ndarray:
    """Array of the shape and type that the header of an ``.npy`` names."""
    header = np.lib.format
    is_first = header.read_magic(file) == (1, 0)
    read = header.read_array_header_1_0 if is_first else header.read_array_header_2_0
    shape, _, dtype = read(file)
    return np.broadcast_to(np.empty((), dtype), shape)


@contextlib.contextmanager
def _readable(path: str | Path) -> Iterator[None]:
    """Name the file in the error of a library that cannot read it."""
    try:
        with blaming_the_machine(path, "read"):
            yield
    except (MachineError, TableError):
        raise
    except DAMAGED as error:
        if blamed := machine_cause(error, path, "read"):
            raise blamed from error
        ending = Path(path).suffix
        msg = (
            f"{path}: cannot be read ({error}). A {ending} file must hold {FORMS[ending]}: export "
            "it in that form, or, if it has it, copy it again, for it is damaged."
        )
        raise TableError(msg) from error


def require_numbers(values: object, path: str | Path) -> np.ndarray:
    """Refuse arrays of anything but real numbers."""
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "biuf":
        what = values.dtype if isinstance(values, np.ndarray) else type(values).__name__
        msg = f"{path}: an array of real numbers was needed, found {what}. Export it again."
        raise TableError(msg)
    return values


def _only_matrix(path: Path) -> np.ndarray:
    """Matrix of a file of MATLAB that holds no other."""
    # Planning a study does not need scipy.
    from scipy.io import loadmat

    found = {k: v for k, v in loadmat(path).items() if not k.startswith("__") and np.size(v) > 1}
    if len(found) != 1:
        msg = (
            f"{path}: one matrix was needed, found {len(found)} ({', '.join(found) or 'none'}). "
            "Save the series alone."
        )
        raise TableError(msg)
    matrix: np.ndarray = next(iter(found.values()))
    return matrix


def _from_archive(path: Path, names: Sequence[str]) -> np.ndarray:
    with np.load(path) as archive:
        found: Sequence[str] = archive.files
        for name in names:
            if name in found:
                array: np.ndarray = archive[name]
                return array
    msg = (
        f"{path}: no array {names[0]!r} among {len(found)} ({', '.join(found[:3])}, …). "
        "Add it, or remove the subject from participants.tsv."
    )
    raise TableError(msg)
