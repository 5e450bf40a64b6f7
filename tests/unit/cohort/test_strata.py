"""Strata within which labels are permuted."""

import numpy as np
import pandas as pd
import pytest

from notears_pfl.cohort.strata import strata_of, strata_without_values
from notears_pfl.errors import CohortError

SUBJECTS = pd.DataFrame(
    {
        "site": ["A"] * 4 + ["B"] * 4,
        "sex": ["F", "M", "F", None, "M", "M", "F", "F"],
        "age": [20.0, 30, 40, 50, 60, 70, 80, np.nan],
    }
)


def test_without_columns_all_subjects_are_in_one_stratum():
    assert strata_of(SUBJECTS, []).tolist() == [0] * 8


def test_a_missing_value_is_a_stratum_of_its_own():
    strata = strata_of(SUBJECTS, ["sex"])

    assert len(set(strata)) == 3
    assert strata[3] not in np.delete(strata, 3)
    assert strata[0] == strata[2] == strata[6]


def test_numbers_are_cut_at_the_median_of_the_site():
    strata = strata_of(SUBJECTS, ["age"])

    assert strata[0] == strata[1] == strata[4] == strata[5]
    assert strata[2] == strata[3] == strata[6]
    assert strata[7] not in strata[:7]


def test_a_column_without_values_is_refused():
    with pytest.raises(CohortError, match="no values in column 'handedness'"):
        strata_of(SUBJECTS, ["handedness"])


def test_subjects_without_a_value_are_named():
    people = SUBJECTS.assign(participant_id=[f"sub-{i}" for i in range(8)])

    lines = list(strata_without_values(people, ["sex", "site", "age"]))

    assert len(lines) == 2
    assert lines[0].startswith(
        "evidence.strata: sex is unknown for 1 of 8 subjects (sub-3). Their labels are permuted"
    )
    assert "age is unknown for 1 of 8 subjects (sub-7)" in lines[1]
