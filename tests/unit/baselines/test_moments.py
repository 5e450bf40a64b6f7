"""Moments say all a squared loss needs, and bad sites are named."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from notears_pfl.baselines.moments import pooled, sites_moments
from notears_pfl.errors import InputError


def test_pooled_moments_are_the_moments_of_the_stacked_samples(rng):
    sites = [rng.normal(size=(n, 4)) for n in (5, 12, 30)]

    pool = pooled(sites_moments(sites, center=False))

    stacked = np.vstack(sites)
    assert pool.n == 47
    assert_allclose(pool.U, stacked.T @ stacked / 47, atol=1e-12)


def test_centering_removes_the_mean_of_each_column_and_leaves_the_samples_alone(rng):
    x = rng.normal(size=(20, 3)) + np.array([5.0, -3.0, 100.0])
    before = x.copy()

    (moments,) = sites_moments([x], center=True)

    assert_allclose(moments.U, np.cov(x.T, bias=True), atol=1e-9)
    assert_allclose(x, before)


def test_moments_given_as_pairs_are_passed_on(rng):
    U = np.cov(rng.normal(size=(3, 20)))

    (moments,) = sites_moments([(U, 20)], center=True)

    assert moments.n == 20
    assert_allclose(moments.U, U)


@pytest.mark.parametrize(
    ("sites", "message"),
    [
        ([np.eye(4), np.full((9, 4), np.nan)], "site 1: samples must be finite"),
        ([(np.eye(4), 9), (np.ones((4, 5)), 9)], "site 1: moments must be a square matrix"),
        ([(np.eye(4), 9), np.eye(4)], "all be moments .* found 1 and 1"),
        ([], "at least one site"),
    ],
)
def test_bad_sites_are_refused_with_their_place(sites, message):
    with pytest.raises(InputError, match=message):
        sites_moments(sites, center=True)
