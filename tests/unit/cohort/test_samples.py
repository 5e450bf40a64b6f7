"""Samples are centred per subject and scaled as they are told."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from notears_pfl.cohort.samples import site_samples
from notears_pfl.errors import CohortError

ROIS = ["INS.R", "ACG.R"]


@pytest.fixture
def series(rng):
    gains = {"sub-1": 1.0, "sub-2": 1000.0}
    return {
        name: pd.DataFrame(gain * (5 + rng.normal(size=(400, 2)) * [1, 3]), columns=ROIS)
        for name, gain in gains.items()
    }


def test_scaling_by_subject_removes_gain_and_keeps_relative_variances(series):
    samples = site_samples(series, "subject")

    first, second = np.split(samples.x, 2)
    for part, table in ((first, series["sub-1"]), (second, series["sub-2"])):
        assert_allclose(part.mean(axis=0), 0, atol=1e-12)
        assert_allclose((part**2).mean(), 1)
        assert_allclose(
            part.std(axis=0)[1] / part.std(axis=0)[0], table.std().iloc[1] / table.std().iloc[0]
        )


def test_scaling_by_roi_gives_every_roi_unit_variance(series):
    samples = site_samples(series, "roi")

    for part in np.split(samples.x, 2):
        assert_allclose(part.std(axis=0), 1)


def test_every_row_knows_its_subject(series):
    series["sub-1"] = series["sub-1"][:150]

    samples = site_samples(series, "roi")

    assert samples.subjects.tolist() == [0] * 150 + [1] * 400
    assert samples.n_subjects == 2


def test_a_constant_series_is_refused_by_subject_and_roi(series):
    series["sub-2"]["ACG.R"] = 7.0

    with pytest.raises(
        CohortError, match=r"sub-2: the series of ACG\.R \(1 of 2 ROIs\) are constant"
    ):
        site_samples(series, "subject")
