"""Tissues and bias are told apart."""

import numpy as np
import pytest

from notears_pfl.errors import SignalError
from notears_pfl.preproc.tissues import fit_tissues, tissue_probabilities

from .toy import toy_head

VOXEL_MM = np.full(3, 3.0)


def biased_head(rng):
    t1w, _, brain, tissues = toy_head()
    ramp = np.linspace(-0.25, 0.25, t1w.shape[1])[:, None] + np.linspace(-0.1, 0.1, t1w.shape[2])
    bias = np.exp(np.broadcast_to(ramp, t1w.shape))
    return bias * (t1w + 15 * rng.standard_normal(t1w.shape)), bias, brain, tissues


def test_a_planted_bias_is_recovered(rng):
    t1w, bias, brain, _ = biased_head(rng)

    found = fit_tissues(t1w, brain, VOXEL_MM).bias(t1w.shape)

    ratio = np.log(found / bias)[brain]
    assert np.std(ratio) < 0.35 * np.std(np.log(bias[brain]))


def test_tissues_of_a_biased_head_are_told_apart(rng):
    t1w, _, brain, tissues = biased_head(rng)
    model = fit_tissues(t1w, brain, VOXEL_MM)

    probabilities = tissue_probabilities((t1w / model.bias(t1w.shape))[brain], model)

    np.testing.assert_allclose(probabilities.sum(axis=0), 1, rtol=1e-5)
    pure = tissues[:, brain].max(axis=0) > 0.98
    right = probabilities.argmax(axis=0) == tissues[:, brain].argmax(axis=0)
    assert right[pure].mean() > 0.95
    assert model.converged


def test_priors_overrule_the_model_shares(rng):
    t1w, _, brain, _ = biased_head(rng)
    model = fit_tissues(t1w, brain, VOXEL_MM)
    between = np.exp([np.mean(model.means[1:])])

    towards_white = tissue_probabilities(between, model, np.array([[0.0], [0.01], [0.99]]))

    assert towards_white[2, 0] > tissue_probabilities(between, model)[2, 0]


@pytest.mark.parametrize(
    ("image", "found"),
    [
        (lambda brain, tissues: brain * 1.0, "percentile: 1, 1, 1"),
        (lambda brain, tissues: brain * (tissues.argmax(axis=0) + 1.0), "percentile: 1, 2, 3"),
        (lambda brain, tissues: brain * 0.0, r"found 0 voxels of 4 mm .*percentile: none"),
    ],
    ids=["mask", "labels", "empty"],
)
def test_an_image_without_three_tissues_is_refused(image, found):
    _, _, brain, tissues = toy_head()

    with pytest.raises(SignalError, match=rf"three clusters.*{found}.*give the T1w image itself"):
        # Voxels as large as those worked on: labels stay labels.
        fit_tissues(image(brain, tissues), brain, np.full(3, 4.0))
