"""The simulations end to end, at their smallest: every file, one job per run, and resuming."""

import json

import pandas as pd
import pytest

SMALLEST = {"runs": 1, "variables": [7], "sites": [1], "perturbation": [0]}
RESULTS = [
    "README.md",
    "metrics.tsv",
    "wins.tsv",
    "cost.tsv",
    *(
        f"figure_{experiment}.{suffix}"
        for experiment in ("variables", "sites", "perturbation")
        for suffix in ("png", "svg")
    ),
]


@pytest.fixture
def small(study):
    """Give a study whose quick simulations are as few as can be."""
    study.edit_config(
        simulation__quick={**SMALLEST, "perturbation": [], "sites": []},
        simulation__weights=["shared"],
    )
    return study


def test_full_is_one_setting_away(study):
    assert study.jobs("simulation")["simulation_run"] < 40

    study.edit_config(simulation__preset="full")

    # The paper's 8, 6 and 5 settings, in two weight designs, ten times.
    assert study.jobs("simulation")["simulation_run"] == (8 + 6 + 5) * 2 * 10


def test_the_smallest_simulation_writes_its_tables_and_more_runs_reuse_the_first(small):
    tables = ("metrics", "wins", "cost")
    small.run("results/simulate/wins.tsv", *(f"results/simulate/{name}.json" for name in tables))

    for name in tables:
        path = small.path / f"results/simulate/{name}.tsv"
        described = json.loads(path.with_suffix(".json").read_text())
        assert set(pd.read_csv(path, sep="\t")) <= set(described)
    metrics = pd.read_csv(small.path / "results/simulate/metrics.tsv", sep="\t")
    assert len(metrics) == 5 * 4
    assert metrics["score"].notna().all()
    cost = pd.read_csv(small.path / "results/simulate/cost.tsv", sep="\t")
    assert (cost["cpu_seconds"] > 0).all()

    small.edit_config(simulation__quick__runs=2)
    assert small.jobs("results/simulate/wins.tsv") == {
        "simulation_run": 1,
        "simulation_metrics": 1,
    }

    small.edit_config(simulation__methods__admm_sparsity=0.3)
    assert small.jobs("results/simulate/wins.tsv") == {
        "simulation_run": 2,
        "simulation_metrics": 1,
    }


def test_the_target_announces_every_result(study):
    planned = study.snakemake("--dry-run", "simulation").stdout

    for name in RESULTS:
        assert f"results/simulate/{name}" in planned


def test_an_experiment_without_values_is_left_out(small):
    planned = small.jobs("simulation")

    assert planned["simulation_run"] == 1
    assert planned["simulation_figure"] == 1
