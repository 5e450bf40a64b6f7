"""BOLD is found in T1w space whatever its contrast, near and far."""

import numpy as np
import pytest

from notears_pfl.geometry import centred_affine, grid_points, rigid_matrix, transform
from notears_pfl.preproc.coregister import CoregisterOptions, boundary_agreement, coregister
from notears_pfl.preproc.resample import Grid

from .toy import CENTRE_MM, left_handed, toy_head, toy_tissues


@pytest.fixture(scope="module")
def t1w_tissues():
    """Give the tissues of the toy head, their grid and its brain mask."""
    _, affine, brain, tissues = toy_head()
    return tissues, Grid(brain.shape, affine), brain


def bold_of(matrix, brightness, rng):
    """Give the BOLD image whose coordinates ``matrix`` takes those of T1w to."""
    shape = (50, 56, 40)
    affine = centred_affine(shape, np.array([3.5, 3.5, 4.0]), CENTRE_MM)
    shares = toy_tissues(transform(np.linalg.inv(matrix), grid_points(shape, affine)))
    image = np.tensordot(brightness, shares, axes=1)
    return image + 0.02 * rng.standard_normal(shape), affine


def as_it_is(image, affine):
    return image, affine


@pytest.mark.parametrize(
    ("parameters", "brightness", "stored"),
    [
        ([2.0, -3.0, 1.5, 0.03, -0.02, 0.04], [1.3, 1.0, 0.8], as_it_is),
        ([-6.0, 5.0, 4.0, -0.08, 0.06, -0.05], [0.6, 1.0, 1.3], left_handed),
        ([35.0, -25.0, 40.0, 0.05, 0.02, -0.03], [1.3, 1.0, 0.8], as_it_is),
    ],
)
def test_planted_motion_between_the_scans_is_found(
    t1w_tissues, parameters, brightness, stored, rng
):
    tissues, grid, brain = t1w_tissues
    matrix = rigid_matrix(np.array(parameters))
    bold, affine = stored(*bold_of(matrix, brightness, rng))

    found = coregister(bold, affine, tissues, grid, CoregisterOptions())

    points = grid.points()[:, brain.ravel()][:, ::100]
    error = np.linalg.norm(transform(found.matrix, points) - transform(matrix, points), axis=0)
    assert error.mean() < 0.3
    assert found.agreement > 0.9


def test_agreement_is_near_one_half_for_another_brain(t1w_tissues, rng):
    tissues, grid, _ = t1w_tissues
    bold, affine = bold_of(np.eye(4), [1.3, 1.0, 0.8], rng)
    # Mirrored and bent, the folds are those of somebody else.
    others = tissues[:, ::-1, ::-1]

    assert boundary_agreement(bold, affine, tissues, grid, np.eye(4)) > 0.9
    assert coregister(bold, affine, others, grid, CoregisterOptions()).agreement < 0.75


def test_half_of_the_slices_are_registered_as_well(t1w_tissues, rng):
    tissues, grid, brain = t1w_tissues
    matrix = rigid_matrix(np.array([5.0, -8, 6, 0.1, 0.05, -0.08]))
    bold, affine = bold_of(matrix, [1.3, 1.0, 0.8], rng)
    affine[:3, 3] += affine[:3, 2] * 20

    found = coregister(bold[:, :, 20:], affine, tissues, grid, CoregisterOptions())

    points = grid.points()[:, brain.ravel()][:, ::100]
    error = np.linalg.norm(transform(found.matrix, points) - transform(matrix, points), axis=0)
    assert error.mean() < 1


def test_a_bold_image_elsewhere_has_no_agreement(t1w_tissues, rng):
    tissues, grid, _ = t1w_tissues
    bold, affine = bold_of(np.eye(4), [1.3, 1.0, 0.8], rng)
    away = rigid_matrix(np.array([500.0, 0, 0, 0, 0, 0]))

    assert np.isnan(boundary_agreement(bold, affine, tissues, grid, away))
