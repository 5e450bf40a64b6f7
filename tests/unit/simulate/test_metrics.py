"""The four metrics, worked by hand."""

import numpy as np
import pytest

from notears_pfl.simulate.metrics import compare, compare_sites


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
