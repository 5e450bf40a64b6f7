"""Permuted labels, and equal numbers."""

import numpy as np
import pytest

from notears_pfl.errors import InputError
from notears_pfl.evidence.labels import (
    blocks_of,
    check_labels,
    equal_numbers,
    n_labellings,
    permuted,
    share_of_one,
)

SITE = np.array([0] * 5 + [1] * 6)
PATIENTS = np.array([1, 1, 0, 0, 0, 1, 1, 1, 1, 0, 0], dtype=bool)


def test_permuted_labels_keep_the_numbers_of_every_site_and_reach_every_labelling():
    rng = np.random.default_rng(0)

    drawn = np.array([permuted(PATIENTS, SITE, rng) for _ in range(3000)])

    assert (drawn[:, SITE == 0].sum(axis=1) == 2).all()
    assert (drawn[:, SITE == 1].sum(axis=1) == 4).all()
    assert len(np.unique(drawn, axis=0)) == n_labellings(PATIENTS, SITE) == 10 * 15


def test_labels_are_exchanged_within_strata_only():
    strata = ["F", "M", "F", "M", "M", "F", "F", "M", "M", "F", "M"]
    blocks = blocks_of(SITE, strata)

    for _ in range(50):
        drawn = permuted(PATIENTS, blocks, np.random.default_rng(_))
        for site in (0, 1):
            for sex in ("F", "M"):
                own = (site == SITE) & (np.array(strata) == sex)
                assert drawn[own].sum() == PATIENTS[own].sum()


def test_equal_numbers_thin_the_larger_group_of_each_site():
    drawn = np.array([equal_numbers(PATIENTS, SITE, np.random.default_rng(s)) for s in range(200)])

    patients, controls = drawn[:, 0], drawn[:, 1]
    assert (patients[:, SITE == 0] == PATIENTS[SITE == 0]).all()
    assert (controls[:, SITE == 1] == ~PATIENTS[SITE == 1]).all()
    for site in (0, 1):
        assert (patients[:, site == SITE].sum(axis=1) == 2).all()
        assert (controls[:, site == SITE].sum(axis=1) == 2).all()
    # Everyone of the larger group takes part now and then.
    assert controls[:, 2:5].mean(axis=0) == pytest.approx([2 / 3] * 3, abs=0.12)


def test_a_site_with_one_group_is_refused():
    with pytest.raises(InputError, match=r"site 1: both groups are needed.*6 patients and 0"):
        check_labels(np.where(SITE == 1, True, PATIENTS), SITE, SITE)


def test_strata_that_allow_one_labelling_are_refused():
    blocks = blocks_of(SITE, np.arange(len(SITE)))

    with pytest.raises(InputError, match=r"at least 2 .* only 1 keeps .*\(6\).*\(5\).*Use fewer"):
        check_labels(PATIENTS, SITE, blocks)


@pytest.mark.parametrize(("patients", "controls", "ways"), [(1, 5, 6), (1, 1, 2), (2, 5, 21)])
def test_the_labellings_of_a_small_group_are_counted(patients, controls, ways):
    labels = np.repeat([True, False], [patients, controls])

    drawn = {permuted(labels, labels * 0, np.random.default_rng(s)).tobytes() for s in range(400)}

    assert n_labellings(labels, labels * 0) == ways == len(drawn)
    assert share_of_one(labels, labels * 0) == 1 / ways


def test_labellings_too_many_for_a_floating_point_number_have_no_share():
    labels = np.repeat([True, False], 1000)

    assert share_of_one(labels, labels * 0) == 0
