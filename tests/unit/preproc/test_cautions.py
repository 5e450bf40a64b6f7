"""Every figure of a report is judged or declared to need no judgement, and what is unusual told."""

import warnings

import pytest

from notears_pfl.errors import NotConvergedWarning
from notears_pfl.preproc.cautions import (
    DESCRIBED,
    LOOKS,
    TEXTS,
    unlisted_figures,
    with_cautions,
)

# A figure of each kind that is usual, and one on each side that is not.
VALUES = {
    "brain_ml": (1500.0, [703.0, 2910.0]),
    "head_agreement": (0.8, [0.3]),
    "surface_correction": (1.05, [0.7, 1.3]),
    "tissue_model_converged": (True, [False]),
    "template_agreement_affine": (0.6, [0.21]),
    "template_agreement": (0.8, [0.54]),
    "affine_volume": (1.0, [0.51, 1.45]),
    "smallest_jacobian": (0.3, [0.007, -0.4]),
    "non_steady_kept": (0, [1, 4]),
    "motion_converged": (True, [False]),
    "bold_t1w_converged": (True, [False]),
    "bold_t1w_agreement": (0.9, [0.55]),
    "brain_coverage": (0.95, [0.5]),
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
        found = with_cautions({"brain_ml": 703.4, "bold_t1w_agreement": 0.519})["cautions"]

    assert found == [
        "The brain has 703 ml (usual: 1150 to 2400): look at the subject's figures.",
        "Only a share of 0.52 of the white matter's surface shows the usual contrast in the BOLD "
        "image (usual: 0.78 or more): look at the subject's figures.",
    ]


def test_what_is_not_a_number_is_not_usual():
    assert LOOKS["template_agreement"].caution(float("nan")) is not None


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


def test_no_figure_is_listed_twice():
    names = [*LOOKS, *DESCRIBED, *TEXTS]

    assert len(names) == len(set(names))
