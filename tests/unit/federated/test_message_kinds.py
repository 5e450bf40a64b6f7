"""Bounds on answers, which every honest site satisfies."""

import numpy as np
import pytest

from notears_pfl.federated import message_kinds
from notears_pfl.federated.message_kinds import check_moments, check_step
from notears_pfl.model.coordinator import revealed_moments
from notears_pfl.model.federation import site_from_samples


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("size", [0.0, 1.0, 30.0])
@pytest.mark.parametrize("rho", [1e-3, 0.1, 10.0])
def test_a_step_does_no_worse_than_no_weights(rng, monkeypatch, ordered, size, rho):
    """The bound holds up to rounding, even with nearly collinear ROIs."""
    monkeypatch.setattr(message_kinds, "SLACK", 1 + 1e-9)
    x = rng.normal(size=(50, 6)) @ rng.normal(size=(6, 6))
    x[:, 5] = x[:, 4] + 1e-6 * x[:, 5]
    site, D = site_from_samples(x, demean=True), rng.uniform(0.1, 10.0, size=6)
    V = size * rng.normal(size=(6, 6))

    site.begin(D, rng.permutation(6) if ordered else None, None)
    W, loss = site.step(V, rho)

    check_step(W, loss, V, rho, D, site.describe().variances)


def test_a_step_without_a_fold_keeps_the_bound_of_the_whole(rng):
    """Holding out the part with low variance leaves a variance above that of all samples."""
    x = rng.normal(size=(60, 4)) * np.repeat([0.01, 1.0, 1.0], 20)[:, None]
    site, V = site_from_samples(x, demean=True), np.zeros((4, 4))
    site.split(3)
    site.begin(np.ones(4), None, 0)

    W, loss = site.step(V, 1e-3)

    check_step(W, loss, V, 1e-3, np.ones(4), site.describe().variances)


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("n", [5, 50])
@pytest.mark.parametrize("rho", [1e-3, 0.1, 10.0])
def test_steps_follow_from_the_moments_of_the_first_one(rng, monkeypatch, ordered, n, rho):
    """Up to rounding, even with few samples, collinear ROIs and ROIs in units far apart."""
    monkeypatch.setattr(message_kinds, "LARGEST_GAP", 1e-11)
    x = rng.normal(size=(n, 8)) @ rng.normal(size=(8, 8))
    x[:, 5] = x[:, 4] + 1e-6 * x[:, 5]
    x *= 10 ** rng.uniform(-3, 3, size=8)
    site = site_from_samples(x, demean=True)
    variances = site.describe().variances
    D = variances * rng.uniform(0.1, 10.0, size=8)
    site.begin(D, None, None)
    U = revealed_moments(site.step(np.zeros((8, 8)), 0.05)[0], variances, 0.05 * D)
    order = rng.permutation(8) if ordered else None
    V = rng.normal(size=(8, 8)) * np.sqrt(D / D[:, None])

    site.begin(D, order, None)
    W, loss = site.step(V, rho)

    check_moments(W, loss, V, rho, D, order, (U + U.T) / 2)
