"""The paper's test gives the paper's numbers; the others agree with statsmodels and SciPy."""

from itertools import product

import pytest
from numpy.testing import assert_allclose
from statsmodels.stats.proportion import confint_proportions_2indep, proportions_ztest

from notears_pfl.analysis.proportion import (
    compare_proportions,
    newcombe_interval,
)

METHODS = ["NOTEARS-PFL", "NOTEARS-SIG", "GES", "PC", "GC"]
COUNTS = [(14, 20, 4, 20), (3, 20, 9, 20), (20, 20, 1, 20), (7, 10, 7, 15), (1, 30, 0, 20)]


def attainable(n):
    """P-values, to four digits, of all pairs of counts out of n."""
    pairs = product(range(n + 1), repeat=2)
    return {round(compare_proportions(a, n, b, n).p_z, 4) for a, b in pairs}


def test_all_35_published_p_values_are_those_of_counts_out_of_20(paper):
    published = paper["two_sample_proportion_p"][METHODS].to_numpy().ravel()

    possible = attainable(20)

    assert len(published) == 35
    assert set(published) <= possible


def test_the_texts_ten_draws_cannot_have_given_them(paper):
    published = paper["two_sample_proportion_p"][METHODS].to_numpy().ravel()

    for n in (10, 25):
        assert len(set(published) - attainable(n)) > len(set(published)) / 2


@pytest.mark.parametrize("counts", COUNTS)
def test_the_z_test_is_that_of_statsmodels(counts):
    x1, n1, x2, n2 = counts

    test = compare_proportions(*counts)

    one, two = (
        proportions_ztest([x1, x2], [n1, n2], alternative=a)[1] for a in ("larger", "two-sided")
    )
    assert_allclose([test.p_z, test.p_z_two_sided], [one, two])
    assert test.difference == x1 / n1 - x2 / n2


@pytest.mark.parametrize("counts", COUNTS)
def test_newcombes_interval_is_that_of_statsmodels(counts):
    expected = confint_proportions_2indep(*counts, method="newcomb", compare="diff")

    assert_allclose(newcombe_interval(*counts), expected, atol=1e-10)


def test_newcombes_own_example():
    # Newcombe (1998), table II: 56/70 against 48/80, method 10.
    assert_allclose(newcombe_interval(56, 70, 48, 80), (0.0524, 0.3339), atol=5e-5)


def test_fishers_tea():
    test = compare_proportions(3, 4, 1, 4)

    assert_allclose(test.p_fisher, 17 / 70)
    assert_allclose(test.p_fisher_two_sided, 34 / 70)


@pytest.mark.parametrize("x", [0, 20])
def test_nothing_differs_where_all_or_none_have_it(x):
    test = compare_proportions(x, 20, x, 20)

    assert (test.p_z, test.p_z_two_sided, test.p_fisher) == (1, 1, 1)
    assert test.low < 0 < test.high
