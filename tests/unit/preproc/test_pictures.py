"""Slices show the right place, upright, with the outlines of what they should match."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from notears_pfl.geometry import centred_affine, grid_points, rigid_matrix, transform
from notears_pfl.preproc.pictures import PLANES, coregistration_slices, normalisation_slices
from notears_pfl.preproc.resample import Grid, Normalisation
from notears_pfl.preproc.template import BrainTemplate

from .toy import CENTRE_MM, toy_brain_radius, toy_tissues

SHAPE = (66, 78, 66)
AFFINE = centred_affine(SHAPE, np.full(3, 3.0), CENTRE_MM)
GRID = Grid(SHAPE, AFFINE)
POINTS = grid_points(SHAPE, AFFINE)
TO_BOLD = rigid_matrix(np.array([4.0, -3.0, 5.0, 0.1, 0.05, -0.1]))


def gradient_bold(axis):
    """Brightness that grows with the T1w coordinate along ``axis``, seen in BOLD space."""
    in_t1w = transform(np.linalg.inv(TO_BOLD), POINTS)
    return np.clip(500 + 3 * (in_t1w[axis] - CENTRE_MM[axis]), 0, None)


@pytest.fixture(scope="module")
def tissues():
    return toy_tissues(POINTS).astype(np.float32)


@pytest.mark.parametrize(
    ("axis", "plane", "along"),
    [(0, "axial", 2), (0, "coronal", 2), (1, "sagittal", 2), (1, "axial", 1), (2, "coronal", 1)],
)
def test_right_and_front_are_to_the_right_and_up(tissues, axis, plane, along):
    slices = coregistration_slices(gradient_bold(axis), AFFINE, TO_BOLD, tissues, GRID)

    middle = slices[plane][1, 30:-30, 30:-30].astype(float)
    change = np.diff(middle, axis=along - 1)
    # Rows run downwards: up is to smaller indices.
    assert (change.mean() > 0.1) if along == 2 else (change.mean() < -0.1)


def test_bold_is_shown_where_the_registration_puts_it(tissues):
    in_t1w = transform(np.linalg.inv(TO_BOLD), POINTS)
    bold = 700.0 * (toy_brain_radius(in_t1w) < 1)

    slices = coregistration_slices(bold, AFFINE, TO_BOLD, tissues, GRID)
    wrong = coregistration_slices(bold, AFFINE, np.eye(4), tissues, GRID)

    def overlap(found):
        shares = [np.mean(found[p][found[f"{p}_outline"] == 1] > 60) for p in PLANES]
        outside = [found[p][:, :4].mean() for p in PLANES]
        return min(shares), max(outside)

    assert overlap(slices)[0] > 0.9
    assert overlap(slices)[1] < 5
    assert overlap(wrong)[0] < 0.8


def test_slices_of_the_template_follow_the_normalisation():
    fluid, grey, white = toy_tissues(POINTS)
    brain = toy_brain_radius(POINTS) < 1
    t1w = np.tensordot([300, 650, 1000], [fluid, grey, white], axes=1) * brain
    template = BrainTemplate(t1w, grey, white, brain, AFFINE)
    shift = np.zeros((*SHAPE, 3), np.float32)
    shift[..., 1] = 9
    moved = np.roll(t1w, 3, axis=1)

    slices = normalisation_slices(moved, AFFINE, Normalisation(shift, GRID, np.eye(4)), template)

    white_shown = slices["axial"][slices["axial_outline"] == 2]
    assert slices["axial_mm"].tolist() == [-14, 10, 34]
    assert np.median(white_shown) > 180
    assert slices["axial"].dtype == slices["axial_outline"].dtype == np.uint8
    assert_allclose(slices["pixel_mm"], 2)
    brightness = normalisation_slices(
        moved, AFFINE, Normalisation(0 * shift, GRID, np.eye(4)), template
    )["axial"]
    assert np.abs(brightness.astype(float) - slices["axial"]).mean() > 5


def test_every_slice_has_an_outline_one_pixel_wide(tissues):
    slices = coregistration_slices(gradient_bold(0), AFFINE, TO_BOLD, tissues, GRID)

    for plane in PLANES:
        outline = slices[f"{plane}_outline"]
        assert outline.shape == slices[plane].shape
        assert (outline == 1).any(axis=(1, 2)).all()
        # No square of four pixels is all outline of the brain.
        edge = outline == 1
        square = edge[:, 1:, 1:] & edge[:, :-1, 1:] & edge[:, 1:, :-1] & edge[:, :-1, :-1]
        assert square.mean() < 0.001
