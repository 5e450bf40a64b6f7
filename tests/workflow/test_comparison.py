"""The comparison end to end on a small study of ROI series with a planted difference."""

import numpy as np
import pandas as pd
import pytest
import yaml

SITES, GROUPS = ("PITT", "YALE"), ("ASD", "TC")
REGIONS = ["PreCG.L", "PreCG.R", "SFGdor.L", "SFGdor.R", "ORBsup.L", "ORBsup.R"]
RESULTS = [
    "proportion_tests.tsv", "edges.tsv", "cost.tsv", "figure_proportions.png",
    "figure_proportions.svg",
]  # fmt: skip


def series(seed, group):
    """116 series: 1 drives 2 in everybody, 3 drives 4 in patients, 4 drives 3 in nobody."""
    x = np.random.default_rng(seed).normal(size=(100, 116))
    x[:, 1] += 0.8 * x[:, 0]
    x[:, 3] += 0.8 * x[:, 2] * (group == "ASD")
    return x


@pytest.fixture
def small(study):
    """Give two sites of eight patients and seven controls, and networks of six regions."""
    rows = [
        (f"sub-{site}{group}{i}", site, group)
        for site in SITES
        for group, n in zip(GROUPS, (8, 7), strict=True)
        for i in range(n)
    ]
    participants = pd.DataFrame(rows, columns=["participant_id", "site", "group"])
    participants.to_csv(study.path / "participants.tsv", sep="\t", index=False)
    arrays = {name: series(i, group) for i, (name, _, group) in enumerate(rows)}
    np.savez(study.path / "series.npz", **arrays)
    study.edit_table(
        "rois",
        lambda rois: rois.assign(selected=rois["abbreviation"].isin(REGIONS).map(str).str.lower()),
    )
    published = "from\tto\nPreCG.L\tPreCG.R\nSFGdor.L\tSFGdor.R\nSFGdor.R\tSFGdor.L\n"
    (study.path / "config/published/tested_connections.tsv").write_text(published)
    study.edit_config(
        source={
            "kind": "timeseries", "participants": "participants.tsv", "series": "series.npz",
            "site_column": "site", "group_column": "group",
        },
        groups={"patients": "ASD", "controls": "TC"},
        rois__n_selected=len(REGIONS),
        cohort__discovery_share=0.5,
        comparison__n_draws=4,
        comparison__patients_per_site=3,
        comparison__controls_per_site=3,
    )  # fmt: skip
    return study


@pytest.fixture
def table(small):
    def read(name):
        return pd.read_csv(small.path / "results/compare" / name, sep="\t")

    return read


def test_the_comparison_runs_and_reruns_what_a_change_touches(small, table):
    small.run("comparison")

    for name in RESULTS:
        assert (small.path / "results/compare" / name).stat().st_size > 0
    edges = table("edges.tsv")
    assert len(edges) == 4 * 4 * 5 * 2
    assert (edges["n_edges"] == edges["m"]).all()
    assert edges["m"].min() > 0
    tests = table("proportion_tests.tsv")
    published = tests[tests["source"] == "published"].set_index(["from", "to", "method"])
    assert len(published) == 3 * 5
    planted = published.loc[("SFGdor.L", "SFGdor.R", "pfl")]
    assert (planted["count_ASD"], planted["count_TC"]) == (4, 0)
    assert planted["p_permutation"] < 0.05
    shared = published.loc[("PreCG.L", "PreCG.R", "pfl")]
    assert (shared["count_ASD"], shared["count_TC"], shared["p_permutation"]) == (4, 4, 1)
    assert (
        tests["note"] == "PITT TC: every draw is the same | YALE TC: every draw is the same"
    ).all()
    assert set(table("cost.tsv")["method"]) == {"pfl", "sig", "ges", "pc", "granger"}

    assert small.jobs("comparison") == {}
    small.edit_config(comparison__permutations=199)
    assert small.jobs("comparison") == {"proportion_tests": 1, "proportion_figure": 1}
    small.edit_config(comparison__n_draws=6)
    more = {"compare_draws": 1, "compare_networks": 2}
    assert small.jobs("comparison") == {**more, "proportion_tests": 1, "proportion_figure": 1}
    small.edit_config(comparison__n_draws=4)
    second = "results/compare/draws/draw-2_edges.tsv"
    before = (small.path / second).read_bytes()
    small.run(second, "--forcerun", second)
    assert (small.path / second).read_bytes() == before


def test_a_connection_of_a_region_that_is_not_selected_is_refused(small):
    published = small.path / "config/published/tested_connections.tsv"
    published.write_text("from\tto\nINS.R\tPreCG.L\n")

    done = small.snakemake("--cores", "1")

    assert done.returncode != 0
    assert not (small.path / "results").exists()
    assert "row 1: INS.R not among the 6 selected regions" in done.stderr


def test_a_plain_run_of_the_phantom_compares_ten_draws_one_job_each(study):
    jobs = study.jobs()

    assert jobs["compare_networks"] == 10
    assert jobs["proportion_tests"] == jobs["proportion_figure"] == 1


def test_draws_of_the_phantom_can_differ(study):
    """At each site, more validation subjects of each group than a draw takes."""
    sites = pd.read_csv(study.path / "config/sites.tsv", sep="\t")
    config = yaml.safe_load((study.path / "config/config.yaml").read_text())
    for group in ("patients", "controls"):
        n = sites[f"phantom_{group}"]
        n_validation = n - (config["cohort"]["discovery_share"] * n).round()
        assert (n >= 10).all()
        assert (n_validation > config["comparison"][f"{group}_per_site"]).all()
