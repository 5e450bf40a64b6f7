"""Bootstrap of subjects: what returns, and how often."""

import numpy as np
import pytest

from notears_pfl.evidence import bootstrap
from notears_pfl.evidence.bootstrap import Bootstraps, bootstrap_draws, resampled
from notears_pfl.evidence.pooled import pooled_fit


@pytest.fixture(scope="module")
def result(study):
    return bootstrap(study.samples, study.subjects, study.labels, n_bootstraps=30)


def test_subjects_are_drawn_with_replacement_within_blocks():
    blocks = np.array([0, 0, 0, 1, 1])

    drawn = np.array([resampled(blocks, np.random.default_rng(seed)) for seed in range(300)])

    assert (drawn[:, :3].sum(axis=1) == 3).all()
    assert (drawn[:, 3:].sum(axis=1) == 2).all()
    assert drawn.max() == 3
    assert drawn.mean(axis=0) == pytest.approx(1, abs=0.15)


def test_strong_connections_are_selected_in_the_group_that_has_them(result):
    patients, controls = result.selection

    for i, j in ((0, 1), (1, 2), (3, 4)):
        assert ((result.selection[:, :, i, j] + result.selection[:, :, j, i]) > 0.9).all()
    assert (patients[:, 5, 6] + patients[:, 6, 5] > 0.9).all()
    assert (controls[:, 5, 6] + controls[:, 6, 5] < 0.1).all()


def test_directions_given_the_connection_add_up_to_one(result):
    both = result.direction + result.direction.swapaxes(2, 3)

    np.testing.assert_allclose(both[~np.isnan(both)], 1)
    assert not np.isnan(result.direction[:, :, 0, 1]).any()


def test_a_connection_at_every_site_is_at_no_single_site(result):
    assert (result.at_every_site + result.at_one_site.sum(axis=1) <= 1 + 1e-12).all()
    assert result.at_every_site[0, [5, 6], [6, 5]].sum() > 0.8
    assert (result.at_every_site <= result.selection.min(axis=1) + 1e-12).all()


def test_intervals_of_degrees_hold_the_median(result):
    low, high = result.degree_interval()

    assert (low <= np.median(result.degree, axis=0)).all()
    assert (np.median(result.degree, axis=0) <= high).all()
    # Three sites have the edge from or to ROI 6 in patients only.
    assert low[0, 2, 6] >= 2
    assert high[1, 2, 6] <= 1


def test_draws_do_not_depend_on_how_they_are_divided(study):
    pooled = pooled_fit(study.samples, study.subjects, study.labels)

    def draws(numbers):
        fits = (pooled.fit, [pooled.fit, pooled.fit])
        return bootstrap_draws(*fits, pooled.moments, pooled.patients, numbers, seed=1)

    whole, parts = draws(range(1, 7)), Bootstraps.joined([draws([5, 6]), draws([1, 2, 3, 4])])
    for name in ("numbers", "found", "everywhere", "alone", "degree"):
        assert getattr(whole, name).tobytes() == getattr(parts, name).tobytes()
