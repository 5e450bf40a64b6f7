"""Participants of any study come into one form, and sites without both groups are named."""

import pandas as pd
import pytest

from notears_pfl.errors import CohortError
from notears_pfl.study.participants import (
    meaning_of_groups,
    named_columns,
    refuse_blanks,
    sites_with_both_groups,
    standard_participants,
)


@pytest.fixture
def table():
    return pd.DataFrame(
        {
            "participant_id": ["sub-01", 2, "s_03"],
            "centre": ["MAX_MUN", "MAX_MUN", "PITT"],
            "dx": ["ASD", "TC", "TC"],
            "age": [10, 11, 12],
        }
    )


def test_ids_sites_and_groups_take_their_standard_form(table):
    subjects = standard_participants(table, "centre", "dx", "participants.tsv")

    assert subjects["participant_id"].tolist() == ["sub-01", "sub-2", "sub-s03"]
    assert subjects["site"].tolist() == ["MAXMUN", "MAXMUN", "PITT"]
    assert subjects["group"].tolist() == ["ASD", "TC", "TC"]
    assert subjects["age"].tolist() == [10, 11, 12]


def test_a_missing_column_is_named_beside_those_there_are(table):
    with pytest.raises(CohortError, match=r"participants\.tsv: column site is missing; .*centre"):
        standard_participants(table, "site", "dx", "participants.tsv")


def test_a_row_without_an_id_is_refused_by_its_number(table):
    table.loc[1, "participant_id"] = None

    with pytest.raises(CohortError, match=r"participants\.tsv: rows \[2\] have no participant_id"):
        standard_participants(table, "centre", "dx", "participants.tsv")


@pytest.mark.parametrize("blank", [None, float("nan"), "", "--"])
def test_a_blank_site_is_called_unknown(table, blank):
    table.loc[1, "centre"] = blank

    subjects = standard_participants(table, "centre", "dx", "participants.tsv")

    assert subjects["site"].tolist() == ["MAXMUN", "unknown", "PITT"]


@pytest.mark.parametrize("names", [("S-1", "S_1"), ("東京", "大阪"), ("東京", "東京")])
def test_sites_that_would_share_a_name_or_have_none_are_refused(table, names):
    table["centre"] = [names[row % 2] for row in range(len(table))]

    with pytest.raises(
        CohortError, match="only letters a to z and digits are kept; each needs a different name"
    ):
        standard_participants(table, "centre", "dx", "participants.tsv")


def test_a_blank_group_is_called_unknown(table):
    table.loc[1, "dx"] = None

    subjects = standard_participants(table, "centre", "dx", "participants.tsv")

    assert subjects["group"].tolist() == ["ASD", "unknown", "TC"]


def test_everyone_with_a_blank_is_named_where_blanks_are_refused(table):
    table.loc[0, "centre"] = None
    table.loc[[1, 2], "dx"] = None

    with pytest.raises(CohortError) as refusal:
        refuse_blanks(table, "centre", "dx", "participants.tsv")

    assert str(refusal.value).startswith("participants.tsv: these subjects have no site or no")
    assert str(refusal.value).splitlines()[1:] == ["  centre: sub-01", "  dx: 2, s_03"]


def test_of_two_columns_for_a_label_the_named_one_counts(table):
    table = table.assign(site="one", group="two")

    subjects = standard_participants(table, "centre", "dx", "participants.tsv")

    assert subjects.columns.tolist() == ["participant_id", "site", "group", "age"]
    assert subjects["site"].tolist() == ["MAXMUN", "MAXMUN", "PITT"]
    assert subjects["group"].tolist() == ["ASD", "TC", "TC"]


def test_site_and_group_may_stand_in_each_others_columns(table):
    swapped = table.rename(columns={"centre": "group", "dx": "site"})

    subjects = standard_participants(swapped, "group", "site", "participants.tsv")

    assert subjects["site"].tolist() == ["MAXMUN", "MAXMUN", "PITT"]
    assert subjects["group"].tolist() == ["ASD", "TC", "TC"]


def test_a_subject_in_two_rows_is_refused(table):
    twice = pd.concat([table, table.iloc[[0]]], ignore_index=True)

    with pytest.raises(CohortError, match=r"tsv: sub-01 appears in more than one row"):
        standard_participants(twice, "centre", "dx", "participants.tsv")


def test_several_subjects_in_two_rows_are_counted(table):
    twice = pd.concat([table, table], ignore_index=True)

    with pytest.raises(CohortError, match=r"sub-2, sub-s03 \(3 in all\) appear in more than one"):
        standard_participants(twice, "centre", "dx", "participants.tsv")


def test_a_site_with_one_group_is_left_out_with_a_line_that_says_so(table):
    subjects = standard_participants(table, "centre", "dx", "participants.tsv")

    sites, lines = sites_with_both_groups(subjects, ("ASD", "TC"), "participants.tsv")

    assert sites == ["MAXMUN"]
    assert lines == [
        "participants.tsv: site PITT is excluded: it has no ASD (patients). Its 1 subject is lost."
    ]


def test_groups_that_nobody_has_leave_no_site(table):
    subjects = standard_participants(table, "centre", "dx", "participants.tsv")

    sites, (line,) = sites_with_both_groups(subjects, ("MDD", "HC"), "participants.tsv")

    assert sites == []
    assert "no site has both groups, MDD and HC; the groups in the table are ASD, TC" in line
    assert "can only be preprocessed" in line


@pytest.fixture
def source():
    return {"id_column": "ID", "columns": {"AGE": "age"}}


def test_columns_get_the_names_that_the_settings_give(source):
    table = pd.DataFrame({"ID": ["7"], "participant_id": ["x"], "AGE": [30]})

    named = named_columns(table, source, "people.csv")

    assert named["participant_id"].tolist() == ["7"]
    assert named["age"].tolist() == [30]
    assert named_columns(table, {}, "people.csv").equals(table)


def test_columns_that_are_not_there_or_would_be_two_are_refused(source):
    with pytest.raises(CohortError, match=r"people\.csv: column ID, AGE is missing; .* has age\."):
        named_columns(pd.DataFrame({"age": [1]}), source, "people.csv")
    with pytest.raises(CohortError, match=r"gives the name age, which another column already has"):
        named_columns(pd.DataFrame({"ID": ["7"], "AGE": [1], "age": [1]}), source, "people.csv")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["sub-a1", "sub-A1", "s_03"], r"sub-a1, sub-A1 \(1 in all\) differ only by case"),
        (["sub-01", "x" * 300, "s_03"], r"has 300 letters a to z and digits, but 1 to 128"),
        (["sub-01", "sub-", "s_03"], r"participant_id 'sub-' has 0 letters"),
        (["sub-01", "\u00e9\u00e8", "s_03"], r"has 0 letters"),
    ],
)
def test_ids_that_make_no_names_of_files_are_refused(table, names, message):
    with pytest.raises(CohortError, match=r"participants\.tsv: .*" + message):
        standard_participants(
            table.assign(participant_id=names), "centre", "dx", "participants.tsv"
        )


@pytest.mark.parametrize("names", [("Pitt", "PITT"), ("Orl\u00e9ans", "Orle\u0301ans")])
def test_sites_that_differ_only_by_case_or_the_form_of_letters_are_refused(table, names):
    sites = table.assign(centre=[*names, names[0]])

    with pytest.raises(CohortError, match=r"become .* whatever the case"):
        standard_participants(sites, "centre", "dx", "participants.tsv")


def test_a_site_whose_name_is_too_long_is_refused(table):
    with pytest.raises(CohortError, match="has 300 characters; at most 64 are allowed"):
        standard_participants(table.assign(centre="x" * 300), "centre", "dx", "participants.tsv")


@pytest.mark.parametrize("columns", [("centre", "centre"), ("participant_id", "dx")])
def test_a_column_has_one_meaning(table, columns):
    with pytest.raises(CohortError, match="each need their own column"):
        standard_participants(table, *columns, "participants.tsv")


@pytest.mark.parametrize("group", ["asd", "A SD", "\uff21SD"])
def test_a_group_that_is_nearly_one_of_the_study_is_refused(table, group):
    subjects = standard_participants(table, "centre", "dx", "participants.tsv")
    subjects["group"] = ["ASD", "TC", group]

    with pytest.raises(CohortError, match=r"participants.tsv: the groups 'ASD', .* differ only by"):
        sites_with_both_groups(subjects, ("ASD", "TC"), "participants.tsv")


def test_the_values_of_both_groups_are_told_with_their_labels():
    groups = {"patients": "ASD", "controls": "controls"}
    source = {"group_column": "DX", "group_values": {1: "ASD", "3": "ASD", "2": "controls"}}

    assert meaning_of_groups(source, groups) == "groups: patients ASD (DX 1 or 3), controls (DX 2)"
    assert meaning_of_groups({"group_column": "g"}, groups) == (
        "groups: patients ASD (g ASD), controls (g controls)"
    )
