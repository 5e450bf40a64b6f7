"""BOLD is found in T1w space whatever its contrast, near and far."""

import numpy as np
import pytest

from notears_pfl.geometry import centred_affine, grid_points, rigid_matrix, transform
from notears_pfl.preproc.coregister import CoregisterOptions, coregister
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
    assert found.explained > 0.8
