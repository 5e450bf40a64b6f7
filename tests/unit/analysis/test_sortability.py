"""Sortability says how much of the directions the scale of the data gives away."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LassoLarsIC

from notears_pfl.analysis.sortability import explained_shares, sort_and_regress, sortability

CHAIN = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)


@pytest.mark.parametrize(
    ("score", "expected"),
    [([1, 2, 3], 1.0), ([3, 2, 1], 0.0), ([1, 1, 1], 0.5), ([1, 3, 2], 2 / 3)],
)
def test_sortability_is_the_share_of_paths_along_which_the_score_grows(score, expected):
    assert sortability(CHAIN, np.array(score, dtype=float)) == pytest.approx(expected)


def test_sortability_of_no_edges_is_undefined():
    assert np.isnan(sortability(np.zeros((3, 3), dtype=bool), np.arange(3.0)))


def test_explained_shares_are_those_of_the_regressions(rng):
    x = rng.normal(size=(200, 4)) @ rng.normal(size=(4, 4))
    x -= x.mean(axis=0)

    for j, share in enumerate(explained_shares(x)):
        others = np.delete(x, j, axis=1)
        residual = x[:, j] - others @ np.linalg.lstsq(others, x[:, j], rcond=None)[0]
        assert_allclose(share, 1 - residual.var() / x[:, j].var(), rtol=1e-8)


def test_explained_shares_of_dependent_columns_are_undefined(rng):
    x = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 4))

    assert np.isnan(explained_shares(x)).all()


def test_sort_and_regress_finds_a_network_whose_variances_grow(rng):
    x = rng.normal(size=(4000, 3))
    x[:, 1] += 1.5 * x[:, 0]
    x[:, 2] -= 1.2 * x[:, 1]

    weights = sort_and_regress(x, x.var(axis=0))

    expected = [[0, 1.5, 0], [0, 0, -1.2], [0, 0, 0]]
    assert_allclose(weights, expected, atol=0.06)
    assert not sort_and_regress(x, -x.var(axis=0))[0, 1]


def test_the_weights_are_those_of_the_adaptive_lasso_of_scikit_learn(rng):
    x = rng.normal(size=(300, 6)) @ (np.eye(6) + np.triu(rng.normal(size=(6, 6)), 1))

    weights = sort_and_regress(x, np.arange(6.0))

    centred = x - x.mean(axis=0)
    for target in range(1, 6):
        slopes = np.linalg.lstsq(centred[:, :target], centred[:, target])[0]
        lasso = LassoLarsIC(criterion="bic").fit(x[:, :target] * np.abs(slopes), x[:, target])
        expected = lasso.coef_ * np.abs(slopes)
        np.testing.assert_allclose(weights[:target, target], expected, atol=1e-12)
    assert np.count_nonzero(weights) < 15
