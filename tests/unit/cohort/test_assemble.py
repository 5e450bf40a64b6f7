"""Nobody vanishes: every participant ends up in a half or with a reason."""

import pandas as pd
import pytest

from notears_pfl.cohort.assemble import assemble_cohort
from notears_pfl.cohort.exclusion import Limits
from notears_pfl.errors import CohortError

GROUPS = ("MDD", "HC")
LIMITS = Limits(
    max_mean_fd_mm=0.5, max_share_fd_above=0.5, min_volumes=60, min_bold_t1w_agreement=0.02
)
GOOD = {
    "status": "ok", "n_volumes": 230, "mean_fd_power_mm": 0.2, "share_fd_power_mm_above_0.5": 0.1,
}  # fmt: skip


@pytest.fixture
def participants():
    rows = [(f"sub-{g}{i}", "COI", g, 20 + i) for g in GROUPS for i in range(6)]
    return pd.DataFrame(rows, columns=["participant_id", "site", "group", "age"])


@pytest.fixture
def reports(participants):
    return {name: dict(GOOD) for name in participants["participant_id"]}


def assemble(participants, reports):
    return assemble_cohort(participants, reports, GROUPS, ["COI"], LIMITS, 0.7, seed=1)


def test_everyone_is_in_a_half_or_has_a_reason(participants, reports):
    reports["sub-MDD0"] = {"status": "failed", "reason": "bold.nii.gz: truncated"}
    reports["sub-MDD1"]["mean_fd_power_mm"] = 0.9
    del reports["sub-HC5"]

    cohort = assemble(participants, reports).set_index("participant_id")

    assert cohort.index.tolist() == participants["participant_id"].tolist()
    assert cohort.loc["sub-MDD0", "exclusion"] == "failed: bold.nii.gz: truncated"
    assert cohort.loc["sub-MDD1", "exclusion"] == "motion: mean FD 0.90 > 0.5 mm"
    assert cohort.loc["sub-HC5", "exclusion"] == "failed: no scan was found"
    assert ((cohort["split"] != "") == cohort["included"]).all()
    assert cohort["included"].sum() == 9
    assert cohort.loc["sub-HC0", "mean_fd_mm"] == 0.2


def test_a_column_of_the_participants_never_replaces_a_figure_that_was_measured(
    participants, reports
):
    reports["sub-MDD0"]["mean_fd_power_mm"] = 3.0

    cohort = assemble(participants.assign(mean_fd_mm=0.1, n_volumes="unknown"), reports)

    assert cohort["mean_fd_mm"].tolist() == [3.0] + [0.2] * 11
    assert (cohort["n_volumes"] == 230).all()
    assert cohort["exclusion"][0] == "motion: mean FD 3.00 > 0.5 mm"


def test_where_nothing_was_measured_a_column_of_the_participants_counts(participants, reports):
    for report in reports.values():
        del report["mean_fd_power_mm"]
    displacement = ["0.9"] + ["0.3"] * 11

    cohort = assemble(participants.assign(mean_fd_mm=displacement), reports)

    assert cohort["mean_fd_mm"].tolist() == [0.9] + [0.3] * 11
    assert cohort["exclusion"][0] == "motion: mean FD 0.90 > 0.5 mm"
    with pytest.raises(
        CohortError, match=r"mean_fd_mm .* 1 subject has text \('low' of sub-MDD0\)"
    ):
        assemble(participants.assign(mean_fd_mm=["low"] + ["0.3"] * 11), reports)


def test_a_failed_registration_leaves_the_networks_and_an_unconverged_one_is_told(
    participants, reports
):
    reports["sub-MDD0"]["bold_t1w_agreement"] = 0.004
    reports["sub-MDD1"] |= {"bold_t1w_agreement": 0.62, "bold_t1w_converged": False}

    cohort = assemble(participants, reports).set_index("participant_id")

    assert cohort.loc["sub-MDD0", "exclusion"].startswith("registration: agreement of BOLD")
    assert cohort.loc["sub-MDD1", "included"]
    assert cohort.loc["sub-MDD1", "bold_t1w_agreement"] == 0.62
    assert cohort.loc["sub-MDD1", "bold_t1w_converged"] is False
    assert cohort.loc["sub-MDD2", "bold_t1w_converged"] is None


def test_a_site_whose_patients_are_all_excluded_is_named(participants, reports):
    for name in reports:
        if "MDD" in name:
            reports[name]["n_volumes"] = 10

    with pytest.raises(CohortError, match=r"site COI, group MDD: 0 included subjects"):
        assemble(participants, reports)


def test_cautions_stand_in_the_table_whole_and_exclude_nobody(participants, reports):
    reports["sub-MDD0"]["cautions"] = ["The brain has 703 ml.", "Motion did not converge."]
    reports["sub-MDD1"] = {"status": "failed", "reason": "bold.nii.gz: truncated"}

    cohort = assemble(participants, reports).set_index("participant_id")

    assert cohort.loc["sub-MDD0", "cautions"] == "The brain has 703 ml. Motion did not converge."
    assert cohort.loc["sub-MDD0", "included"]
    assert (cohort["cautions"].drop("sub-MDD0") == "").all()


def test_a_subject_whose_images_went_wrong_is_left_out_with_every_reason(participants, reports):
    reports["sub-HC2"] |= {
        "brain_ml": 703.0, "head_agreement": 0.31, "surface_correction": 0.66,
        "template_agreement_affine": 0.21, "template_agreement": 0.54, "affine_volume": 2.0,
        "smallest_jacobian": 0.007, "bold_t1w_agreement": 0.01, "brain_coverage": 0.44,
    }  # fmt: skip

    cohort = assemble(participants, reports).set_index("participant_id")

    assert not cohort.loc["sub-HC2", "included"]
    assert cohort["included"].sum() == 11
    for words in (
        "volume 703 < 900 ml", "head template 0.31", "surface 0.66", "affine 0.21", "template 0.54",
        "affine 2.00 > 1.4", "Jacobian 0.007", "BOLD and T1w 0.01 < 0.02", "brain 0.44 < 0.6",
    ):  # fmt: skip
        assert words in cohort.loc["sub-HC2", "exclusion"]
