"""The T1w steps use the programs that were chosen, and ask them only for what is needed."""

import numpy as np
import pytest
from scipy.ndimage import distance_transform_edt

from notears_pfl.errors import SignalError
from notears_pfl.preproc.anatomy import anatomical_methods, prepare_anatomy
from notears_pfl.preproc.cautions import unlisted_figures
from notears_pfl.preproc.normalise import NormaliseOptions
from notears_pfl.preproc.resample import Grid, Normalisation, downsample
from notears_pfl.preproc.template import BrainTemplate, HeadTemplate

from .toy import toy_head


def in_place(t1w, affine, template, template_affine):
    """Stand for a normalisation of a brain that lies on the template already."""
    grid = Grid(template.shape, template_affine)
    return Normalisation(np.zeros((*grid.shape, 3), np.float32), grid, np.eye(4))


def refuse(*_):
    raise AssertionError("nobody should have been asked")


@pytest.fixture(scope="module")
def head():
    """Give a noisy toy head, its affine, brain and tissues, and itself as both templates."""
    t1w, affine, brain, tissues = toy_head()
    noisy = t1w + 40 * np.random.default_rng(3).standard_normal(t1w.shape)
    _, grey, white = tissues * brain
    inside, outside = (distance_transform_edt(m, sampling=[3.0] * 3) for m in (brain, ~brain))
    templates = (
        BrainTemplate(t1w * brain, grey, white, brain, affine),
        HeadTemplate(t1w.astype(np.float32), (inside - outside).astype(np.float32), affine),
    )
    return noisy, affine, brain, tissues, templates


OPTIONS, PROGRAMS = NormaliseOptions(), {"normalise": in_place}


def test_brain_tissues_and_quality_of_a_head(head):
    t1w, affine, brain, tissues, templates = head

    anatomy = prepare_anatomy(t1w, affine, *templates, OPTIONS, PROGRAMS)

    brightest = np.quantile(anatomy.t1w[anatomy.brain], 0.99)
    assert anatomy.grey_step() == pytest.approx(brightest / 128)

    overlap = 2 * np.count_nonzero(anatomy.brain & brain) / (anatomy.brain.sum() + brain.sum())
    assert overlap > 0.95
    assert not anatomy.quality["already_stripped"]
    assert anatomy.quality["template_agreement"] > 0.9
    assert anatomy.quality["smallest_jacobian"] == 1
    assert unlisted_figures(anatomy.quality) == []
    total = anatomy.tissues.sum(axis=0)
    assert np.all((np.abs(total - 1) < 1e-4) | (total == 0))
    # The mask has a margin of fluid that the toy does not count as brain.
    inside = downsample(brain.astype(np.float32), affine, anatomy.grid.voxel_mm[0])[0] > 0.5
    for found, true in zip(anatomy.tissues[1:], (tissues * brain)[1:], strict=True):
        expected, _ = downsample(true, affine, anatomy.grid.voxel_mm[0])
        assert np.corrcoef(found[inside], expected[inside])[0, 1] > 0.85


def test_no_engine_is_asked_to_extract_a_brain_that_comes_alone(head):
    t1w, affine, brain, _, templates = head
    programs = {**PROGRAMS, "brain": refuse}

    anatomy = prepare_anatomy(t1w * brain, affine, *templates, OPTIONS, programs)

    assert anatomy.quality["already_stripped"]
    assert np.mean(anatomy.brain == brain) > 0.99
    with pytest.raises(AssertionError, match="nobody should"):
        prepare_anatomy(t1w, affine, *templates, OPTIONS, programs)


def test_a_brain_on_a_background_of_nan_is_taken_for_an_extracted_one(head):
    t1w, affine, brain, _, templates = head
    masked = np.where(brain, t1w, np.nan)

    anatomy = prepare_anatomy(masked, affine, *templates, OPTIONS, PROGRAMS)

    assert anatomy.quality["already_stripped"]
    assert anatomy.quality["background_was_nan"]
    assert np.mean(anatomy.brain == brain) > 0.99
    assert np.isfinite(anatomy.t1w).all()
    told = anatomical_methods(OPTIONS, anatomy.quality, {})["brain"]
    assert "with zero for its missing background" in told


@pytest.mark.parametrize(
    ("where", "value", "message"),
    [
        ((31, 38, 33), np.nan, "1 of its 310992 voxels have none, 1 of them within the head"),
        ((31, 38, 33), np.inf, "1 of its 310992 voxels have none, 1 of them within the head"),
        ((0, 0, 0), np.nan, "0 of them within the head. Only the background of an extracted"),
        (..., np.nan, "310992 of its 310992 voxels have none"),
    ],
)
def test_other_values_that_are_not_finite_are_refused_with_counts(head, where, value, message):
    t1w, affine, _, _, templates = head
    spoilt = t1w.copy()
    spoilt[where] = value

    with pytest.raises(SignalError, match=message):
        prepare_anatomy(spoilt, affine, *templates, OPTIONS, PROGRAMS)


def test_the_chosen_engines_give_mask_and_tissues(head):
    t1w, affine, brain, _, templates = head

    def all_grey(image, _affine, inside):
        assert not image[~inside].any()
        return np.array([0.0, 1.0, 0.0])[:, None] * np.ones(np.count_nonzero(inside))

    programs = {**PROGRAMS, "brain": lambda *_: brain, "tissues": all_grey}

    anatomy = prepare_anatomy(t1w, affine, *templates, OPTIONS, programs)

    np.testing.assert_array_equal(anatomy.brain, brain)
    assert not anatomy.tissues[[0, 2]].any()
    assert anatomy.tissues[1].sum() * np.prod(anatomy.grid.voxel_mm) == pytest.approx(
        brain.sum() * 27, rel=0.05
    )


FOUND = {"already_stripped": False, "background_was_nan": False}


def test_the_methods_name_the_programs_that_ran_and_leave_our_own_steps():
    ours = anatomical_methods(OPTIONS, FOUND, {})
    programs = {"bias": "N4 of ANTs", "brain": "deepbet", "normalise": "SPM"}

    told = anatomical_methods(OPTIONS, FOUND, programs)

    assert told["brain"] == "The brain was extracted from the T1w image by deepbet."
    assert told["bias"].endswith("bias by N4 of ANTs.")
    assert "greedy" in ours["normalise"]
    assert "greedy" not in told["normalise"]
    assert told["tissues"] == ours["tissues"]
    assert "bias" not in ours
    segmented = anatomical_methods(OPTIONS, FOUND, {"tissues": "FAST of FSL"})["tissues"]
    assert segmented.endswith("grey and white matter were segmented by FAST of FSL.")


def test_the_methods_say_that_a_brain_came_extracted():
    told = anatomical_methods(OPTIONS, {**FOUND, "already_stripped": True}, {})

    assert "already skull-stripped and was used as it is" in told["brain"]
