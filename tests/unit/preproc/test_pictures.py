"""Slices show the right place, upright, with the outlines of what they should match."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.ndimage import binary_fill_holes, distance_transform_edt

from notears_pfl.geometry import centred_affine, grid_points, rigid_matrix, transform
from notears_pfl.preproc.pictures import (
    PLANES,
    brain_slices,
    coregistration_slices,
    normalisation_slices,
)
from notears_pfl.preproc.resample import Grid, Normalisation
from notears_pfl.preproc.template import BrainTemplate

from .toy import CENTRE_MM, toy_brain_radius, toy_head, toy_tissues

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

    middle = slices[plane][1, 60:-60, 60:-60].astype(float)
    change = np.diff(middle, axis=along - 1)
    # Rows run downwards: up is to smaller indices.
    assert (change.mean() > 0.1) if along == 2 else (change.mean() < -0.1)


def test_bold_is_shown_where_the_registration_puts_it(tissues):
    in_t1w = transform(np.linalg.inv(TO_BOLD), POINTS)
    bold = 700.0 * (toy_brain_radius(in_t1w) < 1)

    slices = coregistration_slices(bold, AFFINE, TO_BOLD, tissues, GRID)
    wrong = coregistration_slices(bold, AFFINE, np.eye(4), tissues, GRID)

    def wrong_share(found):
        """Share of the pixels 3 to 6 mm from the outline that are dark inside or bright outside."""
        shares = []
        for plane in PLANES:
            for image, outline in zip(found[plane], found[f"{plane}_outline"] == 1, strict=True):
                inside = binary_fill_holes(outline)
                distance = distance_transform_edt(~outline)
                near = (distance > 3) & (distance < 6)
                shares.append(np.mean((image > 60)[near] != inside[near]))
        return max(shares)

    assert wrong_share(slices) < 0.01
    assert wrong_share(wrong) > 0.1


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
    assert np.median(white_shown) > 150
    assert slices["axial"].dtype == slices["axial_outline"].dtype == np.uint8
    assert_allclose(slices["pixel_mm"], 1)
    brightness = normalisation_slices(
        moved, AFFINE, Normalisation(0 * shift, GRID, np.eye(4)), template
    )["axial"]
    assert np.abs(brightness.astype(float) - slices["axial"]).mean() > 5


# The middle of a head that lies off the centre of its image, whole millimetres.
OFF_CENTRE_MM = np.array([14.0, -39.0, 23.0])
# A capsule taped to the left temple, on the scalp.
CAPSULE_MM = OFF_CENTRE_MM + np.array([-72.0, 2.0, 2.0])


@pytest.fixture(scope="module")
def head_slices():
    """Show a head far from the centre of its field of view, with a capsule on its left."""
    shape = (80, 96, 80)
    affine = centred_affine(shape, np.full(3, 3.0), np.zeros(3))
    points = grid_points(shape, affine)
    moved = points - (OFF_CENTRE_MM - CENTRE_MM).reshape(3, 1, 1, 1)
    t1w, _, brain, tissues = toy_head(points=moved, shape=shape)
    capsule = np.linalg.norm(points - CAPSULE_MM.reshape(3, 1, 1, 1), axis=0) < 6
    return brain_slices(t1w + 5000.0 * capsule, affine, brain, tissues, Grid(shape, affine))


def pixel_points(slices, plane, k, middle_mm=OFF_CENTRE_MM):
    """World coordinates (3, rows, columns) of a slice's pixels, from what the format promises."""
    across, along_columns, along_rows = PLANES[plane]
    _, n_rows, n_columns = slices[plane].shape
    points = np.empty((3, n_rows, n_columns))
    points[across] = slices[f"{plane}_mm"][k]
    points[along_columns] = middle_mm[along_columns] + np.arange(n_columns) - n_columns // 2
    points[along_rows] = (middle_mm[along_rows] - np.arange(n_rows) + n_rows // 2)[:, None]
    return points


@pytest.mark.parametrize("plane", PLANES)
def test_the_outline_of_the_brain_lies_on_the_edge_of_the_mask(head_slices, plane):
    for k in range(3):
        points = pixel_points(head_slices, plane, k)
        from_centre = points - (OFF_CENTRE_MM - CENTRE_MM).reshape(3, 1, 1)
        radius = toy_brain_radius(from_centre)
        outline = head_slices[f"{plane}_outline"][k] == 1

        # The mask's voxels have 3 mm, and so the edge is known to about 2 mm.
        assert np.abs(radius[outline] - 1).max() < 2.5 / 60
        found = binary_fill_holes(outline).sum()
        assert found == pytest.approx((radius < 1).sum(), rel=0.04)


@pytest.mark.parametrize(("plane", "k"), [("axial", 1), ("coronal", 1)])
def test_a_capsule_on_the_left_temple_is_shown_there(head_slices, plane, k):
    points = pixel_points(head_slices, plane, k)
    near = np.linalg.norm(points - CAPSULE_MM.reshape(3, 1, 1), axis=0) < 4

    image = head_slices[plane][k].astype(float)

    assert near.any()
    assert image[near].min() == 255
    rows, columns = np.nonzero(near)
    assert columns.max() < image.shape[1] / 3
    # There is none on the right.
    assert image[rows, image.shape[1] - 1 - columns].max() < 250


@pytest.mark.parametrize("plane", ["axial", "coronal"])
def test_the_whole_scalp_is_in_the_picture(head_slices, plane):
    image = head_slices[plane][1]
    points = pixel_points(head_slices, plane, 1)
    radius = toy_brain_radius(points - (OFF_CENTRE_MM - CENTRE_MM).reshape(3, 1, 1))

    scalp = (radius > 1.21) & (radius < 1.27)

    assert (image[scalp] > 150).mean() > 0.95
    assert image[:, [0, -1]].max() < 40


def test_white_and_grey_matter_of_a_mean_bold_image_are_told_apart(tissues):
    """In BOLD they differ by a tenth or so: the full range, from zero, would give 21 of 255."""
    fluid, grey, white = tissues
    bold = 1000 * fluid + 800 * grey + 700 * white

    slices = coregistration_slices(bold, AFFINE, np.eye(4), tissues, GRID)

    shares = toy_tissues(pixel_points(slices, "axial", 1, CENTRE_MM))
    image = slices["axial"][1].astype(float)
    grey_level, white_level = (np.median(image[share > 0.95]) for share in shares[1:])
    assert 25 < grey_level - white_level < 60
    assert white_level > 60


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
