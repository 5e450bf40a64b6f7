"""The permutation test is exact where the z-test is not, and finds what is there."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import kstest

from notears_pfl.analysis.permutation import contributions, permutation_test
from notears_pfl.analysis.proportion import compare_proportions

N_SITES, PER_GROUP, DRAWN, N_DRAWS = 3, 8, 5, 20


def test_contributions_are_means_over_the_sets_of_a_subject():
    members = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0]], dtype=bool)
    presence = np.array([[1.0, 0], [0, 0], [0, 0]])

    c = contributions(members, presence)

    assert_allclose(c[:, 0], [0, 1 / 2 - 1 / 3, -1 / 3, 0], atol=1e-12)
    assert_allclose(c[:, 1], 0)


def test_subjects_whose_sets_lack_the_connection_are_alike_however_often_they_were_drawn(rng):
    members = np.array([np.isin(np.arange(16), rng.permutation(16)[:6]) for _ in range(60)])
    presence = (np.arange(60) == 0).astype(float)[:, None]

    c = contributions(members, presence)[:, 0]

    assert len({*members.sum(axis=0)}) > 1
    assert_allclose(c[~members[0]], -1 / 60)
    assert (c[members[0]] > -1 / 60).all()


def test_p_values_are_shares_of_all_labellings(rng):
    c, patients = rng.normal(size=(6, 1)), np.arange(6) < 3

    test = permutation_test([c], [patients], 20_000, rng)

    sums = np.array([c[list(chosen)].sum() for chosen in combinations(range(6), 3)])
    centred = sums - sums.mean()
    observed = c[:3].sum()
    assert_allclose(test.p, (sums >= observed - 1e-9).mean(), atol=0.015)
    assert_allclose(
        test.p_two_sided,
        (np.abs(centred) >= abs(observed - sums.mean()) - 1e-9).mean(),
        atol=0.015,
    )


def test_labels_are_exchanged_within_sites_alone(rng):
    # One site has patients only: its contributions, however large, are the same in all labellings.
    fixed, free = 100 * rng.normal(size=(4, 1)), rng.normal(size=(6, 1))
    patients = np.arange(6) < 3

    both = permutation_test(
        [fixed, free], [np.ones(4, bool), patients], 5000, np.random.default_rng(1)
    )

    sums = np.array([free[list(chosen)].sum() for chosen in combinations(range(6), 3)])
    assert_allclose(both.p, (sums >= free[:3].sum() - 1e-9).mean(), atol=0.03)


def simulated_study(rng, effect):
    """P-values of both tests where a network has the connection if its subjects' mean is positive.

    Every subject has a tendency of its own, higher by ``effect`` in patients.
    """
    tendencies = rng.normal(size=(N_SITES, 2 * PER_GROUP))
    patients = np.arange(2 * PER_GROUP) < PER_GROUP
    tendencies += np.where(patients, effect / 2, -effect / 2)
    counts = np.zeros(2, dtype=int)
    for _ in range(N_DRAWS):
        for group, start in enumerate((0, PER_GROUP)):
            found = [
                site[start + rng.permutation(PER_GROUP)[:DRAWN]].mean() > 0 for site in tendencies
            ]
            counts[group] += sum(found) >= 2
    per_site = []
    for site in tendencies:
        members = np.zeros((2 * N_DRAWS, 2 * PER_GROUP), dtype=bool)
        for draw in range(N_DRAWS):
            order = rng.permutation(2 * PER_GROUP)
            members[2 * draw, order[:DRAWN]] = True
            members[2 * draw + 1, order[DRAWN : 2 * DRAWN]] = True
        presence = (members @ site / DRAWN > 0).astype(float)
        per_site.append(contributions(members, presence[:, None]))
    permutation = permutation_test(per_site, [patients] * N_SITES, 199, rng)
    return compare_proportions(counts[0], N_DRAWS, counts[1], N_DRAWS).p_z, permutation.p[0]


@pytest.fixture(scope="module")
def no_difference():
    rng = np.random.default_rng(5)
    return np.array([simulated_study(rng, 0) for _ in range(500)])


def test_permutation_p_values_are_uniform_without_a_difference(no_difference):
    assert kstest(no_difference[:, 1], "uniform").pvalue > 0.01
    assert abs((no_difference[:, 1] <= 0.05).mean() - 0.05) < 0.03


def test_the_z_test_finds_differences_that_are_not_there(no_difference):
    assert (no_difference[:, 0] <= 0.05).mean() > 0.25


def test_the_permutation_test_finds_a_planted_difference():
    rng = np.random.default_rng(6)
    found = np.array([simulated_study(rng, 1.5)[1] <= 0.05 for _ in range(60)])

    assert found.mean() > 0.8
