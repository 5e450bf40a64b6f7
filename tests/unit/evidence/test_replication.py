"""Discovery connections in validation subjects."""

import numpy as np
import pytest

from notears_pfl.evidence.moments import subject_moments
from notears_pfl.evidence.replication import replicate

EDGES = np.zeros((3, 8, 8), dtype=bool)
EDGES[:, [0, 1, 3], [1, 2, 4]] = True
FALSE = EDGES.copy()
FALSE[:, 3, 0] = True


@pytest.fixture(scope="module")
def halves(study):
    moments = subject_moments(study.series, study.site)
    first = np.arange(len(study.series)) % 2 == 0
    return moments.summed(first), moments.summed(~first)


def test_weights_return_with_their_sign_and_an_interval(halves):
    discovery, validation = halves

    found = replicate((discovery[0], EDGES), validation, EDGES, np.random.default_rng(0))

    assert found.found.sum() == 9
    assert found.same_sign.sum() == 9
    assert found.weight[EDGES] == pytest.approx(0.7, abs=0.15)
    assert (found.low[EDGES] < 0.7).mean() > 0.8
    assert (found.high[EDGES] > 0.7).mean() > 0.8
    assert not found.weight[~EDGES].any()


def test_a_false_edge_is_not_found_and_its_interval_holds_zero(halves):
    discovery, validation = halves

    found = replicate((discovery[0], FALSE), validation, EDGES, np.random.default_rng(0))

    assert not found.found[:, 3, 0].any()
    assert ((found.low[:, 3, 0] < 0) & (found.high[:, 3, 0] > 0)).sum() >= 2


def test_chance_finds_random_edges_as_often_as_there_are_edges(halves):
    discovery, validation = halves

    found = replicate((discovery[0], EDGES), validation, EDGES, np.random.default_rng(0))

    assert found.expected_found == pytest.approx(3 * 3 / 56)
    # Random edges have the same sign half of the time, by and large.
    assert (found.expected_same_sign / 3) == pytest.approx(0.5, abs=0.25)
