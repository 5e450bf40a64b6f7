"""Differences of weights between groups."""

import tracemalloc

import numpy as np
import pytest

from notears_pfl.evidence.contrast import connections_to_compare, contrast, weights_given
from notears_pfl.evidence.moments import subject_moments

PARENTS = np.zeros((8, 8), dtype=bool)
PARENTS[[0, 1, 3, 5, 2, 0], [1, 2, 4, 6, 7, 2]] = True


def test_weights_are_those_of_least_squares(study):
    x = study.samples[0] - study.samples[0].mean(axis=0)

    weights, variances = weights_given(x.T @ x / len(x), PARENTS)

    S = [0, 1]
    expected, residual, *_ = np.linalg.lstsq(x[:, S], x[:, 2])
    np.testing.assert_allclose(weights[S, 2], expected)
    covariance = residual[0] / len(x) * np.linalg.inv(x[:, S].T @ x[:, S] / len(x))
    np.testing.assert_allclose(variances[S, 2], np.diag(covariance))
    assert not weights[~PARENTS].any()


def test_each_connection_is_tested_in_the_direction_of_most_sites():
    adjacency = np.zeros((3, 4, 4), dtype=bool)
    adjacency[:2, 1, 0] = True
    adjacency[2, 0, 1] = True
    adjacency[0, 3, 2] = adjacency[1, 2, 3] = True

    tested = connections_to_compare(adjacency)

    assert {tuple(map(int, pair)) for pair in np.argwhere(tested)} == {(1, 0), (2, 3)}


def test_planted_differences_have_their_size_and_the_largest_statistics(study):
    moments = subject_moments(study.series, study.site)
    groups = moments.summed(study.patients), moments.summed(~study.patients)

    difference, T = contrast(*groups, PARENTS)

    pairs = [tuple(map(int, pair)) for pair in np.argwhere(PARENTS)]
    assert difference[pairs.index((5, 6))] == pytest.approx(0.7, abs=0.08)
    assert difference[pairs.index((2, 7))] == pytest.approx(-0.7, abs=0.08)
    assert {pairs[i] for i in np.argsort(-np.abs(T))[:2]} == {(5, 6), (2, 7)}


def test_exchanging_the_groups_turns_the_sign(study):
    moments = subject_moments(study.series, study.site)
    groups = moments.summed(study.patients), moments.summed(~study.patients)

    np.testing.assert_allclose(
        contrast(*groups, PARENTS), -np.array(contrast(*groups[::-1], PARENTS))
    )


def test_a_difference_that_sites_do_not_share_stands_out_less():
    U = np.tile(np.eye(2), (3, 1, 1))
    n, parents = np.full(3, 400.0), np.array([[False, True], [False, False]])
    shared, uneven = U.copy(), U.copy()
    shared[:, [0, 1], [1, 0]] = 0.3
    uneven[:, [0, 1], [1, 0]] = np.array([0.9, 0.0, 0.0])[:, None]

    (m1, t1), (m2, t2) = (contrast((V, n), (U, n), parents) for V in (shared, uneven))

    assert [*m1, *m2] == pytest.approx([0.3, 0.3])
    assert t1 > 5 * t2


def test_small_differences_count_as_none(study):
    moments = subject_moments(study.series, study.site)
    groups = moments.summed(study.patients), moments.summed(~study.patients)

    difference, T = contrast(*groups, PARENTS, smallest=0.3)

    assert ((T != 0) == (np.abs(difference) > 0.3)).all()
    assert (T != 0).sum() == 2


def test_only_the_moments_of_parents_are_copied(rng):
    U = np.eye(60) + 0.01 * rng.normal(size=(2, 20, 3, 60, 60))
    parents = np.eye(60, k=1) > 0
    groups = [(own, np.full((20, 3), 80.0)) for own in U]
    tracemalloc.start()

    _, T = contrast(*groups, parents)

    assert tracemalloc.get_traced_memory()[1] < U.nbytes / 20
    tracemalloc.stop()
    assert T.all()


def test_differences_that_do_not_count_change_nothing_for_the_others(rng):
    x = rng.normal(size=(2, 7, 3, 80, 5))
    U = np.einsum("gbkni,gbknj->gbkij", x, x) / 80
    parents = np.triu(np.ones((5, 5), dtype=bool), 1)
    groups = [(own, np.full((7, 3), 80.0)) for own in U]

    mean, all_T = contrast(*groups, parents)
    same, T = contrast(*groups, parents, smallest=0.08)

    counts = np.abs(mean) > 0.08
    assert 0 < counts.sum() < counts.size
    np.testing.assert_array_equal(same, mean)
    np.testing.assert_allclose(T[counts], all_T[counts], rtol=1e-12)
    assert not T[~counts].any()
