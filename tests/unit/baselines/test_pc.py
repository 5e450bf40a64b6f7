"""PC finds what causal-learn's PC finds, from the definition of its tests."""

import sys
import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from causallearn.search.ConstraintBased.PC import pc as causallearn_pc
from causallearn.utils.cit import CIT
from causallearn.utils.PCUtils.SkeletonDiscovery import skeleton_discovery
from numpy.testing import assert_allclose, assert_array_equal

from notears_pfl.baselines import pc
from notears_pfl.baselines.equivalence import Pdag, essential_graph
from notears_pfl.baselines.pc import _choices, _kept_choices, pc_with_edges, skeleton
from notears_pfl.errors import InputError
from notears_pfl.model.problem import is_acyclic


def linked(graph):
    """Skeleton of a causal-learn graph."""
    return (graph.G.graph != 0) | (graph.G.graph.T != 0)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("alpha", [0.001, 0.05, 0.3])
@pytest.mark.parametrize("max_condition", [0, 1, 3])
def test_the_skeleton_is_that_of_causal_learn_at_equal_alpha(
    samples_of, seed, alpha, max_condition
):
    _, x = samples_of(seed)

    fit = pc(x, alpha=alpha, max_condition=max_condition)

    theirs = skeleton_discovery(
        x, alpha, CIT(x, "fisherz"), show_progress=False, max_k=max_condition
    )
    assert_array_equal(fit.cpdag | fit.cpdag.T, linked(theirs))


@pytest.mark.parametrize("seed", range(12))
def test_exact_moments_give_the_true_class(samples_of, seed):
    network, _ = samples_of(seed)
    A = np.linalg.inv(np.eye(8) - network)

    fit = pc((A.T @ A, 10**10), alpha=1e-4, max_condition=6)

    assert_array_equal(fit.cpdag, essential_graph(Pdag.from_mask(network != 0)).mask())
    assert fit.consistent


@pytest.mark.parametrize("seed", [3, 5, 6])
def test_many_samples_give_the_class_of_causal_learn(samples_of, seed):
    _, x = samples_of(seed, d=6, n=100_000)

    fit = pc(x, alpha=1e-4, max_condition=4)

    theirs = causallearn_pc(x, 1e-4, show_progress=False)
    assert_array_equal(fit.cpdag, theirs.G.graph == -1)


def test_the_strength_of_an_edge_is_its_weakest_test(rng):
    x = rng.normal(size=(60, 5)) @ (np.eye(5) + 0.6 * np.triu(rng.normal(size=(5, 5)), 1))
    R = np.corrcoef(x, rowvar=False)

    found = skeleton(R, 60, 0.0, 2)

    for i, j in combinations(range(5), 2):
        others = [k for k in range(5) if k not in (i, j)]
        statistics = []
        for size in range(3):
            for S in combinations(others, size):
                P = np.linalg.inv(R[np.ix_([i, j, *S], [i, j, *S])])
                r = -P[0, 1] / np.sqrt(P[0, 0] * P[1, 1])
                statistics.append(np.sqrt(60 - size - 3) * abs(np.arctanh(r)))
        assert_allclose(found.strength[i, j], min(statistics), rtol=1e-8)


def test_the_order_of_the_variables_does_not_matter_to_the_skeleton(samples_of):
    _, x = samples_of(3)
    order = np.random.default_rng(0).permutation(8)

    first, second = pc(x, alpha=0.05).cpdag, pc(x[:, order], alpha=0.05).cpdag

    assert_array_equal((first | first.T)[np.ix_(order, order)], second | second.T)


@pytest.mark.parametrize("n_edges", [1, 5, 9, 14, 28])
def test_bisection_leaves_at_least_the_edges_asked_for_and_few_more(samples_of, n_edges):
    _, x = samples_of(2)

    fit = pc_with_edges(x, n_edges)

    assert is_acyclic(fit.dag)
    assert n_edges <= fit.dag.sum() <= n_edges + 2
    assert ((fit.evidence > 0) == fit.dag).all()


def test_moments_give_the_same_class_as_the_samples(samples_of):
    _, x = samples_of(1)

    assert_array_equal(pc((x.T @ x / len(x), len(x))).dag, pc(x, center=False).dag)


@pytest.mark.parametrize("alpha", [0, 1, -0.1, float("nan")])
def test_a_level_outside_0_and_1_is_refused(rng, alpha):
    with pytest.raises(InputError, match=f"between 0 and 1, found {alpha}"):
        pc(rng.normal(size=(20, 3)), alpha=alpha)


def test_too_few_samples_for_the_conditioning_sets_are_refused(rng):
    with pytest.raises(InputError, match="needs more than 6 samples; found 6"):
        pc(rng.normal(size=(6, 3)))


def test_a_negative_conditioning_set_is_refused(rng):
    with pytest.raises(InputError, match="max_condition: needed 0 or more, found -1"):
        pc(rng.normal(size=(6, 3)), max_condition=-1)


def test_the_size_of_the_blocks_of_tests_changes_nothing(samples_of, monkeypatch):
    _, x = samples_of(2)
    whole = pc(x, alpha=0.3)

    monkeypatch.setattr(sys.modules["notears_pfl.baselines.pc"], "BLOCK", 3)

    for name in ("cpdag", "dag", "evidence"):
        assert_array_equal(getattr(pc(x, alpha=0.3), name), getattr(whole, name))


def test_only_small_tables_of_positions_stay_in_memory():
    _kept_choices.cache_clear()
    tracemalloc.start()

    sizes = [_choices(n, 2).nbytes for n in (10, 30, 50, 51, 52, 53)]

    assert tracemalloc.get_traced_memory()[0] < sum(sizes[:2]) + 2**16
    assert max(sizes) > 2**20
    assert _choices(30, 2) is _choices(30, 2)
    tracemalloc.stop()
