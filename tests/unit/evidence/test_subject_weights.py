"""Weights of a network in single subjects are those of regressions on the parents."""

from dataclasses import replace

import numpy as np
import statsmodels.api as sm

from notears_pfl.evidence.moments import subject_moments
from notears_pfl.evidence.subject_weights import subject_weights

# Two parents of region 2, and one of region 3.
EDGES = np.zeros((4, 4), dtype=bool)
EDGES[[0, 1, 2], [2, 2, 3]] = True


def series_of(rng, slope, n_volumes=120):
    x = rng.normal(size=(n_volumes, 4)) + 5
    x[:, 2] += slope * x[:, 0] - 0.4 * x[:, 1]
    x[:, 3] += 0.6 * x[:, 2]
    return x


def moments_of(rng, slopes):
    return subject_moments([series_of(rng, slope) for slope in slopes], np.zeros(len(slopes)))


def test_weights_and_errors_are_those_of_least_squares_with_an_intercept(rng):
    series = [series_of(rng, slope) for slope in (0.2, 0.8)]
    moments = subject_moments(series, [0, 1])
    # As if all volumes were independent, as least squares assumes.
    moments = replace(moments, n_effective=moments.n)

    weights, errors = subject_weights(moments, EDGES)

    for x, own, spread in zip(series, weights, errors, strict=True):
        two = sm.OLS(x[:, 2], sm.add_constant(x[:, :2])).fit()
        three = sm.OLS(x[:, 3], sm.add_constant(x[:, 2])).fit()
        np.testing.assert_allclose(own, [*two.params[1:], three.params[1]], rtol=1e-8)
        np.testing.assert_allclose(spread, [*two.bse[1:], three.bse[1]], rtol=1e-8)


def test_fewer_independent_samples_widen_the_errors_alone(rng):
    moments = moments_of(rng, [0.5])
    full = subject_weights(replace(moments, n_effective=np.array([103.0])), EDGES)
    few = subject_weights(replace(moments, n_effective=np.array([28.0])), EDGES)

    np.testing.assert_array_equal(few[0], full[0])
    # 103 − 2 parents − 1 mean = 100 degrees of freedom, and 25.
    np.testing.assert_allclose(few[1][0, :2], 2 * full[1][0, :2])


def test_standard_errors_are_the_spread_over_repeated_scans(rng):
    weights, errors = subject_weights(moments_of(rng, [0.5] * 600), EDGES)

    np.testing.assert_allclose(weights.mean(axis=0), [0.5, -0.4, 0.6], atol=0.015)
    np.testing.assert_allclose(weights.std(axis=0), errors.mean(axis=0), rtol=0.1)


def test_a_subject_without_enough_samples_for_the_parents_has_no_weights_there(rng):
    moments = replace(moments_of(rng, [0.5, 0.5]), n_effective=np.array([100.0, 2.5]))

    weights, errors = subject_weights(moments, EDGES)

    assert np.isfinite(weights[0]).all()
    np.testing.assert_array_equal(np.isnan(weights[1]), [True, True, False])
    np.testing.assert_array_equal(np.isnan(errors[1]), [True, True, False])
