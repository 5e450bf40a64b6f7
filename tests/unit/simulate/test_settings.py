"""The settings are those of section 4, and every preset lists all of its runs."""

import pytest

from notears_pfl.simulate.settings import Setting, list_runs, setting_of


@pytest.mark.parametrize(
    ("experiment", "value", "expected"),
    [
        ("variables", 80, Setting(80, n_sites=10, n_samples=240, perturbation=0.1)),
        ("sites", 64, Setting(50, n_sites=64, n_samples=256, perturbation=0.1)),
        ("perturbation", 30, Setting(30, n_sites=10, n_samples=90, perturbation=0.3)),
    ],
)
def test_settings_follow_the_paper(experiment, value, expected):
    assert setting_of(experiment, value) == expected


def test_a_preset_lists_every_value_design_and_run_once():
    preset = {"runs": 2, "variables": [10, 20], "sites": [4], "perturbation": []}

    runs = list_runs(preset, ["per_site", "shared"])

    assert len(runs) == (2 + 1) * 2 * 2
    assert not runs.duplicated().any()
    assert set(runs["run"]) == {1, 2}
    assert set(runs.loc[runs["experiment"] == "variables", "value"]) == {10, 20}
