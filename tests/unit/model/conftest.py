"""Sites with a known network."""

import numpy as np
import pytest


def samples_of(W, n, rng):
    """Draw n samples of the linear model x = x W + noise."""
    return rng.normal(size=(n, len(W))) @ np.linalg.inv(np.eye(len(W)) - W)


@pytest.fixture
def truth(rng):
    """Give three networks of eight ROIs: the same edges with other weights."""
    edges = np.triu(rng.uniform(size=(8, 8)) < 0.25, k=1)
    order = rng.permutation(8)
    weights = rng.uniform(0.7, 1.5, size=(3, 8, 8)) * rng.choice([-1, 1], size=(3, 8, 8))
    return (weights * edges)[:, order][:, :, order]


@pytest.fixture
def samples(truth, rng):
    """Give 500 samples of each network."""
    return [samples_of(W, 500, rng) for W in truth]
