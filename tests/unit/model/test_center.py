"""The centre's steps go down, come to rest at a minimum, and end where numbers cease."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import expm

from notears_pfl.errors import InputError
from notears_pfl.model.acyclicity import LogDeterminant, TraceExponential
from notears_pfl.model.center import AcyclicCenter
from notears_pfl.model.penalties import L1, EdgeGroup

ACYCLICITIES = pytest.mark.parametrize(
    "acyclicity", [LogDeterminant(), TraceExponential()], ids=["log-det", "trace-exponential"]
)
TERMS = pytest.mark.parametrize("term", [L1(0.5), EdgeGroup(1.5, 0.5)], ids=str)
K, d = 3, 5
C, S, RHO, D = 4.0, 0.9, 2.0, np.linspace(0.5, 2, d)


class OnlyAtTheStart:
    """An h that is defined once: every step leaves its domain."""

    asked = False

    def evaluate(self, Z, s):
        """Answer the first question."""
        first, self.asked = not self.asked, True
        return (np.zeros(len(Z)), np.zeros(Z.shape)) if first else None


def center_of(acyclicity, term=None):
    """Give a centre that takes one step per update."""
    center = AcyclicCenter([term or L1(0.1)], acyclicity, (K, d, d), steps=1)
    center.enter_stage(c=C, s=S)
    return center


def cyclic_blocks(rng):
    """Give T with edges in both directions, which h has to pull apart."""
    return rng.normal(size=(1, K, d, d)) * (1 - np.eye(d))


def objective(center, term, acyclicity, Z, T):
    """Write out what the centre minimises."""
    h, _ = acyclicity.evaluate(Z, S)
    distance = 0.5 * RHO * (D[:, None] * (Z - T[0]) ** 2).sum()
    return term.value(Z, center.allowed) + C * h.sum() + distance


@ACYCLICITIES
@TERMS
@pytest.mark.parametrize("seed", range(3))
def test_no_step_goes_up(acyclicity, term, seed):
    center, T = center_of(acyclicity, term), 3 * cyclic_blocks(np.random.default_rng(seed))
    # At rest τ has shrunk to nothing: only backtracking makes the first step short enough.
    for _ in range(70):
        rest = center.update(np.zeros_like(T), RHO, D)[0]

    networks = [rest, *(center.update(T, RHO, D)[0] for _ in range(100))]

    values = [objective(center, term, acyclicity, Z, T) for Z in networks]
    assert values[-1] < values[0] - 1
    assert np.diff(values).max() <= 1e-12


@ACYCLICITIES
@TERMS
def test_many_steps_end_where_the_gradient_is_in_the_subdifferential(acyclicity, term, rng):
    center, T = center_of(acyclicity, term), cyclic_blocks(rng)

    for _ in range(1000):
        Z = center.update(T, RHO, D)[0]

    # −∇(c h + ρ/2 ‖·‖²) ∈ ∂ term(Z), which is to say that Z is the prox of Z − ∇.
    if isinstance(acyclicity, LogDeterminant):
        G = np.linalg.inv(S * np.eye(d) - Z * Z)
    else:
        G = expm(Z * Z)
    gradient = 2 * C * Z * G.swapaxes(1, 2) + RHO * D[:, None] * (Z - T[0])
    assert 5 < np.count_nonzero(Z) < Z.size - K * d
    assert_allclose(term.prox(Z - gradient, np.ones((d, d)), center.allowed), Z, atol=1e-5)


@ACYCLICITIES
@pytest.mark.parametrize("value", [np.inf, np.nan])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_blocks_that_are_not_finite_are_refused(acyclicity, value):
    with pytest.raises(InputError, match=r"must be finite; found .* in T\. Look for a site"):
        center_of(acyclicity).update(np.full((1, K, d, d), value), RHO, D)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_step_that_leaves_the_domain_at_every_size_is_refused():
    with pytest.raises(InputError, match=r"must be finite; found .* in τ\. Look for a site"):
        center_of(OnlyAtTheStart()).update(np.ones((1, K, d, d)), RHO, D)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_stage_does_not_begin_with_networks_that_are_not_finite():
    center = AcyclicCenter([L1(0.1)], LogDeterminant(), (K, d, d), steps=1)
    center._Z = np.full((K, d, d), np.nan)

    with pytest.raises(InputError, match=r"must be finite; found .* in Z\. Look for a site"):
        center.enter_stage(c=C, s=S)
