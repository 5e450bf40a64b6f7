"""Granger causality agrees with statsmodels, and no lag crosses from one subject to the next."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import kstest
from statsmodels.regression.linear_model import OLS
from statsmodels.tsa.api import VAR
from statsmodels.tsa.stattools import grangercausalitytests

from notears_pfl.baselines import granger
from notears_pfl.errors import InputError


def autoregressive(rng, n=120, d=4):
    """Series in which 0 drives 1 and 1 drives 2, a step later each."""
    x = rng.normal(size=(n, d))
    for t in range(1, n):
        x[t] += 0.4 * x[t - 1]
        x[t, 1:3] += 0.5 * x[t - 1, 0:2]
    return x


@pytest.mark.parametrize("lag", [1, 2, 3])
def test_conditional_f_is_that_of_a_vector_autoregression(rng, lag):
    x = autoregressive(rng)

    fit = granger([x], lag=lag)

    model = VAR(x).fit(lag)
    for i in range(4):
        for j in set(range(4)) - {i}:
            # VAR's own test of one cause counts the freedom of all equations; OLS does not.
            past = [np.ones((len(x) - lag, 1))]
            past += [x[lag - back : len(x) - back] for back in range(1, lag + 1)]
            rows = np.eye(1 + 4 * lag)[[1 + 4 * (back - 1) + i for back in range(1, lag + 1)]]
            theirs = OLS(x[lag:, j], np.hstack(past)).fit().f_test(rows)
            assert_allclose(fit.statistic[i, j], theirs.fvalue, rtol=1e-6)
            assert_allclose(fit.p[i, j], theirs.pvalue, rtol=1e-5, atol=1e-300)
            causality = model.test_causality(j, i, kind="f")
            assert_allclose(fit.statistic[i, j], causality.test_statistic, rtol=1e-6)


@pytest.mark.parametrize("lag", [1, 2, 3])
def test_pairwise_f_is_that_of_statsmodels(rng, lag):
    x = autoregressive(rng)

    fit = granger([x], lag=lag, kind="pairwise")

    for i in range(4):
        for j in set(range(4)) - {i}:
            theirs = grangercausalitytests(x[:, [j, i]], [lag])[lag][0]["ssr_ftest"]
            assert_allclose(fit.statistic[i, j], theirs[0], rtol=1e-6)
            assert_allclose(fit.p[i, j], theirs[1], rtol=1e-5, atol=1e-300)


def test_what_a_third_variable_passes_on_is_not_a_conditional_cause():
    x = autoregressive(np.random.default_rng(0), n=3000)

    conditional, pairwise = (granger([x], lag=2, kind=kind).p for kind in KINDS)

    assert max(conditional[0, 1], conditional[1, 2]) < 1e-20
    assert conditional[0, 2] > 0.01
    assert pairwise[0, 2] < 1e-20


KINDS = ("conditional", "pairwise")


@pytest.mark.parametrize("kind", KINDS)
def test_no_lag_crosses_from_one_subject_to_the_next(rng, kind):
    first, second = autoregressive(rng), autoregressive(rng)

    expected = granger([first, second], lag=2, kind=kind)

    assert_allclose(granger([second, first], lag=2, kind=kind).statistic, expected.statistic)
    assert_allclose(
        granger([first + 7, second - 3], lag=2, kind=kind).statistic, expected.statistic
    )
    joined = granger([np.vstack([first, second])], lag=2, kind=kind)
    assert np.abs(joined.statistic - expected.statistic).max() > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_p_values_of_unrelated_series_are_uniform(rng, kind):
    p = [granger([rng.normal(size=(40, 3)) for _ in range(2)], lag=2, kind=kind).p[0, 1]
         for _ in range(400)]  # fmt: skip

    assert kstest(p, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lag", [1, 2])
def test_independent_series_are_sound(rng, kind, lag):
    assert granger([autoregressive(rng)], lag=lag, kind=kind).sound


@pytest.mark.parametrize("lag", [1, 2])
@pytest.mark.parametrize(
    ("twin", "pairs"),
    [(lambda x: 2 * x[:, 0], [(0, 3), (3, 0)]), (lambda x: 0 * x[:, 0], [(0, 3), (3, 1), (2, 3)])],
    ids=["a multiple", "constant"],
)
def test_one_pair_of_dependent_series_is_not_sound_and_has_no_f(rng, lag, twin, pairs):
    x = autoregressive(rng)
    dependent = np.column_stack([x[:, :3], twin(x)])

    fit = granger([dependent], lag=lag, kind="pairwise")

    assert not fit.sound
    assert [fit.statistic[pair] for pair in pairs] == [0] * len(pairs)
    assert [fit.p[pair] for pair in pairs] == [1] * len(pairs)
    others = granger([x], lag=lag, kind="pairwise")
    assert_allclose(fit.statistic[:3, :3], others.statistic[:3, :3])


def test_variables_that_depend_on_each_other_only_together_are_sound_in_pairs(rng):
    x = autoregressive(rng)
    together = np.column_stack([x, x[:, 0] + x[:, 1]])

    conditional, pairwise = (granger([together], kind=kind) for kind in KINDS)

    assert not conditional.sound
    assert pairwise.sound


def test_too_few_volumes_are_refused_with_the_way_out(rng):
    with pytest.raises(InputError, match=r"more than 9 volumes .* found 8. Lower the lag, or use"):
        granger([rng.normal(size=(9, 8))])


@pytest.mark.parametrize("settings", [{"lag": 0}, {"kind": "partial"}])
def test_other_settings_are_refused(rng, settings):
    with pytest.raises(InputError, match='lag must be 1 or more, kind "conditional"'):
        granger([rng.normal(size=(30, 3))], **settings)
