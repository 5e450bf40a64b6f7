"""Edge weights of subjects against a characteristic: planted slopes, chance, and missing values."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.stats import false_discovery_control, kstest

from notears_pfl.analysis.weight_regression import regress_weights, subject_weight_table
from notears_pfl.evidence.moments import subject_moments
from notears_pfl.evidence.subject_weights import subject_weights
from notears_pfl.io.tables import read_table, write_table

SITES = ("COI", "HUH")
SCRIPT = Path(__file__).parents[3] / "scripts/weight_regression.py"


def study(rng, slopes, n_per_site=20, groups=("MDD",)):
    """Give weights of one edge per slope in the subjects of two sites, and their ages."""
    names, weights = [], {}
    for group in groups:
        for k, site in enumerate(SITES):
            own = [f"sub-{site}{group}{i:03d}" for i in range(n_per_site)]
            names += own
            weights[group, site] = own, k
    ages = pd.Series(rng.uniform(20, 60, len(names)), index=names)
    tables = {}
    for pair, (own, k) in weights.items():
        w = slopes * ages[own].to_numpy()[:, None] + 3.0 * k
        w = w + rng.normal(scale=0.5, size=w.shape)
        tables[pair] = pd.concat(
            pd.DataFrame({"participant_id": own, "from": f"A{e}", "to": "B", "weight": w[:, e]})
            for e in range(w.shape[1])
        )
    return tables, pd.DataFrame({"age": ages})


def no_covariates(people):
    return people[[]]


def test_the_long_table_keeps_every_weight_with_its_subject_and_edge():
    network = pd.DataFrame([[0, 0.5], [0, 0]], index=["A", "B"], columns=["A", "B"])

    table = subject_weight_table(
        ["sub-1", "sub-2"], ["discovery", "validation"], np.array([[0.4], [0.7]]),
        np.array([[0.1], [np.nan]]), network,
    )  # fmt: skip

    assert table.loc[1, ["participant_id", "split", "from", "to"]].tolist() == [
        "sub-2", "validation", "A", "B",
    ]  # fmt: skip
    assert table["weight"].tolist() == [0.4, 0.7]


def test_the_regression_is_least_squares_with_a_column_for_every_site(rng):
    weights, people = study(rng, np.array([0.02]))
    sex = pd.DataFrame({"sex": rng.integers(0, 2, len(people)).astype(float)}, index=people.index)

    row = regress_weights(weights, people, sex).iloc[0]

    table = pd.concat(table.assign(site=site) for (_, site), table in weights.items())
    who = table["participant_id"]
    sites = pd.get_dummies(table["site"]).to_numpy(float)
    design = np.column_stack([people.loc[who, "age"], sex.loc[who, "sex"], sites])
    fit = sm.OLS(table["weight"].to_numpy(), design).fit()
    figures = row[["effect", "standard_error", "p"]].to_numpy(float)
    np.testing.assert_allclose(figures, [fit.params[0], fit.bse[0], fit.pvalues[0]], rtol=1e-8)
    np.testing.assert_allclose(row[["low", "high"]].to_numpy(float), fit.conf_int()[0], rtol=1e-8)
    # A partial correlation is t / √(t² + degrees of freedom).
    t = fit.tvalues[0]
    assert row["r"] == pytest.approx(t / np.sqrt(t**2 + fit.df_resid))
    assert (row["n"], row["sites"], row["missing"]) == (40, 2, 0)


def test_intervals_cover_planted_slopes_and_chance_alone_gives_uniform_p(rng):
    slopes = np.repeat([0.02, 0.0], 300)
    table = regress_weights(*(made := study(rng, slopes)), no_covariates(made[1]))
    table["slope"] = slopes[table["from"].str[1:].astype(int)]

    covered = table["slope"].between(table["low"], table["high"]).mean()
    planted, null = table[table["slope"] > 0], table[table["slope"] == 0]

    assert covered == pytest.approx(0.95, abs=0.03)
    assert planted["effect"].mean() == pytest.approx(0.02, abs=0.001)
    assert kstest(null["p"], "uniform").pvalue > 0.01
    # Of what q ≤ 0.05 finds, at most about 5 % is chance.
    found = table[table["q"] <= 0.05]
    assert len(found) > 100
    assert (found["slope"] == 0).mean() < 0.08


def test_sites_that_differ_in_age_and_in_weight_make_no_effect(rng):
    weights, people = study(rng, np.zeros(1), n_per_site=200)
    people.loc[[name for name in people.index if "HUH" in name], "age"] += 30

    row = regress_weights(weights, people, no_covariates(people)).iloc[0]

    assert abs(row["effect"]) < 4 * row["standard_error"] < 0.02


def test_q_is_over_the_edges_of_both_groups_for_each_column(rng):
    weights, people = study(rng, np.zeros(5), groups=("MDD", "HC"))
    people["bdi"] = rng.normal(size=len(people))

    table = regress_weights(weights, people, no_covariates(people))

    for _, own in table.groupby("column"):
        assert len(own) == 10
        np.testing.assert_allclose(own["q"], false_discovery_control(own["p"]))


def test_subjects_without_a_value_are_left_out_and_counted(rng):
    weights, people = study(rng, np.array([0.02]))
    people.iloc[[3, 25]] = np.nan
    known = people.dropna()
    complete = {
        pair: table[table["participant_id"].isin(known.index)] for pair, table in weights.items()
    }

    row = regress_weights(weights, people, no_covariates(people)).iloc[0]

    assert (row["n"], row["missing"]) == (38, 2)
    assert row["effect"] == regress_weights(complete, known, no_covariates(known))["effect"].iloc[0]


@pytest.mark.parametrize("ages", [37.3, np.nan, "of the site"])
def test_a_column_that_does_not_vary_within_sites_gives_no_estimate(rng, ages):
    weights, people = study(rng, np.array([0.0, 0.0]))
    people["age"] = people.index.str.contains("HUH") * 30.1 + 20 if ages == "of the site" else ages

    table = regress_weights(weights, people, no_covariates(people))

    assert len(table) == 2
    assert table[["effect", "low", "high", "p", "q"]].isna().all(axis=None)


def test_a_slope_planted_in_the_series_of_subjects_is_recovered(rng):
    ages = pd.Series(rng.uniform(20, 60, 60), index=[f"sub-{i:03d}" for i in range(60)])
    series = [rng.normal(size=(150, 2)) for _ in ages]
    for x, age in zip(series, ages, strict=True):
        x[:, 1] += (0.2 + 0.015 * (age - 40)) * x[:, 0]
    network = pd.DataFrame([[0, 0.2], [0, 0]], index=["A", "B"], columns=["A", "B"])
    moments = subject_moments(series, np.zeros(60))

    found = subject_weights(moments, network.to_numpy() != 0)
    table = subject_weight_table(ages.index, ["discovery"] * 60, *found, network)
    people = pd.DataFrame({"age": ages})
    row = regress_weights({("MDD", "COI"): table}, people, no_covariates(people)).iloc[0]

    assert row["low"] < 0.015 < row["high"]
    # The weight of 150 volumes has a standard error of 0.08; ages spread by 12 years.
    assert row["standard_error"] == pytest.approx(0.08 / 12 / np.sqrt(60), rel=0.25)
    assert row["q"] < 1e-6


def test_an_edge_of_one_site_is_regressed_there(rng):
    weights, people = study(rng, np.array([0.02]))
    del weights["MDD", "HUH"]

    row = regress_weights(weights, people, no_covariates(people)).iloc[0]

    assert (row["sites"], row["n"]) == (1, 20)
    assert row["low"] < 0.02 < row["high"]


def test_the_rule_names_the_setting_of_a_missing_value_and_tests_every_category(tmp_path, rng):
    weights, people = study(rng, np.array([0.02]))
    paths = [tmp_path / f"{group}_{site}.tsv" for group, site in weights]
    for table, path in zip(weights.values(), paths, strict=True):
        write_table(table, path, index=False)
    people["scanner"] = np.resize(["A", "B", "C"], len(people))
    cohort = people.rename_axis("participant_id").reset_index().assign(included=True)
    cohort.loc[3, "age"] = np.nan
    write_table(cohort, tmp_path / "cohort.tsv", index=False)
    snakemake = SimpleNamespace(
        input=SimpleNamespace(cohort=tmp_path / "cohort.tsv", weights=paths),
        output=SimpleNamespace(table=tmp_path / "table.tsv"),
        params=SimpleNamespace(
            group_sites=list(weights), regress_on=["scanner"], covariates=["age"]
        ),
        log=[tmp_path / "log"],
    )

    runpy.run_path(str(SCRIPT), {"snakemake": snakemake})

    assert "analysis.regress_covariates: age is unknown for 1 of 40" in snakemake.log[0].read_text()
    columns = read_table(tmp_path / "table.tsv")["column"]
    assert sorted(columns) == ["scanner = A", "scanner = B", "scanner = C"]
