"""Series of subjects found by their names, whatever else lies beside them."""

from pathlib import Path

import pandas as pd
import pytest
import yaml

from notears_pfl.command.new import new_study
from notears_pfl.command.study import plan_of
from notears_pfl.command.survey import survey
from notears_pfl.errors import DatasetError, TableError


def test_files_may_be_named_by_a_column_in_which_subjects_without_a_file_share_a_word(tmp_path):
    """As in the release of ABIDE, whose SUB_ID stands in the names with leading zeros."""
    files = tmp_path / "Outputs/cpac"
    files.mkdir(parents=True)
    rows = [(i, 50003 + i, "PITT", f"Pitt_00{50003 + i}", 1 + i % 2) for i in range(4)]
    for *_, name, _ in rows:
        (files / f"{name}_rois_aal.1D").write_text("1 2 3\n")
    rows += [(4 + i, 50010 + i, "PITT", "no_filename", 1 + i) for i in range(2)]
    columns = ["", "SUB_ID", "SITE_ID", "FILE_ID", "DX_GROUP"]
    pd.DataFrame(rows, columns=columns).to_csv(tmp_path / "phenotypes.csv", index=False)

    found = survey(tmp_path)

    assert (found.id_column, found.site_column, len(found.table)) == ("SUB_ID", "SITE_ID", 6)
    assert found.series == str(files / "{FILE_ID}_rois_aal.1D")


def write_series(folder, table, files):
    """Write a table of four subjects at two sites, and series."""
    folder.mkdir(exist_ok=True)
    people = pd.DataFrame(table | {"diagnosis": ["P", "HC"] * 2, "site": ["A", "A", "B", "B"]})
    people.to_csv(folder / "people.csv", index=False)
    for name in files:
        (folder / name).write_text("1 2 3\n")


WHO = [f"P0{i}" for i in (7, 8, 9, 10)]
NUMBERS = {
    "a run": ("no", [1, 2, 3, 4], [f"{who}_run-1.1D" for who in WHO]),
    "runs of all": ("no", [1, 2, 3, 4], [f"{who}_run-{n}.1D" for who in WHO for n in (1, 2, 3, 4)]),
    "a session": ("age", [7, 8, 12, 15], [f"{who}_session_7.1D" for who in WHO]),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_a_number_that_is_also_in_the_names_of_files_is_not_taken_for_the_subject(tmp_path, case):
    column, numbers, files = NUMBERS[case]
    write_series(tmp_path, {column: numbers, "name": WHO}, files)

    found = survey(tmp_path)

    assert found.id_column == "name"
    assert Path(found.series).name == files[0].replace("P07", "{participant_id}")


def test_a_column_with_a_blank_in_its_name_may_name_the_files(here, tmp_path):
    ids = {"SUB_ID": [1, 2, 3, 4], "FILE ID": ["x7", "x8", "no_filename", "no_filename"]}
    write_series(tmp_path / "data", ids, ["x7_rois.1D", "x8_rois.1D"])

    new_study(tmp_path / "data", here / "mine.yaml", None)

    text = (here / "mine.yaml").read_text()
    settings = yaml.safe_load(text)["source"]
    assert settings["series"] == str(tmp_path / "data/{FILE ID}_rois.1D")
    (here / "mine.yaml").write_text(text.replace("on_problem: stop", "on_problem: exclude"))
    assert plan_of(here / "mine.yaml").subjects == ["1", "2"]


def test_one_file_with_the_name_of_a_subject_may_have_it_by_chance(tmp_path):
    ids = {"participant_id": [1, 2, 3, 4]}
    write_series(tmp_path, ids, ["atlas_2.1D"])

    with pytest.raises(DatasetError, match=r"no data that the workflow reads"):
        survey(tmp_path)


def test_tables_about_something_else_and_damaged_archives_are_passed_over(tmp_path):
    people = {"participant_id": [f"P{i}" for i in range(4)]}
    write_series(tmp_path, people, [f"P{i}.1D" for i in range(4)])
    (tmp_path / "notes.csv").write_text("status,what\ndone,scans, and more\n")
    (tmp_path / "old.npz").write_bytes(b"PK?")

    assert survey(tmp_path).participants == tmp_path / "people.csv"


@pytest.mark.parametrize("is_named", [True, False])
def test_the_only_table_beside_series_must_be_readable(tmp_path, is_named):
    table = tmp_path / "people.csv"
    table.write_text("participant_id,group\nP1,MDD,?\n")
    (tmp_path / "P1.1D").write_text("1 2 3\n")

    with pytest.raises(TableError, match=r"people\.csv: cannot be read as a table \(row 1 has 3"):
        survey(tmp_path, table if is_named else None)
