"""Input that cannot be fitted is refused, with the site and the way out."""

import numpy as np
import pytest

from notears_pfl import NotearsPFL
from notears_pfl.errors import InputError
from notears_pfl.model.checks import checked_moments


def tables(rng, *shapes):
    return [rng.normal(size=shape) for shape in shapes]


def with_value(x, where, value):
    x = x.copy()
    x[where] = value
    return x


def test_missing_values_are_refused(rng):
    a, b = tables(rng, (9, 4), (9, 4))

    with pytest.raises(InputError, match=r"site 1: .* found 1 NaN .* row 2, column 3\. Drop"):
        NotearsPFL().fit([a, with_value(b, (2, 3), np.nan)])


def test_constant_columns_are_refused(rng):
    a, b = tables(rng, (9, 4), (9, 4))

    with pytest.raises(InputError, match=r"site 0: every ROI must vary; .* columns \(2\)"):
        NotearsPFL().fit([with_value(a, np.s_[:, 2], 7.1), b])


def test_a_single_sample_is_refused(rng):
    with pytest.raises(InputError, match="site 1: at least two samples are needed; found 1"):
        NotearsPFL().fit(tables(rng, (9, 4), (1, 4)))


def test_a_single_roi_is_refused(rng):
    with pytest.raises(InputError, match="site 0: a network needs at least two ROIs; found 1"):
        NotearsPFL().fit(tables(rng, (9, 1)))


def test_sites_with_other_rois_are_refused(rng):
    with pytest.raises(InputError, match=r"same ROIs as columns; .* site 1: 8 by 5\. Extract"):
        NotearsPFL().fit(tables(rng, (9, 4), (8, 5)))


def test_transposed_tables_are_recognised(rng):
    with pytest.raises(InputError, match=r"look transposed: .* site 1: 4 by 8\).*pass x\.T"):
        NotearsPFL().fit(tables(rng, (4, 9), (4, 8)))


def test_one_table_instead_of_a_list_is_refused(rng):
    with pytest.raises(InputError, match=r"site 0: .* found shape \(4,\)\. Pass a list"):
        NotearsPFL().fit(rng.normal(size=(9, 4)))


@pytest.mark.parametrize("fit", ["fit", "fit_moments"])
def test_no_sites_are_refused(fit):
    with pytest.raises(InputError, match="at least one site; found an empty list"):
        getattr(NotearsPFL(), fit)([])


# Two ROIs that go with a third go against each other.
IMPOSSIBLE = np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]])


@pytest.mark.parametrize(
    ("moments", "message"),
    [
        ([(np.eye(3), 5), (np.eye(4), 5)], r"site 1: .* found shape \(4, 4\), and \(3, 3\)"),
        ([(np.eye(3), 5), (np.tri(3), 5)], "site 1: moments must be finite, symmetric"),
        ([(np.diag([1.0, 0, 1]), 5)], "site 0: moments must be .* positive on the diagonal"),
        ([(np.eye(3), 1)], "site 0: at least two samples are needed; found 1"),
        ([(np.eye(1), 5)], "site 0: a network needs at least two ROIs; found 1"),
        ([(np.eye(3), 5), (np.eye(3), np.nan)], "site 1: n must be a whole number .* found nan"),
        (
            [(np.eye(3), 2.7)],
            r"site 0: n must be a whole number .* found 2\.7\. Pass the number of",
        ),
        ([(np.eye(3), "5")], r"site 0: n must be a whole number .* found '5'"),
        ([(np.eye(3), 5), (9 * IMPOSSIBLE, 5)], r"site 1: .* no negative eigenvalue; found -0\.8 "),
    ],
)
def test_moments_of_no_samples_are_refused(moments, message):
    with pytest.raises(InputError, match=message):
        NotearsPFL().fit_moments(moments)


def test_moments_of_fewer_samples_than_rois_pass_in_single_precision_too(rng):
    x = rng.normal(size=(20, 40)) * np.geomspace(1e-3, 1e3, 40)
    U = (x.T @ x / 20).astype(np.float32)

    (checked,) = checked_moments([(U, np.float64(20))])

    np.testing.assert_array_equal(checked.U, U)
    assert checked.n == 20


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lambda1": -1}, r'lambda1 must be "auto" or a number from 0 up; found -1'),
        ({"kappa": "big"}, r"kappa must be .* found 'big'"),
        ({"penalty": "ring"}, "penalty must be 'chain' or 'edgewise'; found 'ring'"),
        ({"acyclicity": "none"}, "acyclicity must be .* found 'none'"),
        ({"tol": 0}, "tol must be positive"),
    ],
)
def test_unknown_settings_are_refused(rng, settings, message):
    with pytest.raises(InputError, match=message):
        NotearsPFL(**settings).fit(tables(rng, (9, 4)))


def test_subjects_that_do_not_match_the_samples_are_refused(rng):
    with pytest.raises(InputError, match=r"shapes \[\(9,\), \(7,\)\]; found \[\(9,\), \(6,\)\]"):
        NotearsPFL().fit(tables(rng, (9, 4), (7, 4)), subjects=[["a"] * 9, ["b"] * 6])
