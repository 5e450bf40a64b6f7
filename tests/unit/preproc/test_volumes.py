"""Unusable runs are refused with the reason; DVARS and temporal SNR follow their definitions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from notears_pfl.errors import SignalError
from notears_pfl.preproc.volumes import (
    check_volumes,
    drop_volumes,
    dvars_percent,
    seen_voxels,
    temporal_snr,
)


def bold(n_volumes):
    return np.arange(1.0, 9)[:, None].repeat(n_volumes, 1).reshape(2, 2, 2, n_volumes)


def spoilt(value):
    run = bold(6)
    run[0, 1, 1, 3] = value
    return run


def test_the_first_volumes_are_left_out():
    run = bold(6) + np.arange(6)

    assert drop_volumes(run, 2)[0, 0, 0].tolist() == [3, 4, 5, 6]


@pytest.mark.parametrize(
    ("run", "tr", "message"),
    [
        (bold(1), 2.0, r"several volumes; its shape is \(2, 2, 2, 1\)"),
        (bold(6)[..., 0], 2.0, "several volumes"),
        (bold(6), 0.0, "RepetitionTime is 0; it must be seconds above 0"),
        (bold(6), 2000.0, "RepetitionTime is 2000"),
        (spoilt(np.nan), 2.0, r"Volumes \[4\] contain values that are not finite"),
        (bold(6) * [1, 1, 0, 1, 1, 0], 2.0, r"Volumes \[3, 6\] have one value throughout"),
        (np.full((2, 2, 2, 3), 100.0), 2.0, r"Volumes \[1, 2, 3\] have one value throughout"),
        (bold(6) - bold(6).mean(), 2.0, "not in 6 of 6 volumes: the run was demeaned"),
    ],
)
def test_unusable_runs_are_refused(run, tr, message):
    with pytest.raises(SignalError, match=message):
        check_volumes(run, tr)


def test_a_few_negative_voxels_of_an_interpolated_run_are_allowed():
    check_volumes(bold(6) - [[[[1.5]]]], 2.0)


def test_dropping_all_volumes_is_refused():
    with pytest.raises(SignalError, match="Dropping 10 of 11 volumes leaves no series"):
        drop_volumes(bold(11), 10)


def test_dvars_is_the_change_in_per_cent_of_the_mean():
    series = np.array([[100.0, 100], [101, 99], [101, 99]])

    assert_allclose(dvars_percent(series), [0, 1, 0])


def test_temporal_snr_is_mean_over_deviation(rng):
    series = np.column_stack([1000 + 10 * rng.normal(size=5000), np.zeros(5000)])

    assert_allclose(temporal_snr(series), [100, 0], rtol=0.05)


def test_voxels_without_signal_or_out_of_view_become_zero_and_are_not_covered():
    near = np.array([True, True, True, True, True, False]).reshape(1, 2, 3)
    brain = np.array([True, True, True, True, False, False]).reshape(1, 2, 3)
    # The third voxel is dark; the fourth is out of view; the fifth is dark but outside the brain.
    series = np.array([[100, 90, 20, 80, 20], [102, 94, 22, 80, 22]], dtype=np.float32)
    seen = np.array([True, True, True, False, True])

    voxels = seen_voxels(series, seen, near, brain)

    assert voxels.covered.ravel().tolist() == [True, True, False, False, True, False]
    assert voxels.dropout.ravel().tolist() == [False, False, True, False, False, False]
    assert voxels.series.tolist() == [[100, 90, 0, 0, 20], [102, 94, 0, 0, 22]]
    assert voxels.brain_series.tolist() == [[100, 90], [102, 94]]
    assert voxels.brain_coverage == 0.5
    # The series given are not changed.
    assert series[0, 2] == 20
