"""Columns of the participants table as predictors."""

import numpy as np
import pandas as pd
import pytest

from notears_pfl.cohort.covariates import check_known, predictors, subjects_without_values
from notears_pfl.errors import CohortError

PEOPLE = pd.DataFrame(
    {
        "participant_id": [f"sub-{i}" for i in range(12)], "age": np.arange(12.0) + 20,
        "sex": ["F", "M"] * 6, "mixed": [31, "old"] * 6, "mean_fd_mm": 0.1,
        "name": list("abcdefghijkl"),
    }
)  # fmt: skip


def test_numbers_stay_and_two_categories_become_zero_and_one():
    table = predictors(PEOPLE, ["age", "sex", "mean_fd"], "people.tsv", "analysis.regress_on")

    assert list(table) == ["age", "sex = F", "mean_fd_mm"]
    assert table.loc["sub-1"].tolist() == [21, 0, 0.1]


def test_each_of_three_categories_is_compared_with_all_others():
    people = PEOPLE.assign(scanner=["A", "B", "C"] * 4)

    tested = predictors(people, ["scanner", "sex"], "people.tsv", "analysis.regress_on", every=True)
    beside = predictors(people, ["scanner"], "people.tsv", "analysis.regress_covariates")

    assert list(tested) == ["scanner = A", "scanner = B", "scanner = C", "sex = F"]
    assert tested["scanner = C"].tolist() == [0, 0, 1] * 4
    # Beside an intercept, the last would add nothing.
    assert list(beside) == ["scanner = A", "scanner = B"]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("mixed", r"people\.tsv: analysis\.regress_on needs numbers or categories in mixed; it "
                  r"has 6 numbers and 6 texts \('old' of sub-1\)\. Write n/a"),
        ("name", r"people\.tsv: analysis\.regress_on needs numbers, or at most 10 categories; "
                 r"name has 12 \(a, b, c, d, e, …\)\. Name another column"),
    ],
)  # fmt: skip
def test_text_that_is_no_category_is_refused(column, message):
    with pytest.raises(CohortError, match=message):
        predictors(PEOPLE, [column], "people.tsv", "analysis.regress_on")


def test_an_unknown_column_is_refused_with_the_setting_that_names_it():
    with pytest.raises(
        CohortError, match=r"people\.tsv: analysis\.regress_on names 'hamd', but there is no such"
    ):
        check_known(["hamd"], PEOPLE, "people.tsv", "analysis.regress_on")


def test_subjects_without_a_value_are_named():
    people = PEOPLE.assign(age=PEOPLE["age"].where(PEOPLE["age"] > 21))

    found = subjects_without_values(people, ["age", "sex"], "analysis.regress_on", "So what.")

    assert list(found) == [
        "analysis.regress_on: age is unknown for 2 of 12 subjects (sub-0, sub-1). So what."
    ]
