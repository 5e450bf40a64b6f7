"""Series that cannot be used, and groups and names that are not as written, are named at once."""

import zipfile

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from scipy.io import savemat

from notears_pfl.errors import CohortError, SignalError, TableError
from notears_pfl.io.series_files import read_series, series_outline
from notears_pfl.study.enrolment import describe_problems, group_problems
from notears_pfl.study.participants import renamings
from notears_pfl.study.series_check import refuse_same_series, series_problems, unknown_groups
from notears_pfl.study.timeseries import checked_series, labelled_series, read_series_study

from .derived_trees import write_giga_run, write_xcpd_run

ROIS, SELECTED = ["A", "B", "C", "D"], ["B", "D"]
COLUMNS = {"site_column": "site", "group_column": "group"}


@pytest.fixture
def study_of(tmp_path, monkeypatch):
    """Plan a study of two patients and two controls with these series."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "participants.tsv").write_text(
        "participant_id\tsite\tgroup\n1\tS\tMDD\n2\tS\tMDD\n3\tS\tHC\n4\tS\tHC\n"
    )

    def plan(series):
        source = {**COLUMNS, "participants": "participants.tsv", "series": series}
        return read_series_study(source, ("MDD", "HC")), source

    return plan


def test_all_missing_and_misshapen_arrays_are_named_at_once(rng, study_of):
    right, flat = rng.normal(size=(9, 4)), rng.normal(size=(4, 9))
    text = np.full((9, 4), "x")
    np.savez_compressed("series.npz", **{"1": right, "sub-2": flat, "3": text})
    study, source = study_of("series.npz")

    problems = series_problems(study, source, ROIS, SELECTED)

    assert list(problems) == ["sub-2", "sub-3", "sub-4"]
    assert problems["sub-2"][0].startswith("unnamed series have shape (4, 9), but volumes by 4")
    assert "array of real numbers was needed" in problems["sub-3"][0]
    assert problems["sub-4"] == ["has no array in series.npz"]


def test_columns_of_tables_and_matrices_are_looked_at(study_of):
    table = pd.DataFrame(np.eye(4), columns=ROIS)
    table.to_csv("1.tsv", sep="\t", index=False)
    table.drop(columns="D").to_csv("2.tsv", sep="\t", index=False)
    for number in (3, 4):
        table.to_csv(f"{number}.tsv", sep="\t", index=False)
    study, source = study_of("{participant_id}.tsv")

    problems = series_problems(study, source, ROIS, SELECTED)

    assert list(problems) == ["sub-2"]
    assert "1 selected region has no column (D)" in problems["sub-2"][0]


def test_an_outline_needs_the_header_alone(rng, tmp_path):
    whole, cut = tmp_path / "whole.npy", tmp_path / "cut.npy"
    np.save(whole, rng.normal(size=(50, 4)))
    cut.write_bytes(whole.read_bytes()[:128])

    assert series_outline(cut).shape == (50, 4)


SERIES = np.array([[0.5, 2, 1, 7], [1, 5, 4, 3], [3, 1, 8, 2]])
ROWS = "".join("\t".join(map(str, row)) + "\n" for row in SERIES.tolist())
NAMES = "A\tB\tC\tD\n"


def with_workspace(path):
    """Write a file as MATLAB does if a variable is a function: with an array that has no name."""
    savemat(path, {"series": SERIES, "w": np.arange(40, dtype=np.uint8)})
    called, nameless = b"\x01\x00\x01\x00w\0\0\0", b"\x01\0\0\0\0\0\0\0"
    path.write_bytes(path.read_bytes().replace(called, nameless))


def archive_with(name):
    """Write an archive with the series of a subject and a member that is no array."""

    def write(path):
        np.savez(path, **{"1": SERIES})
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(name, "by K.")

    return write


def text(content, codec="utf-8"):
    return lambda path: path.write_bytes(content.encode(codec))


def matlab(**variables):
    return lambda path: savemat(path, variables)


# Ending of the file, how it is written, and whether a run can use it.
AWKWARD = {
    "blank lines before the names": (".tsv", text(f"\n  \r\n{NAMES}{ROWS}"), True),
    "byte order mark": (".tsv", text(NAMES + ROWS, "utf-8-sig"), True),
    "byte order mark, blank line": (".tsv", text(f"\n{NAMES}{ROWS}", "utf-8-sig"), True),
    "names with breaks": (".tsv", text(NAMES.replace("C", '"C\nc"') + ROWS), True),
    "line ends of old": (".tsv", text((NAMES + ROWS).replace("\n", "\r")), True),
    "UTF-16": (".tsv", text(NAMES + ROWS, "utf-16"), False),
    "Latin names": (".tsv", text(NAMES.replace("C", "é") + ROWS, "latin-1"), False),
    "the same name twice": (".tsv", text(NAMES.replace("C", "B") + ROWS), False),
    "an empty table": (".csv", text("\n\n"), False),
    "a note in an archive": (".npz", archive_with("README.txt"), True),
    "a damaged array of others": (".npz", archive_with("9.npy"), True),
    "a function": (".mat", with_workspace, True),
    "a text beside the matrix": (".mat", matlab(series=SERIES, by="somebody"), True),
    "yes and no": (".mat", matlab(series=SERIES > 2), True),
    "cells": (".mat", matlab(series=SERIES.astype(object)), False),
    "a sparse matrix": (".mat", matlab(series=scipy.sparse.csc_matrix(SERIES)), False),
    "complex numbers": (".mat", matlab(series=SERIES * 1j), False),
    "structures": (".mat", matlab(series=np.ones((3, 4), [("x", float)])), False),
    "texts": (".mat", matlab(series=np.full((3, 4), "x")), False),
    "bytes in a text": (".1D", lambda path: path.write_bytes(b"1 2 3 \xe9\n"), False),
    "an unknown ending": (".xlsx", text(NAMES + ROWS), False),
}  # fmt: skip


def refused(use):
    """Say why a file is refused; empty if it is not."""
    try:
        use()
    except (SignalError, TableError) as error:
        return str(error).removesuffix(".")
    return ""


@pytest.mark.parametrize("case", AWKWARD)
def test_a_check_accepts_and_refuses_what_a_run_does_and_for_the_same_reason(tmp_path, case):
    ending, write, is_usable = AWKWARD[case]
    path = tmp_path / f"1{ending}"
    write(path)
    people = tmp_path / "participants.tsv"
    people.write_text("participant_id\tsite\tgroup\n1\tS\tMDD\n")
    source = {**COLUMNS, "participants": str(people), "series": str(path)}
    study = read_series_study(source, ("MDD", "HC"))

    def run():
        series = read_series(str(path), "1")
        checked_series(labelled_series(series, ROIS, SELECTED), SELECTED)

    (found,) = series_problems(study, source, ROIS, SELECTED).get("sub-1", [""])

    assert found == refused(run)
    assert (found == "") == is_usable


def test_a_damaged_array_is_its_own_subjects_problem(study_of, tmp_path):
    archive_with("2.npy")(tmp_path / "series.npz")
    study, source = study_of("series.npz")

    problems = series_problems(study, source, ROIS, SELECTED)

    assert list(problems) == ["sub-2", "sub-3", "sub-4"]
    assert problems["sub-2"][0].startswith("series.npz: cannot be read")


def test_a_name_of_a_region_may_look_like_a_formula(tmp_path):
    path = tmp_path / "1.tsv"
    path.write_text("'-A\tB\n1\t2\n")

    assert list(series_outline(path)) == list(read_series(str(path), "1")) == ["-A", "B"]


def test_of_a_table_no_more_than_the_names_is_read(tmp_path):
    (tmp_path / "1.tsv").write_bytes(b"\nA\tB\n1\t\xff\n1\n")

    assert list(series_outline(tmp_path / "1.tsv")) == ["A", "B"]


@pytest.mark.parametrize(("name", "shape"), [("x.txt", (3, 2)), ("x.1D", (3, 2))])
def test_an_outline_of_bare_numbers_counts_rows_and_cells(tmp_path, name, shape):
    (tmp_path / name).write_text("# names\n1 2\n3 4  # twice\n\n5 6\n")

    assert series_outline(tmp_path / name).shape == shape


def test_an_outline_of_a_damaged_file_is_refused(tmp_path):
    (tmp_path / "x.npy").write_bytes(b"no array")

    with pytest.raises(TableError, match=r"x\.npy: cannot be read"):
        series_outline(tmp_path / "x.npy")


def test_values_that_are_no_group_are_named_with_the_group_that_is_like_them():
    people = pd.DataFrame({"group": ["MDD", "HC", "MDDD", "MDDD", "bipolar", "other"]})

    told = unknown_groups(people, ("MDD", "HC"), "people.tsv")

    assert told.startswith("people.tsv: 3 of 6 subjects are in no network")
    assert "  'MDDD': 2 subjects (did you mean MDD?)\n  'bipolar': 1 subject\n" in told
    assert "source.group_values" in told


def test_nothing_is_said_where_all_values_are_groups():
    assert unknown_groups(pd.DataFrame({"group": ["MDD", "HC"]}), ("MDD", "HC"), "x.tsv") == ""


def test_names_that_are_changed_are_told_in_one_line():
    table = pd.DataFrame(
        {"participant_id": ["01_a", "sub-02", *(f"x-{i}" for i in range(7))], "site": "MAX_MUN"}
    )

    (line,) = renamings(table, COLUMNS, "people.tsv")

    assert line == (
        "people.tsv: names keep only letters and digits: sites MAX_MUN → MAXMUN; subjects 01_a → "
        "sub-01a, x-0 → sub-x0, x-1 → sub-x1, x-2 → sub-x2, x-3 → sub-x3 and 3 more."
    )


def test_names_that_stay_are_not_told():
    table = pd.DataFrame({"participant_id": ["sub-01", "2"], "site": ["A", None]})

    assert renamings(table, COLUMNS, "people.tsv") == []


@pytest.mark.parametrize("layout", ["xcpd", "giga_connectome"])
def test_the_columns_of_programs_are_looked_at(rng, tmp_path, layout):
    for name, width in (("01", 3), ("02", 2)):
        values = rng.normal(size=(20, width))
        if layout == "xcpd":
            series = pd.DataFrame(values, columns=["A", "B", "C"][:width])
            write_xcpd_run(tmp_path, name, "task-rest", series)
        else:
            write_giga_run(tmp_path, name, "task-rest", values)
    table = tmp_path / "participants.tsv"
    table.write_text("participant_id\tsite\tgroup\nsub-01\tS\tMDD\nsub-02\tS\tHC\n")
    source = {**COLUMNS, "layout": layout, "dataset": str(tmp_path), "participants": str(table)}
    study = read_series_study(
        {**source, "bold": {"task": "rest"}, "runs": "all", "on_problem": "stop"}, ("MDD", "HC")
    )

    problems = series_problems(study, source, ["A", "B", "C"], ["A", "B", "C"])

    assert list(problems) == ["sub-02"]


def test_transposing_is_suggested_where_it_would_help_and_square_series_are_doubted(rng, study_of):
    shapes = {"1": (9, 4), "2": (4, 9), "3": (4, 4), "4": (9, 3)}
    np.savez("series.npz", **{name: rng.normal(size=shape) for name, shape in shapes.items()})
    study, source = study_of("series.npz")

    problems = series_problems(study, source, ROIS, SELECTED)

    assert list(problems) == ["sub-2", "sub-4"]
    assert "Transpose the array if its rows are the regions" in problems["sub-2"][0]
    assert problems["sub-2"][0].endswith(
        ". 1 series has as many volumes as regions, and may be transposed as well, although the "
        "shape does not show it"
    )
    assert "ranspose" not in problems["sub-4"][0]


def test_subjects_with_the_same_array_are_named_with_its_archive(rng, study_of):
    twin, flat = rng.normal(size=(9, 4)), np.zeros((9, 4))
    arrays = {"1": twin, "sub-2": rng.normal(size=(9, 4)), "3": twin, "4": rng.normal(size=(9, 4))}
    np.savez("series.npz", **arrays)
    with pytest.raises(CohortError, match=r"series\.npz: sub-1 and sub-3 have identical series"):
        refuse_same_series(study_of("series.npz")[0])

    np.savez_compressed("series.npz", **{**arrays, "1": flat, "3": flat})
    # Said of each by itself, when its values are read.
    refuse_same_series(study_of("series.npz")[0])


def test_a_label_that_groups_do_not_have_is_told_from_an_unknown_value():
    values = pd.Series(["1", "contrl", None])

    said = group_problems(values, pd.Series(["ASD", "contrl", None]), ("autism", "control"), "dx")

    assert said[0].startswith("dx '1' is mapped to 'ASD' in source.group_values, but groups are")
    assert "neither autism nor control (did you mean control?)" in said[1]
    assert said[2] == "dx is missing"


def test_subjects_are_listed_in_full_unless_most_have_a_problem():
    problems = {f"sub-{n}": ["has no array in x.npz"] for n in range(12)}

    few = describe_problems(problems, 100, "people.tsv", "Correct it.")
    most = describe_problems(problems, 20, "people.tsv", "Correct it.")

    assert "sub-10, sub-11: has no array" in few
    assert "  sub-0, sub-1, sub-2, sub-3, sub-4 and 7 more: has no array" in most


def test_a_table_that_is_not_there_is_refused_with_its_setting(tmp_path):
    source = {**COLUMNS, "participants": "nowhere.tsv", "series": "x.npz"}

    for further in ({}, {"group_values": {"1": "MDD"}}):
        with pytest.raises(CohortError, match=r"nowhere\.tsv: .* correct source\.participants"):
            read_series_study(source | further, ("MDD", "HC"))
