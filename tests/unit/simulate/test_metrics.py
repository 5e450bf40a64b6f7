"""The four metrics, worked by hand; the best method is the one that is better on average."""

import numpy as np
import pandas as pd
import pytest

from notears_pfl.simulate.metrics import compare, compare_sites, cost, long_form, wins


def graph(*edges, d=4):
    adjacency = np.zeros((d, d), dtype=bool)
    for i, j in edges:
        adjacency[i, j] = True
    return adjacency


# Truth 0 → 1, 1 → 2, 2 → 3; twelve ordered pairs.
TRUTH = graph((0, 1), (1, 2), (2, 3))


@pytest.mark.parametrize(
    ("learned", "error", "shd", "precision", "f_score"),
    [
        pytest.param(TRUTH, 0, 0, 1, 1, id="the truth"),
        # TP 2, FP 0, FN 1.
        pytest.param(graph((0, 1), (1, 2)), 1 / 12, 1, 1, 4 / 5, id="one missing"),
        # TP 3, FP 1, FN 0.
        pytest.param(
            graph((0, 1), (1, 2), (2, 3), (0, 3)), 1 / 12, 1, 3 / 4, 6 / 7, id="one extra"
        ),
        # TP 2, FP 1, FN 1: two wrong ordered pairs, one step.
        pytest.param(graph((1, 0), (1, 2), (2, 3)), 2 / 12, 1, 2 / 3, 2 / 3, id="one reversed"),
        # TP 1, FP 2, FN 2; (1, 2) reversed, (2, 3) missing, (0, 2) extra.
        pytest.param(graph((0, 1), (2, 1), (0, 2)), 4 / 12, 3, 1 / 3, 1 / 3, id="one of each"),
        pytest.param(graph(), 3 / 12, 3, 0, 0, id="nothing learned"),
    ],
)
def test_metrics_by_hand(learned, error, shd, precision, f_score):
    metrics = compare(TRUTH, learned)

    assert metrics.error == pytest.approx(error)
    assert metrics.shd == shd
    assert metrics.precision == pytest.approx(precision)
    assert metrics.f_score == pytest.approx(f_score)


def test_an_empty_truth_learned_as_empty_is_perfect():
    metrics = compare(graph(), graph())

    assert (metrics.error, metrics.shd, metrics.precision, metrics.f_score) == (0, 0, 1, 1)


def test_weights_count_as_edges_whatever_their_sign():
    assert compare(TRUTH, np.where(TRUTH, -0.7, 0.0)).f_score == 1


def test_sites_are_averaged_metric_by_metric():
    metrics = compare_sites([TRUTH, TRUTH], [TRUTH, graph((1, 0), (1, 2), (2, 3))])

    assert metrics.shd == 0.5
    assert metrics.f_score == pytest.approx((1 + 2 / 3) / 2)


def test_the_f_score_is_the_harmonic_mean_of_precision_and_recall(rng):
    true, learned = rng.random((6, 6)) < 0.4, rng.random((6, 6)) < 0.4
    precision = (true & learned).sum() / learned.sum()
    recall = (true & learned).sum() / true.sum()

    assert compare(true, learned).f_score == pytest.approx(
        2 * precision * recall / (precision + recall)
    )


@pytest.fixture
def runs():
    """Two runs of three methods at one setting."""
    scores = {
        # method: error, shd, precision, f_score and CPU seconds in run 1 and run 2
        "pfl_edgewise": ([0.1, 0.2], [3, 4], [0.8, 0.6], [0.9, 0.7], [1.0, 3.0]),
        "sig": ([0.3, 0.5], [5, 5], [0.9, 0.9], [0.4, 0.5], [10.0, 20.0]),
        "avg": ([0.2, 0.3], [4, 6], [0.5, 0.5], [0.6, 0.6], [2.0, 2.0]),
    }
    columns = ["error", "shd", "precision", "f_score", "cpu_seconds"]
    return pd.DataFrame(
        [
            {"experiment": "variables", "value": 10, "weights": "shared", "run": run + 1}
            | {"n_variables": 10, "n_sites": 10, "n_samples": 30, "perturbation": 0.1}
            | {"method": method, "converged": 1.0}
            | {column: pair[run] for column, pair in zip(columns, pairs, strict=True)}
            for method, pairs in scores.items()
            for run in (0, 1)
        ]
    )


def test_long_form_has_a_row_for_every_run_method_and_metric(runs):
    metrics = long_form(runs)

    assert len(metrics) == 2 * 3 * 4
    picked = metrics.query("run == 2 and method == 'avg' and metric == 'shd'")
    assert picked["score"].tolist() == [6]


def test_the_winner_has_the_lowest_error_but_the_highest_precision(runs):
    table = wins(long_form(runs)).set_index("metric")

    assert table.loc["error", "best"] == "pfl_edgewise"
    assert table.loc["error", "second"] == "avg"
    assert table.loc["error", "lead"] == pytest.approx(0.1)
    assert table.loc["precision", "best"] == "sig"
    assert table.loc["precision", "sig"] == pytest.approx(0.9)


def test_the_standard_error_of_the_lead_is_that_of_the_paired_differences(runs):
    table = wins(long_form(runs)).set_index("metric")

    # F leads by 0.3 and by 0.1: mean 0.2, standard deviation 0.1·√2, over two runs.
    assert table.loc["f_score", "lead"] == pytest.approx(0.2)
    assert table.loc["f_score", "lead_standard_error"] == pytest.approx(0.1)
    assert table.loc["f_score", "runs"] == 2


def test_the_metrics_of_a_setting_stand_together(runs):
    both = pd.concat([runs, runs.assign(value=20)])

    table = wins(long_form(both))

    assert table["value"].tolist() == [10] * 4 + [20] * 4


def test_the_cost_is_the_mean_over_runs_with_its_range(runs):
    table = cost(runs).set_index("method")

    assert table.loc["sig", "cpu_seconds"] == 15
    assert table.loc["sig", ["cpu_seconds_min", "cpu_seconds_max"]].tolist() == [10, 20]
    assert table.loc["sig", "runs"] == 2
