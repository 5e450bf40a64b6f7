"""The simulations: figures, the section of the report, the Markdown page and the paper's claims."""

import itertools

import pandas as pd
import pytest

from notears_pfl.report.sections.simulations import (
    ADVANTAGE,
    BEST,
    DECLINE,
    ERRORS,
    METHOD_LOOKS,
    METRIC_LABELS,
    paper_claims,
    simulation_figure,
    simulation_page,
    simulations_section,
)
from notears_pfl.simulate.experiments import METHODS
from notears_pfl.simulate.metrics import METRICS, cost, wins
from notears_pfl.simulate.sites import EXPERIMENTS

from ..toy import texts

METHOD_SETTINGS = {
    "threshold": 0.3,
    "sig_sparsity": 0.5,
    "avg_sparsity": 1,
    "admm_sparsity": 0.25,
    "notears_tolerance": 1e-6,
    "admm_tolerance": 1e-8,
}
GRAPH_SETTINGS = {"edges_per_variable": 1, "perturbation": "edges"}
# Order of the scores in the made-up tables of the claims.
CLAIM_METHODS = ("pfl_edgewise", "pfl_chain", "sig", "avg", "admm")


@pytest.fixture
def metrics():
    combinations = itertools.product((10, 20), ("per_site", "shared"), (1, 2), METHODS, METRICS)
    columns = ["value", "weights", "run", "method", "metric"]
    table = pd.DataFrame(list(combinations), columns=columns)
    return table.assign(experiment="variables", score=table["run"] / 4)


def test_every_design_has_a_panel_for_every_metric(metrics):
    figure = simulation_figure(metrics, "variables")

    assert [axis.get_title() for axis in figure.axes] == 2 * list(METRIC_LABELS.values())


def test_a_panel_draws_the_mean_of_the_runs_of_every_method(metrics):
    panel = simulation_figure(metrics, "variables").axes[0]

    assert len(panel.lines) == len(METHODS)
    for line in panel.lines:
        assert line.get_ydata().tolist() == pytest.approx([0.375, 0.375])


def test_the_caption_states_the_number_of_runs(metrics):
    caption = simulation_figure(metrics, "variables").get_supxlabel()

    assert "n = 2 runs" in caption
    assert "K = 10 sites" in caption


def test_every_method_metric_and_experiment_has_a_look(metrics):
    assert set(METHOD_LOOKS) == set(METHODS)
    assert set(METRIC_LABELS) == set(METRICS)
    for experiment in EXPERIMENTS:
        simulation_figure(metrics.assign(experiment=experiment), experiment)


def test_simulations_that_were_not_run_say_how_to_run_them(pictures):
    assert "snakemake simulation --cores all" in simulations_section(None, None, pictures).missing


def test_simulations_that_were_run_are_summed_up(pictures):
    found = pd.DataFrame(
        {"experiment": "sites", "value": [2, 8], "weights": "shared", "metric": "f_score",
         "best": ["pfl_edgewise", "avg"], "runs": 2}
    )  # fmt: skip
    costs = pd.DataFrame(
        {"experiment": ["sites"] * 2 + ["perturbation"] * 4, "value": [2, 2, 5, 5, 30, 30],
         "method": ["sig", "avg"] * 3, "cpu_seconds": [3, 1.5, 4, 1, 5, 2]}
    )  # fmt: skip

    content = simulations_section(found, costs, pictures).content

    assert [row[-1] for row in texts(content["tally"])] == ["1", "0", "0", "1", "0"]
    assert texts(content["cost"]) == [
        ["sites", "2", "3.00", "1.50"],
        ["perturbation", "5", "4.00", "1.00"],
        ["perturbation", "30", "5.00", "2.00"],
    ]


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
    assert "The results on this page come from streams named `report`" in page
    assert "2 runs of every setting" in page


def table(experiment, f_scores, errors=(0.1, 0.3, 0.3, 0.3, 0.3)):
    """Give wins with an F-score per value and method; precision follows it, error and SHD not."""
    rows = []
    for value, run, metric in itertools.product(f_scores, (1, 2), METRICS):
        scores = errors if metric in ("error", "shd") else f_scores[value]
        rows += [
            {"experiment": experiment, "value": value, "weights": "shared", "run": run}
            | {"method": method, "metric": metric, "score": score}
            for method, score in zip(CLAIM_METHODS, scores, strict=True)
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
