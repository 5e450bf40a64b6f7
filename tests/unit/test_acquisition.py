"""What an acquisition can be."""

import numpy as np
import pytest

from notears_pfl.acquisition import are_slice_times, is_repetition_time, same_repetition_time


@pytest.mark.parametrize(
    ("seconds", "possible"), [(2.5, True), (0.4, True), (0, False), (2500, False), (np.nan, False)]
)
def test_a_repetition_time_is_in_seconds_above_zero(seconds, possible):
    assert is_repetition_time(seconds) is possible


@pytest.mark.parametrize(
    ("times", "possible"),
    [([0, 1, 1.99], True), ([0, 2.0], False), ([-0.1, 1], False), ([0, np.nan], False)],
)
def test_slices_are_acquired_within_their_volume(times, possible):
    assert are_slice_times(np.array(times), 2.0) is possible


def test_repetition_times_a_millisecond_apart_are_the_same():
    assert same_repetition_time(2.2, 2.201)
    assert not same_repetition_time(2.2, 2.2012)
