"""The page says who wins, by how much, and that nothing was tuned on what it reports."""

import itertools

import pandas as pd
import pytest

from notears_pfl.report.simulation_page import simulation_page
from notears_pfl.simulate.experiments import METHODS
from notears_pfl.simulate.metrics import METRICS, cost, wins

METHOD_SETTINGS = {
    "threshold": 0.3,
    "sig_sparsity": 0.5,
    "avg_sparsity": 1,
    "admm_sparsity": 0.25,
    "notears_tolerance": 1e-6,
    "admm_tolerance": 1e-8,
}
GRAPH_SETTINGS = {"edges_per_variable": 1, "perturbation": "edges"}


@pytest.fixture
def page():
    """Give the page of two runs in which a method's rank is its place in the list."""
    identity = {"experiment": "variables", "value": 10, "weights": "shared"}
    ranks = {method: rank for rank, method in enumerate(METHODS)}
    scores = pd.DataFrame(
        [
            identity | {"run": run, "method": method, "metric": metric, "score": ranks[method]}
            for run, method, metric in itertools.product((1, 2), METHODS, METRICS)
        ]
    )
    runs = pd.DataFrame(
        [
            identity | {"run": 1, "method": method, "cpu_seconds": 2.5 * rank, "converged": 1.0}
            for method, rank in ranks.items()
        ]
    )
    return simulation_page(wins(scores), cost(runs), METHOD_SETTINGS, GRAPH_SETTINGS)


def test_the_best_f_score_is_bold_with_its_lead(page):
    row = "| weights shared by the sites | 10 | 0.000 | 1.000 | 2.000 | 3.000 | **4.000** |"

    assert f"{row} 1.000 ± 0.000 |" in page


def test_the_tally_counts_wins_by_the_metrics_own_direction(page):
    # The highest score loses where lower is better.
    assert "| weights shared by the sites | NOTEARS-PFL, edge-wise | 1 | 1 | 0 | 0 |" in page
    assert "| NOTEARS-ADMM (one consensus) | 0 | 0 | 1 | 1 |" in page


def test_the_page_states_cost_settings_and_seeds(page):
    assert "| 10 | 0.00 | 2.50 | 5.00 | 7.50 | 10.00 |" in page
    assert "c = 0.5 for SIG" in page
    assert "which nothing was tuned on" in page
    assert "2 runs of every setting" in page
