"""The search turns round what the samples ask for, and says which directions they do not tell."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from notears_pfl.model.coordinator import respecting
from notears_pfl.model.evidence import Evidence, Rates, decide, expectation, log_posterior
from notears_pfl.model.orders import (
    RIDGE,
    Directed,
    choose,
    consensus_order,
    direct,
    moved,
    poor,
    reversal_odds,
    untie,
)
from notears_pfl.model.problem import is_acyclic

RATES = Rates(common=0.1, otherwise=0.1, t0=0.0, td=1.0)


def moments_of(W, n, rng, *, standardised=False):
    """Draw n samples of x = xW + e per site: their moments."""
    U = []
    for w in W:
        x = rng.normal(size=(n, len(w))) @ np.linalg.inv(np.eye(len(w)) - w)
        x = x / x.std(axis=0) if standardised else x
        U.append(x.T @ x / n)
    return np.array(U)


@pytest.fixture
def chain():
    """Give three sites with the chain 0 → 1 → 2 → 3 and weights of their own."""
    W = np.zeros((3, 5, 5))
    W[:, [0, 1, 2], [1, 2, 3]] = [[0.9, 1.2, -0.8], [1.1, 0.8, -1.3], [-0.7, 1.0, 0.9]]
    return W


def everywhere(U):
    return np.broadcast_to(~np.eye(U.shape[-1], dtype=bool), U.shape)


def searched(U, n, orders, **limits):
    """Search from orders, without edges."""
    none = np.zeros(U.shape, dtype=bool)
    limits = {"allowed": everywhere(U), "required": none} | limits
    return direct(U, np.full(len(U), float(n)), orders, none, 0.3, **limits)


def test_the_consensus_places_the_smallest_remaining_variance_next(rng):
    U = np.array([np.cov(rng.normal(size=(9, 6)) @ rng.normal(size=(6, 6)), rowvar=False)] * 2)
    U[1] = 100 * (U[0] + np.diag(rng.uniform(size=6)))

    order = consensus_order(U).tolist()

    sites = [u / np.median(np.diag(u)) for u in U]
    ridge = RIDGE * np.median([np.diag(u) for u in sites], axis=0)
    sites = [u + np.diag(ridge) for u in sites]
    for position, j in enumerate(order):
        placed = order[:position]

        def remaining(i, S=placed):
            inside = [u[i, i] - u[i, S] @ np.linalg.solve(u[np.ix_(S, S)], u[S, i]) for u in sites]
            return np.mean(inside)

        assert j == min(order[position:], key=remaining)


def test_the_consensus_finds_the_order_of_a_chain_with_equal_noise(chain, rng):
    order = consensus_order(moments_of(chain, 2000, rng)).tolist()

    assert [j for j in order if j != 4] == [0, 1, 2, 3]


def test_reversal_odds_are_differences_of_log_likelihoods(rng):
    n, d = 50, 4
    x = rng.normal(size=(n, d)) @ np.triu(rng.normal(size=(d, d)))
    U = (x.T @ x / n)[None]
    A = np.zeros((1, d, d), dtype=bool)
    A[0, [0, 0, 1], [1, 2, 2]] = True
    noise = np.array([[0.5, 1.0, 1.5, 2.0]])

    odds = reversal_odds(U, np.array([float(n)]), Evidence(A, A * 1.0, noise, RATES))

    def squares(graph):
        total = 0.0
        for j in range(d):
            S = np.flatnonzero(graph[:, j])
            fit = x[:, S] @ np.linalg.lstsq(x[:, S], x[:, j], rcond=None)[0]
            total += np.sum((x[:, j] - fit) ** 2)
        return total

    for a, b in np.argwhere(A[0]):
        turned = A[0].copy()
        turned[a, b], turned[b, a] = False, True
        expected = (squares(A[0]) - squares(turned)) / (2 * noise.mean())
        assert odds[0, a, b] == pytest.approx(expected, rel=1e-3)
    assert np.isneginf(odds[~A]).all()


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ([(0, 3)], [3, 0, 1, 2, 4]),
        ([(0, 3), (1, 3), (2, 4)], [1, 3, 0, 2, 4]),
        ([(0, 3), (0, 1), (1, 2), (2, 3)], [1, 2, 3, 0, 4]),
    ],
    ids=["alone", "with its ancestors", "with those that come from a"],
)
def test_b_moves_before_a_with_its_ancestors(edges, expected):
    graph = np.zeros((5, 5), dtype=bool)
    graph[tuple(zip(*edges, strict=True))] = True

    assert moved(np.arange(5), 0, 3, graph).tolist() == expected
    assert moved(np.arange(5), 3, 0, graph).tolist() == [0, 1, 2, 3, 4]


def test_a_wrong_order_is_turned_round(chain, rng):
    U = moments_of(chain, 500, rng)

    found = searched(U, 500, [np.array([4, 3, 2, 1, 0])] * 3)

    assert_array_equal(found.evidence.adjacency, chain != 0)
    assert (found.support[chain != 0] > 0.99).all()
    assert all(respecting(found.orders)[chain != 0])


def test_a_site_departs_from_the_others_only_with_clear_evidence(chain, rng):
    other = chain.copy()
    other[2, 0, 1], other[2, 1, 0] = 0.0, 0.9
    order = [np.arange(5)] * 3

    few, many = (searched(moments_of(other, n, rng), n, order) for n in (12, 500))

    assert many.evidence.adjacency[2, 1, 0]
    assert many.evidence.adjacency[:2, 0, 1].all()
    assert not few.evidence.adjacency[2, 1, 0]


def test_unit_variances_do_not_tell_the_direction_of_a_pair(rng):
    W = np.zeros((2, 3, 3))
    W[:, 0, 1] = 1.0
    U = moments_of(W, 400, rng, standardised=True)

    found = searched(U, 400, [np.arange(3)] * 2)

    assert found.evidence.adjacency[:, 0, 1].all()
    assert_allclose(found.support[:, 0, 1], 0.5, atol=0.01)
    assert not found.support[~found.evidence.adjacency].any()


def test_forbidden_and_required_edges_are_not_turned_round(chain, rng):
    U, order = moments_of(chain, 500, rng), [np.array([4, 3, 2, 1, 0])] * 3
    allowed, required = everywhere(U).copy(), np.zeros(U.shape, dtype=bool)
    allowed[:, 0, 1] = False
    required[:, 2, 1] = True

    found = searched(U, 500, order, allowed=allowed, required=required).evidence.adjacency

    assert not found[:, 0, 1].any()
    assert found[:, 2, 1].all()
    assert all(is_acyclic(graph) for graph in found)


def test_the_posterior_weighs_residuals_samples_and_what_others_have(chain, rng):
    n = np.array([40.0, 60.0, 80.0])
    U = moments_of(chain, 100, rng)
    allowed, none = respecting([np.arange(5)] * 3), np.zeros(U.shape, dtype=bool)
    found = decide(U, n, allowed, none, 0.3, none)
    noise = np.array([1.0, 1.5, 2.0])

    expected = 0.0
    for k, graph in enumerate(found.adjacency):
        for j in range(5):
            S = np.flatnonzero(graph[:, j])
            explained = U[k][j, S] @ np.linalg.solve(U[k][np.ix_(S, S)], U[k][S, j])
            expected -= n[k] / (2 * noise[k]) * (U[k, j, j] - explained)
            expected -= len(S) * np.log(n[k]) / 2
    expected += expectation(found)[found.adjacency].sum()
    assert log_posterior(U, n, noise, found).sum() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("right", "objectives", "start"),
    [(0, (9.0, 9.0, 9.0), 0), (1, (9.0, 9.0, 9.0), 1), (2, (9.0, 9.0, 9.0), 2),
     (0, (9.1, 9.0, 9.0), 1)],
    ids=["path", "consensus", "own orders", "path ended in a poor optimum"],
)  # fmt: skip
def test_the_most_probable_edges_are_kept(chain, rng, right, objectives, start):
    U, n = moments_of(chain, 500, rng), np.full(3, 500.0)
    allowed, none = respecting([np.arange(5)] * 3), np.zeros(U.shape, dtype=bool)
    found = decide(U, n, allowed, none, 0.3, none)
    empty = replace(found, adjacency=none)
    ends = [
        Directed([np.arange(5)] * 3, found if k == right else empty, np.zeros(U.shape))
        for k in range(3)
    ]

    chosen, _ = choose(U, n, ends, poor(objectives))

    assert chosen == start


def test_ties_tell_which_site_fits_the_others_badly(chain, rng):
    W = chain.copy()
    W[2] = W[2].T
    U, n = moments_of(W, 300, rng), np.full(3, 300.0)
    agreed = [np.arange(5)] * 3
    own = [np.arange(5), np.arange(5), np.arange(5)[::-1]]
    none = np.zeros(U.shape, dtype=bool)
    ends = [
        Directed(orders, decide(U, n, respecting(orders), none, 0.3, none), np.zeros(U.shape))
        for orders in (agreed, agreed, own)
    ]

    _, ties = choose(U, n, ends, np.zeros(3, dtype=bool))

    assert ties[2] < -0.1
    assert (ties[:2] > -0.01).all()


def test_a_site_that_loses_by_ties_keeps_its_own_order_and_the_others_theirs(chain, rng):
    W = chain.copy()
    W[2] = W[2].T
    U, n = moments_of(W, 300, rng), np.full(3, 300.0)
    agreed, backwards = [np.arange(5)] * 3, [np.arange(5)[::-1]] * 3
    none = np.zeros(U.shape, dtype=bool)
    ends = [
        Directed(orders, decide(U, n, respecting(orders), none, 0.3, none), np.zeros(U.shape))
        for orders in (agreed, agreed, backwards)
    ]
    chosen, ties = choose(U, n, ends, np.array([False, False, True]))

    found, untied = untie(U, n, ends, chosen, ties, 0.3, everywhere(U), none)
    _, loyal = untie(U, n, ends, chosen, np.abs(ties), 0.3, everywhere(U), none)

    assert_array_equal(found.evidence.adjacency, W != 0)
    assert untied.tolist() == [False, False, True]
    assert not loyal.any()


def test_a_single_site_has_no_ties(chain, rng):
    U, n = moments_of(chain[:1], 500, rng), np.array([500.0])
    none = np.zeros(U.shape, dtype=bool)
    right = decide(U, n, respecting([np.arange(5)]), none, 0.3, none)
    ends = [
        Directed([np.arange(5)], evidence, np.zeros(U.shape))
        for evidence in (replace(right, adjacency=none), right)
    ]

    chosen, ties = choose(U, n, ends, np.zeros(2, dtype=bool))

    assert chosen == 1
    assert ties.tolist() == [0.0]
