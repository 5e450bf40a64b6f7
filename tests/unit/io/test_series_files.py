"""Series are read in every form they are shared in."""

import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat

from notears_pfl.errors import TableError
from notears_pfl.io.machine import machine_cause
from notears_pfl.io.series_files import archive_names, read_series, series_path


@pytest.fixture
def values(rng):
    return rng.normal(size=(6, 3))


def write(path, values):
    match path.suffix:
        case ".tsv" | ".csv":
            separator = "\t" if path.suffix == ".tsv" else ","
            pd.DataFrame(values, columns=list("ABC")).to_csv(path, sep=separator, index=False)
        case ".1D" | ".txt":
            np.savetxt(path, values, header="a comment")
        case ".npy":
            np.save(path, values)


@pytest.mark.parametrize("suffix", [".tsv", ".csv", ".1D", ".txt", ".npy"])
def test_one_file_per_subject(tmp_path, values, suffix):
    write(tmp_path / f"sub-07_roi{suffix}", values)

    series = read_series(str(tmp_path / "{participant_id}_roi") + suffix, "sub-07")

    np.testing.assert_allclose(series, values)
    assert isinstance(series, pd.DataFrame) == (suffix in (".tsv", ".csv"))


@pytest.mark.parametrize("key", ["sub-07", "07"])
def test_one_archive_for_all_subjects(tmp_path, values, key):
    np.savez(tmp_path / "all.npz", **{key: values, "sub-08": values + 1})

    series = read_series(str(tmp_path / "all.npz"), "sub-07", "07")

    np.testing.assert_array_equal(series, values)


def test_a_subject_that_the_archive_lacks_is_named(tmp_path, values):
    np.savez(tmp_path / "all.npz", **{"sub-08": values})

    with pytest.raises(TableError, match=r"all\.npz: no array 'sub-07' among 1"):
        read_series(str(tmp_path / "all.npz"), "sub-07")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(TableError, match=r"sub-07\.tsv: no such file"):
        read_series(str(tmp_path / "{participant_id}.tsv"), "sub-07")


def test_a_missing_file_is_the_machines_matter_only_if_it_was_planned(tmp_path):
    path = str(tmp_path / "sub-07.tsv")

    for planned, is_lost in (([], False), ([path], True)):
        with pytest.raises(TableError) as raised:
            read_series(path, "sub-07", planned=planned)
        assert (machine_cause(raised.value, path, "read") is not None) == is_lost


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "sub-07.npy").write_bytes(b"\x93NUMPY")

    with pytest.raises(TableError, match=r"sub-07\.npy: cannot be read"):
        read_series(str(tmp_path / "{participant_id}.npy"), "sub-07")


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_a_file_that_was_cut_short_is_named(tmp_path, values, suffix):
    path = tmp_path / f"sub-07{suffix}"
    {".npy": np.save, ".npz": np.savez}[suffix](path, values)
    path.write_bytes(path.read_bytes()[:-50])

    with pytest.raises(TableError, match=rf"sub-07\{suffix}: cannot be read .*copy it again"):
        read_series(str(tmp_path / "{participant_id}") + suffix, "sub-07")


@pytest.mark.parametrize(
    ("name", "text", "form"),
    [
        ("sub-07.txt", "A B\n1 2\n", "A .txt file must hold numbers separated by blanks, without"),
        ("sub-07.1D", "1,2\n3,4\n", "A .1D file must hold numbers separated by blanks"),
    ],
)
def test_an_intact_file_of_another_form_is_told_the_form(tmp_path, name, text, form):
    (tmp_path / name).write_text(text)

    with pytest.raises(TableError, match=form):
        read_series(str(tmp_path / name), "sub-07")


def test_an_archive_is_checked_as_a_whole(tmp_path, values):
    path = tmp_path / "all.npz"
    np.savez(path, **{"07": values})
    assert archive_names(path) == ["07"]
    path.write_bytes(path.read_bytes()[:-50])

    with pytest.raises(TableError, match=r"all\.npz: cannot be read"):
        archive_names(path)


@pytest.mark.parametrize("name", ["S1-1-0001", "sub-S110001", "S110001"])
def test_a_file_may_bear_any_name_of_its_subject(tmp_path, name):
    (tmp_path / f"{name}_aal.1D").touch()
    pattern = f"{tmp_path}/{{participant_id}}_aal.1D"

    path = series_path(pattern, "S1-1-0001", "sub-S110001", "S110001")

    assert path.name == f"{name}_aal.1D"


def test_the_first_name_that_has_a_file_counts(tmp_path):
    for name in ("01", "sub-01"):
        (tmp_path / f"{name}.tsv").touch()

    assert series_path(f"{tmp_path}/{{participant_id}}.tsv", "01", "sub-01").name == "01.tsv"


def test_an_unknown_ending_is_refused(tmp_path):
    (tmp_path / "sub-07.xlsx").touch()

    with pytest.raises(TableError, match=r"series cannot be read from \.xlsx; use \.tsv"):
        read_series(str(tmp_path / "{participant_id}.xlsx"), "sub-07")


def test_a_file_of_matlab_must_hold_one_matrix(tmp_path, values):
    path = tmp_path / "sub-07.mat"
    savemat(path, {"ROISignals": values, "TR": 2.0})
    np.testing.assert_array_equal(read_series(str(path), "sub-07"), values)

    savemat(path, {"ROISignals": values, "other": values})
    with pytest.raises(TableError, match=r"one matrix was needed, found 2 \(ROISignals, other\)"):
        read_series(str(path), "sub-07")

    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(TableError, match=r"sub-07\.mat: cannot be read .*before version 7\.3"):
        read_series(str(path), "sub-07")


def test_an_array_under_the_name_of_an_archive_is_refused(tmp_path, values):
    np.save(tmp_path / "all.npy", values)
    (tmp_path / "all.npy").rename(tmp_path / "all.npz")

    with pytest.raises(TableError, match=r"all\.npz: cannot be read"):
        archive_names(tmp_path / "all.npz")
    with pytest.raises(TableError, match=r"all\.npz: cannot be read"):
        read_series(str(tmp_path / "all.npz"), "sub-07")


@pytest.mark.parametrize("values", [np.array(["1", "2"]), np.ones((3, 2)) * 1j])
def test_an_array_of_anything_but_real_numbers_is_refused(tmp_path, values):
    np.save(tmp_path / "s.npy", values)

    with pytest.raises(TableError, match=r"s\.npy: an array of real numbers was needed"):
        read_series(str(tmp_path / "s.npy"), "s")


def test_columns_of_the_same_name_are_refused(tmp_path):
    (tmp_path / "s.csv").write_text("A,B,A\n1,2,3\n")

    with pytest.raises(TableError, match=r"s\.csv: columns 1 and 3 are both called 'A'"):
        read_series(str(tmp_path / "s.csv"), "s")


def test_a_name_too_long_for_a_file_has_none(tmp_path):
    with pytest.raises(TableError, match="no such file"):
        read_series(str(tmp_path / "{participant_id}.tsv"), "x" * 300)
