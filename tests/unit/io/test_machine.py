"""Memory that ran out and disks that fail are told from damaged files, reading and writing."""

import builtins
import errno
import io
import os

import numpy as np
import pandas as pd
import pytest
from nibabel.openers import ImageOpener

from notears_pfl.errors import MachineError, OutOfMemoryError, StorageError
from notears_pfl.io.bids_tree import BidsTree
from notears_pfl.io.images import compress, read_bare_image, read_image, write_image
from notears_pfl.io.machine import machine_error, told_error
from notears_pfl.io.series_files import archive_names, read_series
from notears_pfl.io.sidecars import read_metadata, read_sidecar, read_timing, write_json
from notears_pfl.io.tables import write_table

FAULTS = {
    "memory": (MemoryError, OutOfMemoryError, "Out of memory. Run fewer jobs at a time"),
    "EIO": (errno.EIO, StorageError, "Input/output error. Check that the disk works"),
    "EACCES": (errno.EACCES, StorageError, "Permission denied. Make the "),
    "ENOSPC": (errno.ENOSPC, StorageError, "No space left on device. Free some space"),
    "ESTALE": (errno.ESTALE, StorageError, "Stale file handle. Check that the disk works"),
    "EMFILE": (errno.EMFILE, StorageError, "Too many open files. Raise the limit"),
}
READERS = {
    "image.nii": read_image,
    "image.nii.gz": read_image,
    "volume": read_bare_image,
    "sidecar.json": read_sidecar,
    "metadata.json": lambda path: read_metadata([path]),
    "timing.json": read_timing,
    "series.npy": lambda path: read_series(str(path), "sub-01"),
    "series.npz": archive_names,
    "series.tsv": lambda path: read_series(str(path), "sub-01"),
    "series.1D": lambda path: read_series(str(path), "sub-01"),
    "t1w.nii": lambda path: compress(path, path.with_suffix(".nii.gz")),
}
WRITERS = {
    "image.nii": lambda path: write_image(np.ones((4, 4, 4)), np.eye(4), path),
    "image.nii.gz": lambda path: write_image(np.ones((4, 4, 4)), np.eye(4), path),
    "table.tsv": lambda path: write_table(pd.DataFrame({"a": [1]}), path),
    "report.json": lambda path: write_json({"status": "ok"}, path),
}


@pytest.fixture
def broken(monkeypatch):
    """Give a function after which files of a name cannot be opened, or opened but not used."""

    def break_(name, fault, *, opens):
        def fail(*_, **__):
            raise OSError(fault, os.strerror(fault)) if isinstance(fault, int) else fault()

        class Broken(io.FileIO):
            """A file whose disk fails once it is open."""

            read = readinto = readall = write = fail

        def faulty(file, mode="r", *arguments, **options):
            if not isinstance(file, int) and str(file).endswith(name):
                if not opens:
                    fail()
                bare = Broken(file, mode.replace("b", "").replace("t", ""))
                return bare if "b" in mode else io.TextIOWrapper(bare, encoding="utf-8")
            return open_(file, mode, *arguments, **options)

        open_ = builtins.open
        monkeypatch.setattr(builtins, "open", faulty)
        monkeypatch.setattr(io, "open", faulty)
        # nibabel keeps the function by itself.
        monkeypatch.setitem(ImageOpener.compress_ext_map, None, (faulty, ("mode", "buffering")))

    return break_


@pytest.mark.parametrize("opens", [False, True], ids=["open", "read"])
@pytest.mark.parametrize(("fault", "kind", "words"), FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("name", READERS)
def test_a_machine_that_cannot_read_a_file_is_blamed_by_the_files_name(
    name, fault, kind, words, opens, broken, tmp_path
):
    path = tmp_path / name
    path.write_bytes(b"0" * 400)
    broken(name, fault, opens=opens)

    with pytest.raises(kind) as raised:
        READERS[name](path)

    assert f"{path}: cannot be read: {words}" in str(raised.value)
    assert "run again" in str(raised.value)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("fault", "kind", "words"), FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("name", WRITERS)
def test_a_machine_that_cannot_write_a_file_is_blamed_by_the_files_name(
    name, fault, kind, words, broken, tmp_path
):
    broken(name, fault, opens=False)

    with pytest.raises(kind) as raised:
        WRITERS[name](tmp_path / name)

    assert f"{tmp_path / name}: cannot be written: {words}" in str(raised.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", WRITERS)
def test_a_disk_that_is_full_for_real_is_named(name, tmp_path):
    (tmp_path / f".writing-{os.getpid()}-{name}").symlink_to("/dev/full")

    with pytest.raises(StorageError, match=r"cannot be written: No space left on device"):
        WRITERS[name](tmp_path / name)


@pytest.mark.parametrize("read", [read_image, read_bare_image, read_sidecar])
def test_a_file_that_vanished_is_the_machines_matter(read, tmp_path):
    with pytest.raises(StorageError, match=r"nowhere\.nii: cannot be read: No such file .*mounted"):
        read(tmp_path / "nowhere.nii")


def test_a_folder_that_cannot_be_listed_is_not_an_empty_one(monkeypatch, tmp_path):
    def fail(folder):
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(folder))

    tree = BidsTree(tmp_path)
    monkeypatch.setattr(os, "listdir", fail)

    with pytest.raises(StorageError, match="cannot be read: Input/output error"):
        tree.images("sub-01", "func", "bold")


@pytest.mark.parametrize(
    "error",
    [OSError("Expected 9 bytes, got 3"), OSError(errno.EISDIR, "a folder"), ValueError("no NIfTI")],
)
def test_an_error_about_the_file_itself_is_not_the_machines(error):
    assert machine_error(error, "x.nii", "read") is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Return code: -9", OutOfMemoryError),
        ("Return code: 137", OutOfMemoryError),
        ("bet: line 7: 4321 Killed  bet2", OutOfMemoryError),
        ("terminate called after throwing an instance of 'std::bad_alloc'", OutOfMemoryError),
        ("DefaultCPUAllocator: can't allocate memory", OutOfMemoryError),
        ("write failed: No space left on device", StorageError),
        ("Stale file handle", StorageError),
        ("Return code: -15", StorageError),
        ("Return code: -7", StorageError),
        ("Return code: 1", None),
        ("Return code: -11", None),
        ("no brain in this image", None),
    ],
)
def test_what_a_program_prints_tells_whose_failure_it_is(text, kind):
    blamed = told_error(text, "The program", "run")

    assert type(blamed) is (kind or type(None))
    assert blamed is None or isinstance(blamed, MachineError)
