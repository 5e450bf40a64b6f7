"""Adjusted p-values are those of statsmodels and SciPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import false_discovery_control
from statsmodels.stats.multitest import multipletests

from notears_pfl.false_discovery import benjamini_hochberg


def test_adjusted_p_values_are_those_of_statsmodels(rng):
    for size in (1, 2, 7, 40):
        p = np.append(rng.random(size) ** 2, [0.03, 0.03])

        assert_allclose(benjamini_hochberg(p), multipletests(p, method="fdr_bh")[1])


def test_every_row_is_a_family_of_its_own(rng):
    p = np.round(rng.random((3, 50)) ** 3, 2)

    assert_array_equal(benjamini_hochberg(p), false_discovery_control(p, axis=1))


@pytest.mark.parametrize("p", [[0.01, np.nan], [[0.2], [np.nan]], [-0.1], [1.1]])
def test_what_is_no_p_value_is_refused(p):
    with pytest.raises(AssertionError, match="p-values must be numbers from 0 to 1"):
        benjamini_hochberg(p)
