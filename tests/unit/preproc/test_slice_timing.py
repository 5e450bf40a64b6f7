"""Slice timing equals SPM's, and impossible slice times are refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from notears_pfl.errors import SignalError
from notears_pfl.preproc.slice_timing import correct_slice_timing, middle_slice_time


def test_slice_timing_equals_that_of_spm(reference_image, reference_table):
    bold, _ = reference_image("stc_c1_in")
    spm, _ = reference_image("stc_c1_spm")
    times = reference_table("stc_c1_slicetimes_s.tsv")

    corrected = correct_slice_timing(bold, times, tr=2.0, reference_time=0.9375)

    assert np.abs(bold - spm).max() > 1e-2
    assert_allclose(corrected, spm, atol=1e-4)


def test_slices_of_one_signal_agree_after_correction():
    times = np.array([0.0, 0.5, 1.0, 1.5])
    t = 2.0 * np.arange(64)[None, None, None] + times[None, None, :, None]
    bold = np.sin(2 * np.pi * 0.05 * t)

    corrected = correct_slice_timing(bold, times, tr=2.0, reference_time=0.5)

    away_from_ends = slice(8, -8)
    assert_allclose(
        corrected[0, 0, :, away_from_ends], bold[0, 0, 1:2, away_from_ends].repeat(4, 0), atol=0.02
    )
    assert np.ptp(bold[0, 0, :, 20]) > 0.2


@pytest.mark.parametrize(("n_slices", "expected"), [(32, 15), (33, 16), (1, 0)])
def test_the_reference_is_the_slice_acquired_mid_way(n_slices, expected, rng):
    times = 0.05 * rng.permutation(n_slices)

    assert middle_slice_time(times) == pytest.approx(0.05 * expected)


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([0, 0.5, 1.0], "lists 3 times for 2 slices"),
        ([0, 2.0], "from 0 to 2 s, outside 0 to the repetition time of 2 s"),
        ([0, 1000.0], "in seconds"),
    ],
)
def test_impossible_slice_times_are_refused(times, message):
    with pytest.raises(SignalError, match=message):
        correct_slice_timing(np.ones((2, 2, 2, 10)), np.array(times), tr=2.0, reference_time=0)
