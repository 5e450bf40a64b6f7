"""Bounds on answers, which every honest site satisfies."""

import numpy as np
import pytest

from notears_pfl.federated import message_kinds
from notears_pfl.federated.message_kinds import check_step
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
