"""The coordinator's steps go down to a minimum; orders respect edges; acceleration converges."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import expm

from notears_pfl.errors import InputError
from notears_pfl.model.coordinator import (
    Anderson,
    PathCoordinator,
    respecting,
    site_orders,
    topological_order,
)
from notears_pfl.model.problem import (
    L1,
    EdgeGroup,
    LogDeterminant,
    TraceExponential,
    acyclic_threshold,
    is_acyclic,
)

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


def coordinator_of(acyclicity, term=None):
    """Give a coordinator that takes one step per update."""
    coordinator = PathCoordinator([term or L1(0.1)], acyclicity, (K, d, d), steps=1)
    coordinator.enter_stage(c=C, s=S)
    return coordinator


def cyclic_blocks(rng):
    """Give T with edges in both directions, which h has to pull apart."""
    return rng.normal(size=(1, K, d, d)) * (1 - np.eye(d))


def objective(coordinator, term, acyclicity, Z, T):
    """Write out what the coordinator minimises."""
    h, _ = acyclicity.evaluate(Z, S)
    distance = 0.5 * RHO * (D[:, None] * (Z - T[0]) ** 2).sum()
    return term.value(Z, coordinator.allowed) + C * h.sum() + distance


@ACYCLICITIES
@TERMS
@pytest.mark.parametrize("seed", range(3))
def test_no_step_goes_up(acyclicity, term, seed):
    coordinator, T = (
        coordinator_of(acyclicity, term),
        3 * cyclic_blocks(np.random.default_rng(seed)),
    )
    # At rest τ has shrunk to nothing: only backtracking makes the first step short enough.
    for _ in range(70):
        rest = coordinator.update(np.zeros_like(T), RHO, D)[0]

    networks = [rest, *(coordinator.update(T, RHO, D)[0] for _ in range(100))]

    values = [objective(coordinator, term, acyclicity, Z, T) for Z in networks]
    assert values[-1] < values[0] - 1
    assert np.diff(values).max() <= 1e-12


@ACYCLICITIES
@TERMS
def test_many_steps_end_where_the_gradient_is_in_the_subdifferential(acyclicity, term, rng):
    coordinator, T = coordinator_of(acyclicity, term), cyclic_blocks(rng)

    for _ in range(1000):
        Z = coordinator.update(T, RHO, D)[0]

    # −∇(c h + ρ/2 ‖·‖²) ∈ ∂ term(Z), which is to say that Z is the prox of Z − ∇.
    if isinstance(acyclicity, LogDeterminant):
        G = np.linalg.inv(S * np.eye(d) - Z * Z)
    else:
        G = expm(Z * Z)
    gradient = 2 * C * Z * G.swapaxes(1, 2) + RHO * D[:, None] * (Z - T[0])
    assert 5 < np.count_nonzero(Z) < Z.size - K * d
    assert_allclose(term.prox(Z - gradient, np.ones((d, d)), coordinator.allowed), Z, atol=1e-5)


@ACYCLICITIES
@pytest.mark.parametrize("value", [np.inf, np.nan])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_blocks_that_are_not_finite_are_refused(acyclicity, value):
    with pytest.raises(InputError, match=r"must be finite; found .* in T\. Look for a site"):
        coordinator_of(acyclicity).update(np.full((1, K, d, d), value), RHO, D)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_step_that_leaves_the_domain_at_every_size_is_refused():
    with pytest.raises(InputError, match=r"must be finite; found .* in τ\. Look for a site"):
        coordinator_of(OnlyAtTheStart()).update(np.ones((1, K, d, d)), RHO, D)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_stage_does_not_begin_with_networks_that_are_not_finite():
    coordinator = PathCoordinator([L1(0.1)], LogDeterminant(), (K, d, d), steps=1)
    coordinator._Z = np.full((K, d, d), np.nan)

    with pytest.raises(InputError, match=r"must be finite; found .* in Z\. Look for a site"):
        coordinator.enter_stage(c=C, s=S)


def test_topological_order_puts_causes_first_and_breaks_ties_by_priority():
    edges = np.zeros((4, 4), dtype=bool)
    edges[3, 0] = True

    order = topological_order(edges, np.array([1.0, 4.0, 2.0, 3.0]))

    assert order.tolist() == [2, 3, 0, 1]


def test_site_orders_respect_every_edge_above_the_threshold(rng):
    Z = rng.normal(size=(5, 6, 6)) * (1 - np.eye(6))

    allowed = respecting(site_orders(Z, rng.uniform(size=(5, 6)), threshold=0.05))

    for z, mask in zip(Z, allowed, strict=True):
        assert mask[np.abs(z) > max(0.05, acyclic_threshold(z))].all()
        assert is_acyclic(mask)
        assert mask.sum() == 15


def test_sites_with_the_same_edges_have_the_same_order(rng):
    Z = np.zeros((3, 4, 4))
    Z[:, 0, 1] = [0.5, 0.7, 0.01]

    first, second, other = site_orders(Z, rng.uniform(size=(3, 4)), threshold=0.05)

    assert first.tolist() == second.tolist()
    assert other.tolist() != first.tolist()


def test_anderson_finds_the_fixed_point_of_a_linear_map_in_as_many_steps_as_dimensions(rng):
    Q = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    A, b = Q @ np.diag([0.99, 0.9, 0.5, 0.2, 0.1]) @ Q.T, rng.normal(size=5)
    solution = np.linalg.solve(np.eye(5) - A, b)
    anderson, T = Anderson(memory=10), np.zeros(5)

    for _ in range(9):
        T = anderson.next(T, A @ T + b - T)

    assert_allclose(T, solution, rtol=1e-3)
