"""ROI means of smoothed data, with the field of view respected."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose

from notears_pfl.preproc.smooth import smooth
from notears_pfl.roi.extract import roi_coverage, roi_methods, roi_weights

SMOOTH = partial(smooth, voxel_mm=np.full(3, 3.0), fwhm_mm=6.0, kernel="spm")


@pytest.fixture
def labels():
    """Give two regions of a small volume, numbered out of order."""
    volume = np.zeros((16, 15, 14), dtype=int)
    volume[3:8, 4:9, 4:9] = 7
    volume[9:13, 5:10, 5:9] = 2
    return volume


def test_weights_give_the_means_of_the_volume(labels, rng):
    volume = rng.normal(size=labels.shape)

    weights = roi_weights(labels, [2, 7], np.ones(labels.shape, bool), np.asarray)

    assert_allclose(np.tensordot(weights, volume, 3), [volume[labels == c].mean() for c in (2, 7)])


def test_smoothed_weights_give_the_means_of_the_smoothed_volume(labels, rng):
    # Far from the faces, so that nothing is divided by the reach of the kernel.
    labels = np.pad(labels, 10)
    volume = rng.normal(size=labels.shape)

    weights = roi_weights(labels, [2, 7], np.ones(labels.shape, bool), SMOOTH)

    expected = [SMOOTH(volume)[labels == code].mean() for code in (2, 7)]
    assert_allclose(np.tensordot(weights, volume, 3), expected, atol=1e-6)
    assert np.abs(expected - np.array([volume[labels == c].mean() for c in (2, 7)])).min() > 1e-3


def test_the_void_outside_the_field_of_view_does_not_darken_a_region(labels):
    covered = np.ones(labels.shape, bool)
    covered[:6] = False
    volume = np.where(covered, 100.0, 0.0)

    weights = roi_weights(labels, [2, 7], covered, SMOOTH)

    assert_allclose(np.tensordot(weights, volume, 3), 100, rtol=1e-4)
    assert not weights[:, :6].any()


def test_coverage_is_the_share_of_voxels_in_view(labels):
    covered = np.ones(labels.shape, bool)
    covered[:6] = False

    assert_allclose(roi_coverage(labels, [2, 7], covered), [1, 2 / 5])


def test_the_methods_name_the_atlas_and_warn_where_it_is_in_another_space_or_in_an_unknown_one():
    same = roi_methods("the X atlas, from x.nii", "MNI152NLin6Asym", "MNI152NLin6Asym")
    aal = roi_methods("AAL", "MNIColin27", "MNI152NLin6Asym")
    other = roi_methods("the X atlas", "MNI152NLin6Asym", "MNI152NLin2009aSym")
    unknown = roi_methods("the X atlas", "", "MNI152NLin2009aSym")

    assert list(same) == ["roi"]
    assert "each region (the X atlas, from x.nii)." in same["roi"]
    assert (
        "drawn on the Colin27 brain (MNIColin27) and was not registered to MNI152NLin6Asym"
        in (aal["space"])
    )
    assert (
        "drawn in the space MNI152NLin6Asym and was not registered to MNI152NLin2009aSym"
        in (other["space"])
    )
    assert "the space MNI152NLin2009aSym; that of the atlas was not stated" in unknown["space"]
