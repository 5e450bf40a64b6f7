"""Permutation of labels: exact p-values, planted differences."""

import numpy as np
import pytest
from scipy.stats import kstest
from tests.unit.evidence.conftest import simulate

from notears_pfl.errors import InputError
from notears_pfl.evidence import permutation
from notears_pfl.evidence.moments import subject_moments
from notears_pfl.evidence.permutation import (
    Labels,
    contrast_draws,
    fair_comparison,
    permutation_draws,
)
from notears_pfl.evidence.pooled import compared_connections, pooled_fit
from notears_pfl.evidence.significance import (
    Draws,
    p_either_side,
    p_largest,
    p_two_sided,
    standardised,
)


@pytest.fixture(scope="module")
def pooled(study):
    return pooled_fit(study.samples, study.subjects, study.labels)


@pytest.fixture(scope="module")
def result(study):
    return permutation(
        study.samples, study.subjects, study.labels, n_permutations=39, n_weight_permutations=999
    )


def test_p_counts_the_observed_labelling():
    null = np.array([[3.0, 0.1], [-3.0, 2.0], [1.0, 1.0], [2.0, -0.5]])

    np.testing.assert_allclose(p_two_sided(null), [2 / 4, 4 / 4])
    np.testing.assert_allclose(p_either_side(null), [2 * 1 / 4, 2 * 2 / 4])


def test_p_of_the_largest_compares_with_the_largest_of_every_labelling():
    null = np.array([[3.0, 0.1], [0.0, 3.5], [2.9, -0.2], [0.5, 0.1]])

    np.testing.assert_allclose(p_largest(null), [2 / 4, 4 / 4])
    assert (p_largest(standardised(null)) >= p_two_sided(standardised(null))).all()


def test_only_planted_differences_are_found(result):
    found = {tuple(map(int, pair)) for pair in np.argwhere(result.q <= 0.05)}

    assert found == {(5, 6), (2, 7)}
    assert result.difference[5, 6] > 0.6
    assert result.difference[2, 7] < -0.6
    assert result.p_largest[5, 6] <= 0.01


def test_shared_connections_are_tested_and_kept(result):
    for i, j in ((0, 1), (1, 2), (3, 4)):
        tested = (i, j) if result.tested[i, j] else (j, i)
        assert result.q[tested] > 0.05


def test_counts_say_which_connections_are_in_one_group_only(result):
    patients_only, controls_only, both = result.counts[0, 2:5]

    assert (patients_only, controls_only, both) == (1, 1, 3)
    assert result.counts_p.min() >= 1 / 40


def test_draws_do_not_depend_on_how_they_are_divided(pooled):
    labels = Labels(pooled.patients, pooled.moments.site)
    tested = compared_connections(pooled.fit, pooled.moments)

    def draws(numbers):
        return permutation_draws(pooled.fit, pooled.moments, labels, tested, numbers, 2, seed=3)

    whole = draws(range(6))
    parts = Draws.joined([draws([4, 5]), draws([0, 1, 2, 3])])
    for name in ("numbers", "sites", "degree", "counts"):
        assert getattr(whole, name).tobytes() == getattr(parts, name).tobytes()


def test_weights_do_not_depend_on_how_many_labellings_fit_into_memory(pooled, monkeypatch):
    labels = Labels(pooled.patients, pooled.moments.site)
    tested = compared_connections(pooled.fit, pooled.moments)

    whole = contrast_draws(pooled.moments, labels, tested, 10, 0.0, seed=3)
    monkeypatch.setitem(contrast_draws.__globals__, "MOST_VALUES", 1)
    one_by_one = contrast_draws(pooled.moments, labels, tested, 10, 0.0, seed=3)

    for a, b in zip(whole, one_by_one, strict=True):
        assert a.shape[0] == 11
        np.testing.assert_allclose(a, b, rtol=1e-9)


def test_unequal_groups_are_compared_at_equal_numbers():
    study = simulate(3, n_patients=4, n_controls=9, differ=False)
    pooled = pooled_fit(study.samples, study.subjects, study.labels)
    seen = []

    class Recorder:
        def redraw(self, U, n):
            seen.append(n)
            return pooled.fit.redraw(U, n)

    rng = np.random.default_rng(0)
    fair_comparison(Recorder(), pooled.moments, study.patients, 3, rng)

    # Patients once, since all of them take part each time; controls in three subsamples.
    assert len(seen) == 4
    assert np.array(seen) == pytest.approx(4 * 60, rel=0.15)


def test_p_values_are_uniform_without_a_difference():
    tested = np.zeros((8, 8), dtype=bool)
    tested[[0, 1, 3, 5], [1, 2, 4, 6]] = True
    p = []
    for seed in range(60):
        study = simulate(1000 + seed, n_patients=3, n_controls=5, differ=False)
        moments = subject_moments(study.series, study.site)
        labels = Labels(study.patients, study.site)
        _, T = contrast_draws(moments, labels, tested, 99, 0.0, seed)
        p.extend(p_two_sided(T))

    assert kstest(p, "uniform").pvalue > 0.01
    assert np.mean(np.array(p) <= 0.05) < 0.1


def test_a_subject_with_two_labels_is_refused(study):
    labels = study.labels
    labels[0] = labels[0].copy()
    labels[0][0] = False

    with pytest.raises(InputError, match="site 0: subject 0 is both a patient and a control"):
        permutation(study.samples, study.subjects, labels)


def test_labels_of_another_length_are_refused(study):
    with pytest.raises(InputError, match="one row per sample of every site"):
        permutation(study.samples, study.subjects, [labels[:-1] for labels in study.labels])
