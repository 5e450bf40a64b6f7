"""Samples are centred per subject and scaled as they are told."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from notears_pfl.cohort.samples import run_series, scaled_series, site_samples
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


def two_runs(rng, gain=1.0, step=0.0):
    """Series of two runs, the second with another gain and mean; slow, as real ones are."""
    slow = np.cumsum(rng.normal(size=(400, 2)), axis=0)
    slow = slow - np.linspace(0, 1, 400)[:, None] * slow[-1]
    joined = np.vstack([slow[:250], gain * slow[250:] + step])
    index = pd.Index(["run-1"] * 250 + ["run-2"] * 150, name="run")
    return pd.DataFrame(joined, columns=ROIS, index=index)


@pytest.mark.parametrize("scale", ["subject", "roi"])
def test_another_gain_and_mean_of_a_run_change_no_sample(rng, scale):
    plain = two_runs(np.random.default_rng(1))
    changed = two_runs(np.random.default_rng(1), gain=50, step=1000)

    samples = site_samples({"sub-1": changed, "sub-2": plain}, scale)

    first, second = np.split(samples.x, 2)
    assert_allclose(first, second, atol=1e-9)
    assert samples.subjects.tolist() == [0] * 400 + [1] * 400
    assert samples.runs.tolist() == [0] * 250 + [1] * 150 + [2] * 250 + [3] * 150
    assert samples.n_subjects == 2


def test_effective_samples_are_those_of_each_run_and_none_crosses_the_seam(rng):
    table = two_runs(rng, step=1000)
    apart = {f"sub-{run}": part for run, part in table.groupby(level="run")}

    joined = site_samples({"sub-1": table}, "subject").n_effective

    assert_allclose(joined, site_samples(apart, "subject").n_effective)
    assert joined > 2 * site_samples({"sub-1": table.reset_index(drop=True)}, "subject").n_effective


def test_each_run_is_a_series_of_its_own_for_methods_that_look_back(rng):
    table = two_runs(rng)

    runs = run_series({"sub-1": table}, "subject")

    assert [len(run) for run in runs] == [250, 150]
    assert_allclose(np.concatenate(runs), site_samples({"sub-1": table}, "subject").x)


@pytest.mark.parametrize("scale", ["subject", "roi"])
def test_another_gain_and_mean_of_a_run_change_no_correlation(scale):
    raw = {
        name: two_runs(np.random.default_rng(1), *gain_and_step)
        for name, gain_and_step in {"plain": (), "changed": (50, 1000)}.items()
    }

    series = scaled_series(raw, scale)

    plain, changed = (np.corrcoef(table.to_numpy().T)[0, 1] for table in series.values())
    assert changed == pytest.approx(plain)
    assert np.corrcoef(raw["changed"].to_numpy().T)[0, 1] > plain + 0.1


def test_a_constant_series_is_refused_by_subject_and_roi(series):
    series["sub-2"]["ACG.R"] = 7.0

    with pytest.raises(
        CohortError, match=r"sub-2: the series of ACG\.R \(1 of 2 ROIs\) are constant"
    ):
        site_samples(series, "subject")
