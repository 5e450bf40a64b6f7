"""The figure shows every method's mean and spread, and says how many runs they come from."""

import itertools

import pandas as pd
import pytest

from notears_pfl.report.simulation_figures import METHOD_LOOKS, METRIC_LABELS, simulation_figure
from notears_pfl.simulate.experiments import METHODS
from notears_pfl.simulate.metrics import METRICS
from notears_pfl.simulate.sites import EXPERIMENTS


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
