"""Smoothing equals SPM's under its name, nilearn's under the plain one."""

import nibabel as nib
import numpy as np
import pytest
from nilearn.image import smooth_img
from numpy.testing import assert_allclose

from notears_pfl.preproc.smooth import SmoothOptions, smooth


def test_spm_smoothing_of_an_impulse_equals_that_of_spm(reference_image):
    impulse, affine = reference_image("smooth_iso3_in")
    spm, _ = reference_image("smooth_iso3_spm6")
    voxel_mm = np.abs(np.diag(affine)[:3])

    smoothed = smooth(impulse, voxel_mm, 6.0, "spm")

    assert np.linalg.norm(smoothed - spm) < 0.001 * np.linalg.norm(spm)
    plain = smooth(impulse, voxel_mm, 6.0, "gaussian")
    assert np.linalg.norm(plain - spm) > 0.2 * np.linalg.norm(spm)


def test_plain_smoothing_equals_that_of_nilearn(rng):
    # nilearn mirrors at the faces; a margin of zeros leaves nothing to mirror.
    volume = np.pad(rng.normal(size=(12, 14, 10)), 8).astype(np.float32)
    affine = np.diag([3.0, 2.0, 4.0, 1.0])

    smoothed = smooth(volume, np.array([3.0, 2.0, 4.0]), 6.0, "gaussian")

    theirs = smooth_img(nib.Nifti1Image(volume, affine), 6.0).get_fdata()
    assert_allclose(smoothed, theirs, atol=1e-5)


@pytest.mark.parametrize("kernel", ["spm", "gaussian"])
def test_the_variance_of_a_smoothed_impulse_is_that_of_the_effective_width(kernel):
    impulse = np.zeros((61, 5, 5), dtype=np.float32)
    impulse[30, 2, 2] = 1

    profile = smooth(impulse, np.full(3, 3.0), 6.0, kernel).sum(axis=(1, 2))

    x = 3.0 * (np.arange(61) - 30)
    variance = np.sum(profile * x**2) / profile.sum()
    fwhm = SmoothOptions(6.0, kernel).effective_fwhm_mm(3.0)
    assert np.sqrt(8 * np.log(2) * variance) == pytest.approx(fwhm, rel=1e-3)


def test_smoothing_is_its_own_adjoint(rng):
    a, b = rng.normal(size=(2, 9, 10, 11)).astype(np.float32)
    voxel_mm = np.array([3.0, 3.0, 4.0])

    left = np.vdot(a, smooth(b, voxel_mm, 6.0, "spm"))

    assert left == pytest.approx(np.vdot(smooth(a, voxel_mm, 6.0, "spm"), b), rel=1e-4)
