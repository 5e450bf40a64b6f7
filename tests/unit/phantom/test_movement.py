"""Heads move as much as they are told to, and leave artefacts that Friston-24 spans."""

import numpy as np
from numpy.testing import assert_allclose

from notears_pfl.phantom.movement import MotionOptions, artefact_courses, random_motion

STILL = MotionOptions(drift_mm=0, drift_deg=0, spikes=0, spike_mm=0, spike_deg=0, subject_spread=0)


def test_movement_starts_at_zero_and_drifts_as_much_as_asked(rng):
    options = MotionOptions(**{**vars(STILL), "drift_mm": 0.3, "drift_deg": 0.5})

    motion = random_motion(rng, 240, options)

    assert_allclose(motion[0], 0)
    assert_allclose(motion[:, :3].std(axis=0), 0.3)
    assert_allclose(np.rad2deg(motion[:, 3:]).std(axis=0), 0.5)


def test_spikes_are_sudden_and_fade(rng):
    options = MotionOptions(**{**vars(STILL), "spikes": 1, "spike_mm": 1, "spike_deg": 1})

    motion = random_motion(rng, 100, options)

    onset = int(np.flatnonzero(motion.any(axis=1))[0])
    assert onset >= 1
    assert_allclose(motion[onset + 1] / motion[onset], np.exp(-1 / 1.5))


def test_a_still_head_does_not_move_and_leaves_no_artefact(rng):
    motion = random_motion(rng, 50, STILL)

    assert not motion.any()
    assert not artefact_courses(rng, motion, 2).any()


def test_subjects_differ_in_how_much_they_move(rng):
    options = MotionOptions(**{**vars(STILL), "drift_mm": 1, "subject_spread": 0.4})

    sizes = [random_motion(rng, 50, options)[:, 0].std() for _ in range(400)]

    assert_allclose(np.log(sizes).std(), 0.4, rtol=0.1)


def test_artefacts_lie_in_the_span_of_fristons_24_regressors(rng):
    motion = random_motion(rng, 100, MotionOptions(0.3, 0.3, 3, 0.8, 0.8, 0.4))

    courses = artefact_courses(rng, motion, 4)

    lagged = np.vstack([np.zeros(6), motion[:-1]])
    design = np.column_stack([np.ones(100), motion, lagged, motion**2, lagged**2])[1:]
    design /= np.linalg.norm(design, axis=0)
    coefficients, *_ = np.linalg.lstsq(design, courses[1:], rcond=None)
    assert_allclose(design @ coefficients, courses[1:], atol=1e-8)
    assert_allclose(courses.std(axis=0), 1)
