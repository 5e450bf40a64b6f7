"""Every figure of a report is judged or declared to need no judgement, and what is unusual told."""

import warnings

import numpy as np
import pytest

from notears_pfl.errors import NotConvergedWarning
from notears_pfl.preproc.cautions import (
    DESCRIBED,
    JUDGED_BY,
    LOOKS,
    TEXTS,
    is_usual,
    unlisted_figures,
    with_cautions,
)

# A figure of each kind that is usual, and one on each side that is not.
VALUES = {
    "brain_ml": (1500.0, [703.0, 2171.0]),
    "tissue_model_converged": (True, [False]),
    "template_agreement_affine": (0.6, [0.21]),
    "template_agreement": (0.8, [0.54]),
    "normalisation_affine": (np.eye(4).tolist(), [np.diag([0.8, 0.8, 0.8, 1]).tolist(),
                                                  np.diag([1.1, 1.1, 1.2, 1]).tolist()]),
    "smallest_jacobian": (0.3, [0.007, -0.4]),
    "motion_converged": (True, [False]),
    "bold_t1w_converged": (True, [False]),
    "bold_t1w_agreement": (0.3, [0.019]),
}  # fmt: skip


@pytest.mark.parametrize("name", LOOKS)
def test_an_unusual_figure_gives_one_caution_and_a_usual_or_missing_one_none(name):
    usual, unusual = VALUES[name]

    assert with_cautions({name: usual})["cautions"] == []
    assert with_cautions({name: None})["cautions"] == []
    for value in unusual:
        with pytest.warns(UserWarning, match="look at the subject's figures"):
            cautions = with_cautions({"status": "ok", name: value})["cautions"]
        assert len(cautions) == 1
        assert "{" not in cautions[0]


def test_a_caution_tells_the_figure_and_what_is_usual():
    with pytest.warns(UserWarning, match="usual: "):
        found = with_cautions({"brain_ml": 703.4, "bold_t1w_agreement": 0.0191})["cautions"]

    assert found == [
        "The brain has 703 ml (usual: 1150 to 2150): look at the subject's figures.",
        "The T1w image's tissues explain a share of 0.019 of the mean BOLD image (usual: 0.1 or "
        "more): look at the subject's figures.",
    ]


def test_both_agreements_with_the_template_are_judged_where_a_report_has_two():
    with pytest.warns(UserWarning, match="correlates with the template"):
        both = with_cautions({"template_agreement": {"affine": 0.21, "diffeomorphic": 0.54}})

    assert [c.split(" (usual")[0].split()[-1] for c in both["cautions"]] == ["0.21", "0.54"]


def test_a_flag_says_what_the_figure_that_it_sums_up_says():
    for flag, name in JUDGED_BY.items():
        usual, unusual = VALUES[name]
        assert flag not in LOOKS
        assert is_usual(name, usual)
        assert not any(is_usual(name, value) for value in unusual)


def test_what_is_not_a_number_is_not_usual():
    assert not is_usual("template_agreement", float("nan"))


def test_cautions_of_earlier_steps_are_kept_and_told_once():
    with pytest.warns(NotConvergedWarning, match="head motion did not converge"):
        once = with_cautions({"motion_converged": False, "cautions": ["Of the T1w image."]})

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        twice = with_cautions(once)

    assert len(once["cautions"]) == 2
    assert twice == once


def test_a_figure_that_nobody_has_judged_is_found():
    report = {"status": "ok", "n_volumes": 3, "mask_touches_edge": True, "fit": 0.2}

    assert unlisted_figures(report) == ["mask_touches_edge", "fit"]
    assert unlisted_figures({"template_agreement": {"rigid": 0.2}}) == ["template_agreement_rigid"]


def test_no_figure_is_listed_twice():
    names = [*LOOKS, *JUDGED_BY, *DESCRIBED, *TEXTS]

    assert len(names) == len(set(names))
