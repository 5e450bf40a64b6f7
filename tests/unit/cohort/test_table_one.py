"""The flow counts everyone; table one compares patients with controls."""

import pandas as pd
import pytest

from notears_pfl.cohort.table_one import flow_table, table_one


@pytest.fixture
def subjects():
    return pd.DataFrame(
        [
            ("COI", "MDD", "", True, "discovery", 30, "F"),
            ("COI", "MDD", "", True, "validation", 50, "F"),
            ("COI", "MDD", "truncated", False, "", None, "M"),
            ("COI", "HC", "", True, "discovery", 20, "F"),
            ("COI", "HC", "", True, "validation", 40, "M"),
            ("COI", "HC", "", False, "", 90, "M"),
        ],
        columns=["site", "group", "failure", "included", "split", "age", "sex"],
    ).assign(not_enrolled=["", "", "", "", "", "no T1w image"])


def test_the_flow_counts_who_is_left_at_each_step(subjects):
    flow = flow_table(subjects).set_index(["site", "group"])

    assert flow.columns.tolist() == ["found", "preprocessed", "included", "discovery", "validation"]
    assert flow.loc[("COI", "MDD")].tolist() == [3, 2, 2, 1, 1]
    assert flow.loc[("COI", "HC")].tolist() == [3, 2, 2, 1, 1]


def test_the_flow_counts_those_of_unknown_group(subjects):
    subjects.loc[2, "group"] = None

    assert flow_table(subjects)["found"].sum() == len(subjects)


def test_table_one_gives_means_and_standardised_differences(subjects):
    table = table_one(subjects[subjects["included"]], ("MDD", "HC"), ["age", "sex"])

    age, female = table.to_dict("records")
    assert (age["variable"], age["n_MDD"], age["mean_MDD"], age["mean_HC"]) == ("age", 2, 40, 30)
    assert age["sd_MDD"] == pytest.approx(200**0.5)
    assert age["smd"] == pytest.approx(10 / 200**0.5)
    assert (female["variable"], female["mean_MDD"], female["mean_HC"]) == ("sex = F", 1, 0.5)


def test_a_difference_without_spread_is_undefined(subjects):
    same = subjects[subjects["included"]].assign(age=30)

    assert pd.isna(table_one(same, ("MDD", "HC"), ["age"])["smd"].iloc[0])


def test_table_one_of_no_variables_has_its_columns_and_no_rows(subjects):
    table = table_one(subjects, ("MDD", "HC"), [])

    assert table.columns.tolist() == table_one(subjects, ("MDD", "HC"), ["age"]).columns.tolist()
    assert table.empty
