"""A run is the same every time, treats all methods alike, and tells them apart."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from notears_pfl.seeds import stream
from notears_pfl.simulate.experiments import METHODS, MethodOptions, Run, learn, run_simulation
from notears_pfl.simulate.metrics import compare_sites
from notears_pfl.simulate.sites import GraphOptions, Setting, setting_of, simulate_sites

GRAPHS = GraphOptions(edges_per_variable=1, perturbation="edges")
OPTIONS = MethodOptions(
    threshold=0.3,
    sig_sparsity=0.4,
    avg_sparsity=1,
    admm_sparsity=0.25,
    notears_tolerance=1e-6,
    admm_tolerance=1e-8,
)


def run(number=1, methods=("avg", "pfl_edgewise")):
    return run_simulation(
        Run("variables", 10, "shared", number),
        seed=7,
        graph_options=GRAPHS,
        method_options=OPTIONS,
        methods=methods,
    )


def test_the_same_run_gives_the_same_scores_and_another_run_others():
    first, again, other = (r.drop(columns=["cpu_seconds", "run"]) for r in (run(), run(), run(2)))

    pd.testing.assert_frame_equal(first, again, check_exact=True)
    assert not first["f_score"].equals(other["f_score"])


def test_a_run_has_one_row_per_method_with_the_scores_of_its_graphs():
    table = run()

    assert table["method"].tolist() == ["avg", "pfl_edgewise"]
    assert table[["n_variables", "n_sites", "n_samples"]].drop_duplicates().size == 3
    assert table["f_score"].between(0.3, 1).all()


def test_a_methods_score_does_not_depend_on_the_methods_before_it():
    alone, after = run(methods=["avg"]), run(methods=["pfl_edgewise", "avg"])

    assert alone["f_score"].iloc[0] == after["f_score"].iloc[1]


def test_what_is_tuned_never_sees_the_reported_samples():
    setting = setting_of("variables", 10)

    reported, tuned = (
        simulate_sites(stream(7, "simulation", purpose), setting, "shared", GRAPHS)
        for purpose in ("report", "tune")
    )

    assert not np.array_equal(reported.samples[0], tuned.samples[0])


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_a_common_network_when_samples_abound(rng, method):
    sites = simulate_sites(rng, Setting(8, 3, 6_000, 0.0), "shared", GRAPHS)

    learned = learn(method, sites.samples, OPTIONS)

    assert learned.graphs.shape == (3, 8, 8)
    assert compare_sites(sites.graphs, list(learned.graphs)).f_score > 0.7


@pytest.mark.parametrize("method", ["avg", "admm"])
def test_methods_with_one_network_give_it_to_every_site(rng, method):
    sites = simulate_sites(rng, Setting(8, 3, 90, 0.3), "per_site", GRAPHS)

    learned = learn(method, sites.samples, OPTIONS)

    assert_array_equal(learned.graphs[0], learned.graphs[2])
