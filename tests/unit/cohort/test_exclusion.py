"""Every subject gets an answer, and every exclusion a reason with its number."""

import numpy as np
import pandas as pd
import pytest

from notears_pfl.cohort.exclusion import Limits, exclusion_reasons

LIMITS = Limits(
    max_mean_fd_mm=0.5, max_share_fd_above=0.5, min_volumes=60, min_bold_t1w_agreement=0.02
)
GOOD = {
    "site": "COI", "group": "MDD", "not_enrolled": "", "failure": "", "mean_fd_mm": 0.2,
    "share_fd_above": 0.1, "n_volumes": 230, "bold_t1w_agreement": 0.7,
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, ""),
        ({"mean_fd_mm": 0.5}, ""),
        ({"mean_fd_mm": np.nan, "share_fd_above": np.nan}, ""),
        ({"failure": "bold.nii.gz: truncated", "mean_fd_mm": 9}, "failed: bold.nii.gz: truncated"),
        ({"not_enrolled": "no T1w image"}, "not enrolled: no T1w image"),
        ({"group": "BD"}, "group 'BD' is neither MDD nor HC"),
        ({"site": "KUT"}, "site KUT lacks one of the groups"),
        ({"mean_fd_mm": 0.62}, "motion: mean FD 0.62 > 0.5 mm"),
        ({"bold_t1w_agreement": np.nan}, ""),
        (
            {"bold_t1w_agreement": 0.0071},
            "registration: agreement of BOLD and T1w 0.007 < 0.02",
        ),
        ({"share_fd_above": 0.7}, "motion: share of volumes above 0.5 mm 70% > 50%"),
        ({"n_volumes": 40}, "too few volumes: 40 < 60"),
        (
            {"n_volumes": 4, "mean_fd_mm": 1},
            "motion: mean FD 1.00 > 0.5 mm; too few volumes: 4 < 60",
        ),
    ],
)  # fmt: skip
def test_a_subject_is_left_out_for_the_reasons_it_gives(change, reason):
    subjects = pd.DataFrame([GOOD, {**GOOD, **change}])

    assert exclusion_reasons(subjects, ("MDD", "HC"), ["COI"], LIMITS).tolist() == ["", reason]
