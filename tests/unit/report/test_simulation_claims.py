"""The paper's claims are judged by the means of the runs, each by its own rule."""

import itertools

import pandas as pd
import pytest

from notears_pfl.report.simulation_claims import ADVANTAGE, BEST, DECLINE, ERRORS, paper_claims
from notears_pfl.simulate.metrics import METRICS, wins

METHODS = ("pfl_edgewise", "pfl_chain", "sig", "avg", "admm")


def table(experiment, f_scores, errors=(0.1, 0.3, 0.3, 0.3, 0.3)):
    """Give wins with an F-score per value and method; precision follows it, error and SHD not."""
    rows = []
    for value, run, metric in itertools.product(f_scores, (1, 2), METRICS):
        scores = errors if metric in ("error", "shd") else f_scores[value]
        rows += [
            {"experiment": experiment, "value": value, "weights": "shared", "run": run}
            | {"method": method, "metric": metric, "score": score}
            for method, score in zip(METHODS, scores, strict=True)
        ]
    return wins(pd.DataFrame(rows))


def claims(table):
    return {row[0]: row[1:] for row in paper_claims(table)}


def test_being_best_needs_every_metric_at_every_value():
    found = claims(table("variables", {10: (0.9, 0.9, 0.5, 0.5, 0.5), 20: (0.9, 0.5, 0.6, 0, 0)}))

    design, chain, edgewise = found[BEST["variables"]]
    assert design == "weights shared by the sites"
    assert edgewise == "holds: at Error 2, SHD 2, Precision 2, F-score 2 of 2"
    # A tie in error and SHD is no win.
    assert chain == "**does not hold**: at Error 0, SHD 0, Precision 1, F-score 1 of 2"
    assert found[ERRORS][2] == "lower: 0.100 to 0.100, SIG 0.300 to 0.300"
    assert found[ERRORS][1].startswith("**not always lower**")


@pytest.mark.parametrize(
    ("many", "expected"),
    [
        ((0.8, 0.5, 0.4, 0.3, 0.5), ("**does not hold**", "holds")),
        ((0.4, 0.8, 0.4, 0.3, 0.5), ("holds", "**does not hold**")),
    ],
)
def test_the_decline_with_sites_is_less_than_that_of_both_separate_and_pooled(many, expected):
    found = claims(table("sites", {2: (0.9, 0.9, 0.7, 0.6, 0.6), 64: many}))[DECLINE]

    assert [cell.split(":")[0] for cell in found[1:]] == list(expected)
    assert f"it 0.90 to {many[1]:.2f}, SIG 0.70 to 0.40, AVG 0.60 to 0.30" in found[1]


def test_the_advantage_grows_only_if_there_is_one():
    low, high = (0.6, 0.1, 0.5, 0.5, 0.5), (0.7, 0.3, 0.4, 0.4, 0.4)

    found = claims(table("perturbation", {5: low, 30: high}))[ADVANTAGE]

    assert found[2] == "holds: lead +0.10 to +0.30"
    assert found[1] == "**does not hold**: lead -0.40 to -0.10"


def test_a_single_value_shows_no_trend():
    assert DECLINE not in claims(table("sites", {8: (0.9, 0.9, 0.7, 0.6, 0.6)}))
