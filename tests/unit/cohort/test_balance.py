"""Standardised differences, computed by hand, and the table of them."""

import numpy as np
import pandas as pd
import pytest

from notears_pfl.cohort.balance import balance_table, standardised_difference, within_site_sd

GROUPS = ("MDD", "HC")
SUBJECTS = pd.DataFrame(
    [
        ("COI", "MDD", 30.0, "F", "discovery", ""),
        ("COI", "MDD", 50.0, "F", "validation", ""),
        ("COI", "HC", 20.0, "F", "discovery", ""),
        ("COI", "HC", 40.0, "M", "validation", ""),
        ("KUT", "MDD", 60.0, "M", "discovery", ""),
        ("KUT", "MDD", 64.0, "M", "discovery", ""),
        ("KUT", "MDD", None, "F", "validation", ""),
        ("KUT", "HC", 61.0, "M", "discovery", ""),
        ("KUT", "HC", 67.0, "F", "validation", ""),
        ("KUT", "HC", 90.0, "F", "", "no partner: none of 3 MDD at KUT is within 0.75 SD in age"),
        ("KUT", "HC", 99.0, "F", "", "motion: mean FD 0.90 > 0.5 mm"),
    ],
    columns=["site", "group", "age", "sex", "split", "exclusion"],
).assign(included=lambda table: table["exclusion"] == "")


def test_the_difference_of_one_site_is_that_of_the_means_over_the_mean_variance():
    values, patients = pd.Series([1.0, 5.0, 2.0, 3.0, 4.0]), pd.Series([True] * 2 + [False] * 3)

    d = standardised_difference(values, patients, pd.Series(["COI"] * 5))

    # Means 3 and 3, variances 8 and 1; then one more for every patient.
    assert d == 0
    moved = standardised_difference(values + patients, patients, pd.Series(["COI"] * 5))
    assert moved == pytest.approx(1 / np.sqrt(4.5))


def test_over_sites_differences_and_variances_are_pooled_within_sites():
    own = SUBJECTS[SUBJECTS["included"]]
    patients = own["group"] == "MDD"

    sd = within_site_sd(own["age"], patients, own["site"])
    d = standardised_difference(own["age"], patients, own["site"])

    # COI: 40 and 30, variances 200 and 200; KUT: 62 and 64, variances 8 and 18; weights 1 and 1.
    assert sd == pytest.approx(np.sqrt(((200 + 8) / 2 + (200 + 18) / 2) / 2))
    assert d == pytest.approx((10 - 2) / 2 / sd)


def test_the_pooled_difference_is_that_of_a_regression_on_group_and_site(rng):
    sites = pd.Series(np.repeat(["A", "B", "C"], [5, 9, 16]))
    patients = pd.Series(rng.uniform(size=30) < 0.4)
    values = pd.Series(rng.normal(size=30)) + sites.map({"A": 0, "B": 10, "C": 30})
    design = np.column_stack([patients, *(sites == s for s in "ABC")]).astype(float)

    slope = np.linalg.lstsq(design, values, rcond=None)[0][0]

    d = standardised_difference(values, patients, sites)
    assert d * within_site_sd(values, patients, sites) == pytest.approx(slope)


def test_groups_without_spread_differ_infinitely_or_not_at_all():
    patients, sites = pd.Series([True, True, False, False]), pd.Series(["COI"] * 4)

    assert standardised_difference(pd.Series([0.0, 0, 1, 1]), patients, sites) == -np.inf
    assert np.isnan(standardised_difference(pd.Series([1.0, 1, 1, 1]), patients, sites))
    assert np.isnan(standardised_difference(pd.Series([1.0, np.nan, 1, 2]), patients, sites))
    assert np.isnan(standardised_difference(pd.Series([np.nan] * 4), patients, sites))


def test_the_table_counts_subjects_and_missing_values_before_and_after_matching():
    table = balance_table(SUBJECTS, GROUPS, ["COI", "KUT"], ["age", "sex"])

    assert table["subjects"].unique().tolist() == [
        "before matching", "included", "discovery", "validation",
    ]  # fmt: skip
    assert len(table) == 4 * 3 * 2
    at = table.set_index(["subjects", "site", "variable"])
    before, after = (at.loc[s, "KUT", "age"] for s in ("before matching", "included"))
    assert before[["n_MDD", "missing_MDD", "n_HC", "missing_HC"]].tolist() == [2, 1, 3, 0]
    assert after[["n_MDD", "missing_MDD", "n_HC", "missing_HC"]].tolist() == [2, 1, 2, 0]
    # 62 against 61, 67 and 90 (mean 72 2/3, variance 234 1/3), then without the last.
    assert before["difference"] == pytest.approx((62 - 218 / 3) / np.sqrt((8 + 703 / 3) / 2))
    assert after["difference"] == pytest.approx(-2 / np.sqrt(13))
    assert after["unbalanced"]
    assert after["by_chance"] == pytest.approx(1.96 * np.sqrt(1 / 2 + 1 / 2))
    sex = at.loc["included", "all sites", "sex = F"]
    assert sex[["n_MDD", "n_HC"]].tolist() == [5, 4]
    assert np.isnan(at.loc["discovery", "COI", "age"]["difference"])
    assert not at.loc["discovery", "COI", "age"]["unbalanced"]


def test_without_matching_no_row_is_of_those_before_it():
    kept = SUBJECTS[~SUBJECTS["exclusion"].str.startswith("no partner")]

    table = balance_table(kept, GROUPS, ["COI", "KUT"], ["age"])

    assert "before matching" not in set(table["subjects"])
    assert len(table) == 3 * 3
    assert balance_table(kept, GROUPS, ["COI"], []).columns.tolist() == table.columns.tolist()
