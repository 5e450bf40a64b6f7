"""Every subject gets an answer, and every exclusion a reason with its number."""

from dataclasses import asdict, fields
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from notears_pfl.cohort.exclusion import CRITERIA, Limits, exclusion_reasons
from notears_pfl.preproc.cautions import LOOKS

LIMITS = Limits(
    max_mean_fd_mm=0.5, max_share_fd_above=0.5, min_volumes=60, min_bold_t1w_agreement=0.75
)
GOOD = {
    "site": "COI", "group": "MDD", "not_enrolled": "", "failure": "", "mean_fd_mm": 0.2,
    "share_fd_above": 0.1, "n_volumes": 230, "bold_t1w_agreement": 0.9,
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
            {"bold_t1w_agreement": 0.5571},
            "registration: agreement of BOLD and T1w 0.56 < 0.75",
        ),
        ({"share_fd_above": 0.7}, "motion: share of volumes above 0.5 mm 70% > 50%"),
        ({"n_volumes": 40}, "too few volumes: 40 < 60"),
        ({"brain_ml": 703.4}, "brain extraction: volume 703 < 900 ml"),
        ({"brain_ml": 2910.0}, "brain extraction: volume 2910 > 2700 ml"),
        ({"smallest_jacobian": 0.007}, "normalisation: smallest Jacobian 0.007 < 0.03"),
        (
            {"n_volumes": 4, "mean_fd_mm": 1},
            "motion: mean FD 1.00 > 0.5 mm; too few volumes: 4 < 60",
        ),
    ],
)  # fmt: skip
def test_a_subject_is_left_out_for_the_reasons_it_gives(change, reason):
    subjects = pd.DataFrame([GOOD, {**GOOD, **change}])

    assert exclusion_reasons(subjects, ("MDD", "HC"), ["COI"], LIMITS).tolist() == ["", reason]


def test_every_limit_excludes_and_lies_beyond_the_range_that_is_usual():
    names = {field.name for field in fields(Limits)}
    limits = Limits(max_mean_fd_mm=0.5, max_share_fd_above=0.5, min_volumes=60)

    assert {criterion.limit for criterion in CRITERIA} == names
    for criterion in CRITERIA:
        limit, look = getattr(limits, criterion.limit), LOOKS.get(criterion.column)
        below = criterion.limit.startswith("min_")
        beyond = limit - 0.01 if below else limit + 0.01
        assert criterion.reason(beyond, limits)
        assert criterion.reason(limit, limits) is None
        if look:
            assert limit < look.low if below else limit > look.high
            assert look.caution((limit + (look.low if below else look.high)) / 2)


def test_the_limits_are_those_of_the_configuration():
    config = yaml.safe_load((Path(__file__).parents[3] / "config/config.yaml").read_text())[
        "cohort"
    ]["limits"]
    required = {key: config[key] for key in ("max_mean_fd_mm", "max_share_fd_above", "min_volumes")}

    assert asdict(Limits(**required)) == config
