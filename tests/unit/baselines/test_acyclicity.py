"""h is right, and the way to a DAG drops as little as it can."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime

from notears_pfl.baselines.acyclicity import threshold_to_dag, trace_exponential
from notears_pfl.model.order import is_acyclic


def test_h_is_zero_on_a_dag_and_positive_on_a_cycle(rng):
    dag = np.triu(rng.normal(size=(6, 6)), k=1)
    cycle = dag.copy()
    cycle[5, 0] = 1.0

    assert trace_exponential(dag)[0] == pytest.approx(0, abs=1e-9)
    assert trace_exponential(cycle)[0] > 0.01


def test_h_gradient_matches_finite_differences(rng):
    W = 0.4 * rng.normal(size=(4, 4))

    numeric = approx_fprime(W.ravel(), lambda w: trace_exponential(w.reshape(4, 4))[0], 1e-7)

    assert_allclose(trace_exponential(W)[1].ravel(), numeric, atol=1e-4)


def test_threshold_to_dag_drops_the_weakest_edges_only_until_acyclic():
    W = np.array([[9.0, 0.9, 0.31], [0.4, 0.0, 0.8], [0.5, 0.0, 0.0]])

    dag = threshold_to_dag(W, 0.3)

    # 0.31 and 0.4 are weaker than 0.5, which closes 0 → 1 → 2 → 0.
    assert_array_equal(dag, [[0, 0.9, 0], [0, 0, 0.8], [0, 0, 0]])


def test_threshold_to_dag_agrees_with_removing_one_edge_at_a_time(rng):
    for _ in range(20):
        W = rng.normal(size=(7, 7))
        slow = np.where(np.eye(7) == 1, 0, W)
        while not is_acyclic(slow != 0):
            slow[np.abs(slow) == np.abs(slow[slow != 0]).min()] = 0

        assert_array_equal(threshold_to_dag(W, 0.0), slow)
