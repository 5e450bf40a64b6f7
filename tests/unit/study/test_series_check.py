"""Series that cannot be used, and groups and names that are not as written, are named at once."""

import numpy as np
import pandas as pd
import pytest

from notears_pfl.errors import TableError
from notears_pfl.io.series_files import series_outline
from notears_pfl.study.participants import renamings
from notears_pfl.study.series_check import series_problems, unknown_groups
from notears_pfl.study.timeseries import read_series_study

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
    assert "1 selected regions have no column (D)" in problems["sub-2"][0]


def test_an_outline_needs_the_header_alone(rng, tmp_path):
    whole, cut = tmp_path / "whole.npy", tmp_path / "cut.npy"
    np.save(whole, rng.normal(size=(50, 4)))
    cut.write_bytes(whole.read_bytes()[:128])

    assert series_outline(cut).shape == (50, 4)


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
