"""Motion is recovered no worse than by SPM; framewise displacement follows its definitions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.ndimage import gaussian_filter

from notears_pfl.geometry import rigid_matrix, transform
from notears_pfl.preproc.realign import (
    RealignOptions,
    displacement_jenkinson,
    displacement_power,
    estimate_motion,
)
from notears_pfl.preproc.resample import Grid, sample_volume


def rmse(error):
    """Of translations in mm and rotations in degrees."""
    return np.sqrt(np.mean(error[:, :3] ** 2)), np.degrees(np.sqrt(np.mean(error[:, 3:] ** 2)))


def test_motion_is_no_worse_than_that_of_spm_against_planted_truth(
    reference_image, reference_table
):
    bold, affine = reference_image("realign_in_bold20")
    truth = reference_table("realign_truth_rp.tsv")
    spm = reference_table("realign_spm_rp_rtm1.txt")

    motion = estimate_motion(bold, affine, RealignOptions())

    assert motion.converged.all()
    ours, theirs = rmse(motion.parameters - truth), rmse(spm - truth)
    assert ours[0] <= theirs[0]
    assert ours[1] <= theirs[1]
    assert rmse(truth)[0] > 5 * ours[0]


@pytest.fixture(scope="module")
def head():
    """Give a smooth head on an oblique grid, and its volume."""
    rng = np.random.default_rng(8)
    affine = rigid_matrix(np.array([-60, -70, -50, 0.1, -0.05, 0.2])) @ np.diag([3, 3, 4, 1.0])
    grid = Grid((44, 48, 30), affine)
    x = np.indices(grid.shape) - (np.array(grid.shape) / 2)[:, None, None, None]
    ball = np.sqrt(np.sum((x * [[[[3]]], [[[3]]], [[[4]]]]) ** 2, axis=0)) < 45
    texture = 1 + gaussian_filter(rng.normal(size=grid.shape), 2) * 8
    return grid, gaussian_filter(1000 * ball * texture, 1.2)


def moved(head, parameters):
    """Give the volume of a head whose motion has these parameters."""
    grid, volume = head
    points = transform(rigid_matrix(np.array(parameters)), grid.points())
    return sample_volume(volume, grid.affine, points, order=3).reshape(grid.shape)


PLANTED = np.array(
    [[0, 0, 0, 0, 0, 0], [0.6, -0.4, 0.3, 0.01, -0.02, 0.015], [2.5, 1.0, -3.0, -0.05, 0.03, 0.06]]
)


@pytest.mark.parametrize("register_to_mean", [True, False])
def test_planted_motion_is_recovered_on_an_oblique_grid(head, register_to_mean):
    bold = np.stack([moved(head, p) for p in PLANTED], axis=-1)

    motion = estimate_motion(
        bold, head[0].affine, RealignOptions(register_to_mean=register_to_mean)
    )

    assert_allclose(motion.parameters[:, :3], PLANTED[:, :3], atol=0.05)
    assert_allclose(motion.parameters[:, 3:], PLANTED[:, 3:], atol=np.radians(0.05))


def test_a_change_of_brightness_is_not_motion(head):
    bold = np.stack([head[1], 1.1 * head[1]], axis=-1)

    motion = estimate_motion(bold, head[0].affine, RealignOptions())

    assert_allclose(motion.parameters, 0, atol=1e-4)


def test_too_few_iterations_are_reported(head):
    bold = np.stack([moved(head, p) for p in PLANTED], axis=-1)

    motion = estimate_motion(
        bold, head[0].affine, RealignOptions(max_iterations=1, register_to_mean=False)
    )

    assert motion.converged.tolist() == [True, False, False]


def test_power_adds_millimetres_and_arcs_on_a_sphere_of_50_mm():
    motion = np.array([[0, 0, 0, 0, 0, 0], [1, -2, 0, 0.01, 0, 0], [1, -2, 0, 0.01, 0, -0.02]])

    assert_allclose(displacement_power(motion), [0, 3.5, 1.0])


def test_jenkinson_is_the_root_mean_square_over_a_ball_of_80_mm(rng):
    motion = np.array([[0.2, 0, 0, 0.01, 0, 0], [1, -2, 0.5, 0.01, 0.03, -0.02]])
    centre = np.array([3.0, -20.0, 15.0])

    displacement = displacement_jenkinson(motion, centre)

    directions = rng.normal(size=(3, 200_000))
    radii = 80 * rng.uniform(size=200_000) ** (1 / 3)
    ball = centre[:, None] + directions / np.linalg.norm(directions, axis=0) * radii
    before, after = rigid_matrix(motion)
    relative = after @ np.linalg.inv(before)
    shift = relative[:3, :3] @ ball + relative[:3, 3:] - ball
    assert displacement[0] == 0
    assert displacement[1] == pytest.approx(np.sqrt(np.mean(np.sum(shift**2, axis=0))), rel=2e-3)
