"""Tissues and bias are told apart."""

import numpy as np
import pytest

from notears_pfl.errors import SignalError
from notears_pfl.preproc.tissues import (
    TissueModel,
    fit_tissues,
    refit_tissues,
    tissue_probabilities,
)

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


def test_priors_find_tissues_that_intensities_alone_confuse(rng):
    # As in real heads: many voxels between fluid and grey matter, and grey and white matter close.
    true = np.log([80.0, 225.0, 275.0])
    tissue = rng.choice(3, size=30_000, p=[0.3, 0.4, 0.3])
    logs = true[tissue] + np.array([0.35, 0.12, 0.07])[tissue] * rng.standard_normal(tissue.size)
    priors = np.where(tissue == np.arange(3)[:, None], 0.7, 0.15)
    confused = TissueModel(
        means=np.log([70.0, 150.0, 250.0]),
        deviations=np.array([0.3, 0.2, 0.14]),
        shares=np.array([0.2, 0.2, 0.6]),
        coefficients=np.zeros(1),
        n_waves=(1, 1, 1),
        converged=True,
    )

    model = refit_tissues(confused, np.exp(logs), priors)

    np.testing.assert_allclose(np.exp(model.means), np.exp(true), rtol=0.04)
    np.testing.assert_allclose(model.shares, [0.3, 0.4, 0.3], atol=0.05)
    right, wrong = (
        np.mean(tissue_probabilities(np.exp(logs), m).argmax(axis=0) == tissue)
        for m in (model, confused)
    )
    assert right > wrong + 0.15
    assert model.converged


def test_the_bias_is_the_exponential_of_its_waves():
    model = TissueModel(
        means=np.zeros(3),
        deviations=np.ones(3),
        shares=np.full(3, 1 / 3),
        # Degrees (0, 0, 0), (0, 1, 0) and (1, 0, 0), in this order.
        coefficients=np.array([0.1, 0.2, -0.3]),
        n_waves=(2, 2, 1),
        converged=True,
    )
    shape = (40, 30, 20)

    found = model.bias(shape)

    x, y = (np.cos(np.pi * (np.arange(n) + 0.5) / n) for n in shape[:2])
    expected = np.exp(0.1 + 0.2 * y[None, :] - 0.3 * x[:, None])
    np.testing.assert_allclose(found, np.broadcast_to(expected[..., None], shape), rtol=1e-5)
    assert found.dtype == np.float32
