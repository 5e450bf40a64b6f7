"""Scrubbing censors the volumes beyond a limit, and bridges them as a slow obvious version does."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from notears_pfl.preproc.scrubbing import (
    Scrub,
    bridge_gaps,
    kept_volumes,
    scrub_options,
    scrub_sentence,
)

FIGURES = pd.DataFrame(
    {
        "fd_power_mm": [0, 0.1, 0.6, 0.1, 0.5, 0.1, 0.1, 0.1, 0.1, 0.9],
        "std_dvars": [0, 1, 1.2, 1, 1, 1, 1.8, 1, 1, 1.5],
    }
)


@pytest.mark.parametrize(
    ("scrub", "censored"),
    [
        (Scrub(), []),
        (Scrub(fd_mm=0.5), [2, 9]),
        (Scrub(std_dvars=1.5), [6]),
        (Scrub(fd_mm=0.5, std_dvars=1.5), [2, 6, 9]),
        # Segments left by 2, 6 and 9: 0 to 1, 3 to 5, 7 to 8.
        (Scrub(0.5, 1.5, min_segment=3), [0, 1, 2, 6, 7, 8, 9]),
        (Scrub(min_segment=50), []),
    ],
)
def test_volumes_above_a_limit_and_short_segments_between_them_are_censored(scrub, censored):
    assert np.flatnonzero(~kept_volumes(FIGURES, scrub)).tolist() == censored


def test_volumes_that_a_strategy_removes_are_censored_in_any_case():
    kept = kept_volumes(FIGURES, Scrub(fd_mm=0.5), censored=[0, 4])

    assert_array_equal(np.flatnonzero(~kept), [0, 2, 4, 9])


def test_gaps_are_bridged_by_straight_lines_and_ends_are_held(rng):
    kept = np.array([0, 0, 1, 1, 0, 0, 0, 1, 1, 0], dtype=bool)
    values = rng.normal(size=(4, 3))

    bridged = bridge_gaps(values, kept)

    assert_allclose(bridged[kept], values)
    for step in range(4):
        expected = values[1] + (values[2] - values[1]) * step / 4
        assert_allclose(bridged[3 + step], expected, atol=1e-12)
    assert_allclose(bridged[[0, 1, 9]], values[[0, 0, 3]])


def test_none_is_no_limit():
    section = {"fd_mm": "none", "std_dvars": 1.5, "min_segment": 5}

    assert scrub_options(section) == Scrub(None, 1.5, 5)
    assert scrub_options(section).censors
    assert not Scrub(min_segment=5).censors


@pytest.mark.parametrize(
    ("scrub", "named", "sentence"),
    [
        (
            Scrub(fd_mm=0.5),
            "",
            "Volumes with a framewise displacement above 0.5 mm were censored.",
        ),
        (
            Scrub(0.2, 1.5, 5),
            "",
            "Volumes with a framewise displacement above 0.2 mm or a standardised DVARS above 1.5, "
            "and remaining segments of fewer than 5 volumes were censored.",
        ),
        (Scrub(), "volumes that X marked", "Volumes that X marked were censored."),
    ],
)
def test_the_sentence_tells_every_limit(scrub, named, sentence):
    assert scrub_sentence(scrub, named) == sentence
