"""Edges are judged by what the samples can tell; separate fits add up."""

import numpy as np
import pytest

from notears_pfl.model.fit import strong_edges


def judged(weights, n, threshold=0.3):
    """Judge one edge's weights at as many sites."""
    Z = np.array(weights, dtype=float)[:, None, None]
    return strong_edges(Z, np.array(n), threshold)[:, 0, 0].tolist()


@pytest.mark.parametrize(
    ("weights", "n", "expected"),
    [
        ([0.31, 0.29], [10**6, 10**6], [True, False]),
        ([0.31, 0.29], [5, 5], [False, False]),
        ([1.0, 0.25, 1.0], [10**6] * 3, [True, False, True]),
        ([1.0, 0.25, 1.0], [5] * 3, [True, True, True]),
        ([1.0, 0.0, 1.0], [5] * 3, [True, False, True]),
    ],
    ids=["large samples", "small samples ask more", "alone", "steadied by others", "never zero"],
)
def test_strong_edges_lean_on_other_sites_when_samples_are_few(weights, n, expected):
    assert judged(weights, n) == expected


def test_threshold_zero_keeps_every_weight():
    assert judged([1e-9, 0.0], [2, 2], threshold=0) == [True, False]
