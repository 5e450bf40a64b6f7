"""Quality figures equal what their definitions give by hand."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from notears_pfl.geometry import rigid_matrix
from notears_pfl.preproc.quality import (
    displacement_jenkinson,
    displacement_power,
    dvars_percent,
    temporal_snr,
)


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


def test_dvars_is_the_change_in_per_cent_of_the_mean():
    series = np.array([[100.0, 100], [101, 99], [101, 99]])

    assert_allclose(dvars_percent(series), [0, 1, 0])


def test_temporal_snr_is_mean_over_deviation(rng):
    series = np.column_stack([1000 + 10 * rng.normal(size=5000), np.zeros(5000)])

    assert_allclose(temporal_snr(series), [100, 0], rtol=0.05)
