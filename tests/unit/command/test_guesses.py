"""What the columns and groups of a table are taken for, and what is left to the user."""

import numpy as np
import pandas as pd
import pytest
import yaml

from notears_pfl.command.guesses import guess_columns, guess_groups
from notears_pfl.command.new import new_study
from notears_pfl.command.survey import survey
from notears_pfl.errors import DatasetError, TableError

ALL = ("mean_fd_mm", "age", "sex")
# Column, values by frequency, patients, controls, labels, and a word of the basis.
PAIRS = {
    "ABIDE": ("DX_GROUP", ["2", "1"], "1", "2", ("patients", "controls"), "ABIDE"),
    "ABIDE with blanks": ("dx_group", ["2.0", "1.0"], "1.0", "2.0", ("patients", "controls"), "AB"),
    "yes and no": ("patient", ["0", "1"], "1", "0", ("patients", "controls"), "0 is usually"),
    "two codes": ("group", ["4", "3"], "3", "4", ("patients", "controls"), "the lower number"),
    "words": ("group", ["TC", "ASD"], "ASD", "TC", ("ASD", "TC"), ""),
    "unknown words": ("group", ["alpha 1", "beta"], "alpha 1", "beta", ("alpha1", "beta"), "first"),
}


@pytest.mark.parametrize("case", PAIRS)
def test_the_patients_are_told_with_what_the_guess_rests_on(case):
    column, values, patients, controls, labels, basis = PAIRS[case]

    groups = guess_groups(column, {value: 40 - i for i, value in enumerate(values)})

    assert (groups.patients, groups.controls, groups.labels) == (patients, controls, labels)
    assert basis in groups.basis
    assert bool(basis) == bool(groups.basis)


def test_values_that_are_misspelt_or_rare_are_no_third_group():
    values = {"control": 80, "autism": 60, "Asperger": 20, "autistm": 6, "contrl": 1, "3": 1}

    groups = guess_groups("dx", values)

    assert groups.third == {"Asperger": 20}
    assert list(groups.doubtful) == ["autistm", "contrl", "3"]
    assert groups.doubtful["contrl"] == "contrl (1 subject): did you mean control?"
    assert groups.doubtful["autistm"].endswith("(6 subjects): did you mean autism?")
    assert groups.doubtful["3"] == "3 (1 subject): a misspelt autism or control?"


def test_a_rare_value_is_none_of_the_two_groups_where_two_others_are_frequent():
    groups = guess_groups("dx", {"MDD": 30, "depressed": 25, "HC": 1})

    assert {groups.patients, groups.controls} == {"MDD", "depressed"}
    assert "HC" in groups.doubtful


@pytest.mark.parametrize(
    ("columns", "named"),
    [
        (["func_mean_fd", "AGE_AT_SCAN", "SEX"], dict(zip(["func_mean_fd", "AGE_AT_SCAN", "SEX"],
                                                          ALL, strict=True))),
        (["MeanFD", "gender", "age"], {"MeanFD": "mean_fd_mm", "gender": "sex"}),
        (["mean_fd_mm", "mean_fd"], {}),
        (["fd_mean", "meanFD"], {"meanFD": "mean_fd_mm"}),
        (["func_perc_fd"], {}),
    ],
)  # fmt: skip
def test_columns_are_known_by_the_names_that_studies_give_them(columns, named):
    assert guess_columns(pd.DataFrame([["0.1"] * len(columns)], columns=columns), ALL) == named


def test_a_column_of_words_is_no_motion():
    table = pd.DataFrame({"mean_fd": ["0.1", "high"]})

    assert guess_columns(table, ALL) == {}


@pytest.fixture
def abide(tmp_path, monkeypatch):
    """Give a folder with series and a table as ABIDE's; the groups are 1 and 2."""
    monkeypatch.chdir(tmp_path)
    rows = [(f"P{i:02}", "AB"[i % 2], 1 + i // 20, 196, 0.05, 20) for i in range(40)]
    columns = ["FILE_ID", "SITE_ID", "DX_GROUP", "n_volumes", "func_mean_fd", "AGE_AT_SCAN"]
    (tmp_path / "data").mkdir()
    np.savez(tmp_path / "data/series.npz", **{row[0]: np.zeros((9, 116)) for row in rows})

    def write(change=lambda table: table):
        table = change(pd.DataFrame(rows, columns=columns))
        table.to_csv(tmp_path / "data/phenotypic.csv", index=False)
        return tmp_path / "data"

    return write


def test_the_groups_and_columns_of_abide_are_mapped_and_named(abide, tmp_path, capsys):
    code = new_study(abide(), tmp_path / "mine.yaml", None)

    told, text = capsys.readouterr().out, (tmp_path / "mine.yaml").read_text()
    settings = yaml.safe_load(text)
    assert code == 0
    assert "patients: DX_GROUP 1 (a guess: in ABIDE's tables, 1 is autism" in told
    assert "func_mean_fd as mean_fd_mm, AGE_AT_SCAN as age" in told
    assert "columns that are not used: n_volumes\n" in told
    assert settings["source"]["columns"] == {"func_mean_fd": "mean_fd_mm", "AGE_AT_SCAN": "age"}
    assert settings["source"]["group_values"] == {"1": "patients", "2": "controls"}
    assert settings["groups"] == {"patients": "patients", "controls": "controls"}
    assert "# CHECK which are the patients: DX_GROUP 1 is a guess" in text


def test_a_misspelt_group_is_left_to_be_corrected(abide, tmp_path, capsys):
    def misspell(table):
        words = table["DX_GROUP"].map({1: "autism", 2: "control"})
        return table.assign(DX_GROUP=words.where(table.index != 25, "contrl"))

    code = new_study(abide(misspell), tmp_path / "mine.yaml", None)

    told, text = capsys.readouterr().out, (tmp_path / "mine.yaml").read_text()
    assert code == 1
    assert told.count("contrl (1 subject): did you mean control?") == 1
    assert "sub-P25: DX_GROUP is 'contrl'" in told
    assert "# CHECK contrl (1 subject): did you mean control?" in text
    assert "other" not in (yaml.safe_load(text)["source"].get("group_values") or {}).values()


def test_a_third_group_is_left_out_and_counted(abide, tmp_path, capsys):
    new_study(
        abide(lambda t: t.assign(DX_GROUP=t["DX_GROUP"].where(t.index % 4 > 0, 3))),
        tmp_path / "mine.yaml", None,
    )  # fmt: skip

    text = (tmp_path / "mine.yaml").read_text()
    assert "3 (10 subjects): left out as a group of its own" in capsys.readouterr().out
    assert "# CHECK 3 (10 subjects): left out" in text
    assert yaml.safe_load(text)["source"]["group_values"]["3"] == "other"


def test_a_column_of_groups_may_have_any_name_and_is_suggested(abide, tmp_path, capsys):
    folder = abide(lambda table: table.rename(columns={"DX_GROUP": "Label"}))

    assert new_study(folder, tmp_path / "mine.yaml", None) == 1

    told = capsys.readouterr().out
    assert "groups: no column is called group, dx_group, diagnosis" in told
    assert "columns: FILE_ID, SITE_ID, Label, n_volumes" in told
    assert "column group is missing; the table has" in told
    assert "name yours: source.site_column, source.group_column" in told
    text = (tmp_path / "mine.yaml").read_text()
    assert (
        "# CHECK: name the column that says who is a patient; of few values: Label (1, 2)" in text
    )


def test_a_table_of_semicolons_is_called_one(abide):
    folder = abide()
    table = folder / "phenotypic.csv"
    table.write_text(table.read_text().replace(",", ";").replace(".", ","))

    with pytest.raises(TableError, match=r"phenotypic\.csv: the columns are separated by semicol"):
        survey(folder)


def test_a_file_in_place_of_a_folder_is_called_one(abide):
    folder = abide()

    with pytest.raises(DatasetError, match=rf"series\.npz: this is a file, .* it: {folder}$"):
        survey(folder / "series.npz")
