"""Agreement is counted edge by edge."""

import math

import numpy as np

from notears_pfl.analysis.agreement import direction_agreement, recovery


def test_recovery_counts_directed_connections():
    found, true = {("A", "B"), ("B", "C"), ("C", "A")}, {("A", "B"), ("C", "B")}

    result = recovery(found, true)

    assert (result.n_true, result.n_found, result.n_correct) == (2, 3, 1)
    assert (result.precision, result.recall, result.f_score) == (1 / 3, 1 / 2, 2 / 5)


def test_recovery_of_nothing_is_undefined_not_perfect():
    result = recovery(set(), set())

    assert math.isnan(result.precision)
    assert math.isnan(result.f_score)


def test_direction_agreement_counts_common_pairs_and_equal_arrows():
    first = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]])
    second = np.array([[0, 1, 0], [0, 0, 0], [0, 1, 0]])

    agreement = direction_agreement(first, second)

    assert (agreement.n_first, agreement.n_second) == (3, 2)
    assert (agreement.n_common, agreement.n_same_direction) == (2, 1)
    assert agreement.share == 0.5


def test_direction_agreement_of_disjoint_networks_is_undefined():
    first, second = np.array([[0, 1], [0, 0]]), np.zeros((2, 2))

    assert math.isnan(direction_agreement(first, second).share)
