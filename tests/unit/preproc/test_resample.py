"""Points are read where motion has carried them, and nothing outside the view is made up."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from notears_pfl.geometry import rigid_matrix, transform
from notears_pfl.preproc.resample import (
    Grid,
    cropped,
    mni_grid,
    sample_moving_volumes,
    sample_volume,
)

AFFINE = np.array([[-3.0, 0, 0, 45], [0, 3, 0, -40], [0, 0.2, 4, -30], [0, 0, 0, 1]])
GRID = Grid((30, 28, 20), AFFINE)


def wave(points):
    """Give a smooth function of the world."""
    x, y, z = points
    return np.cos(x / 20) + np.sin(y / 25 + 1) + np.cos(z / 30 - y / 50)


@pytest.mark.parametrize(("order", "tolerance"), [(1, 0.02), (3, 5e-4)])
def test_a_function_of_the_world_is_sampled_as_itself(order, tolerance, rng):
    volume = wave(GRID.points()).reshape(GRID.shape)
    voxels = rng.uniform(3, 16, size=(3, 200))
    points = transform(AFFINE, voxels)

    assert_allclose(sample_volume(volume, AFFINE, points, order), wave(points), atol=tolerance)


def test_motion_is_undone_in_the_same_interpolation(rng):
    motion = np.array([[0, 0, 0, 0, 0, 0], [1.5, -2.0, 1.0, 0.03, -0.02, 0.04]])
    # A point p of the first volume is found at M⁻¹ p in a moved one: that one shows wave(M q).
    bold = np.stack(
        [wave(transform(m, GRID.points())).reshape(GRID.shape) for m in rigid_matrix(motion)],
        axis=-1,
    )
    points = transform(AFFINE, rng.uniform(6, 13, size=(3, 300)))

    series, covered = sample_moving_volumes(bold, AFFINE, motion, points, order=3)

    assert covered.all()
    assert_allclose(series, [wave(points)] * 2, atol=1e-3)
    assert np.abs(bold[..., 1] - bold[..., 0]).max() > 0.1


def test_points_that_leave_the_field_of_view_are_reported_and_zero():
    points = transform(AFFINE, np.array([[0.0, 15], [5, 5], [5, 5]]))
    towards_the_edge = np.array([[0, 0, 0, 0, 0, 0], [-2.0, 0, 0, 0, 0, 0]])

    series, covered = sample_moving_volumes(
        np.ones((*GRID.shape, 2)), AFFINE, towards_the_edge, points, order=1
    )

    assert covered.tolist() == [False, True]
    assert_allclose(series, [[0, 1], [0, 1]])


def test_the_grid_is_the_bounding_box_of_dparsf():
    grid = mni_grid(3.0)

    assert grid.shape == (61, 73, 61)
    assert_allclose(grid.points()[:, [0, -1]].T, [[-90, -126, -72], [90, 90, 108]])


def test_a_crop_keeps_its_voxels_where_they_are():
    volume = wave(GRID.points()).reshape(GRID.shape)

    box, affine = cropped(volume, AFFINE, np.array([4.2, -3.0, 7.0]), np.array([9.5, 8.0, 99.0]))

    assert box.shape == (7, 9, 13)
    points = Grid(box.shape, affine).points()
    assert_allclose(box.ravel(), wave(points), atol=1e-12)


def test_a_crop_outside_the_volume_keeps_its_nearest_corner():
    volume = np.arange(27.0).reshape(3, 3, 3)

    box, _ = cropped(volume, np.eye(4), np.full(3, 50.0), np.full(3, 60.0))

    assert_allclose(box, volume[1:, 1:, 1:])
