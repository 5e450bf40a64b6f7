"""A study of ready ROI series, from tables to analyses, with what users get wrong in theirs."""

import json

import numpy as np
import pandas as pd
import pytest

from notears_pfl.io.tables import read_table

from .conftest import compare_little

SITES, GROUPS = ("PITT", "YALE"), ("ASD", "TC")


def simulated_series(seed, n_volumes=100):
    """Give 116 series, white but for one edge between two selected regions: 1 to 2."""
    x = np.random.default_rng(seed).normal(size=(n_volumes, 116))
    x[:, 1] += 0.8 * x[:, 0]
    return x


@pytest.fixture
def series_study(study):
    """Write twenty subjects at two sites, series in one archive, and a site of controls only."""
    rows = [(f"sub-{s}{g}{i}", s, g, 20 + i) for s in SITES for g in GROUPS for i in range(5)]
    rows += [("sub-NYU1", "NYU", "TC", 30)]
    participants = pd.DataFrame(rows, columns=["participant_id", "centre", "group", "age"])
    participants.to_csv(study.path / "participants.tsv", sep="\t", index=False)
    arrays = {name: simulated_series(i) for i, name in enumerate(participants["participant_id"])}
    np.savez(study.path / "series.npz", **arrays)
    study.edit_config(
        source={
            "kind": "timeseries", "participants": "participants.tsv", "series": "series.npz",
            "site_column": "centre", "group_column": "group",
        },
        groups={"patients": "ASD", "controls": "TC"}, analysis__regress_on=["age"],
    )  # fmt: skip
    return compare_little(study)


@pytest.fixture
def table(series_study):
    def read(name):
        return pd.read_csv(series_study.path / "results" / name, sep="\t")

    return read


def spoil_series(study, name, array):
    with np.load(study.path / "series.npz") as archive:
        arrays = dict(archive)
    np.savez(study.path / "series.npz", **{**arrays, name: array})


def test_the_study_runs_from_tables_to_analyses(series_study, table):
    done = series_study.run()

    assert "site NYU is excluded: it has no ASD" in done.stderr
    overlap = table("analysis/overlap.tsv")
    assert ["PreCG.L", "PreCG.R", "both"] in overlap[["from", "to", "found_in"]].to_numpy().tolist()
    cohort = table("cohort/participants.tsv").set_index("participant_id")
    assert len(cohort) == 21
    assert cohort.loc["sub-NYU1", "exclusion"] == "site NYU lacks one of the groups"
    assert cohort["split"].value_counts().to_dict() == {"discovery": 16, "validation": 4}
    fit = json.loads((series_study.path / "results/fit/group-ASD_fit.json").read_text())
    assert fit["Converged"]
    assert fit["SiteOrder"] == ["PITT", "YALE"]
    assert fit["EdgesChangedByReverseSiteOrder"] is None

    connections = table("evidence/connections.tsv").set_index(["group", "from", "to"])
    planted = connections.loc[("ASD", "PreCG.L", "PreCG.R")]
    assert planted["sites"] == 2
    assert planted["selection"] > 0.9
    # Both groups have it: no difference.
    assert planted["q"] > 0.05
    counts = table("evidence/counts.tsv")
    assert (counts["p"] >= 1 / 20).all()
    assert table("evidence/replication.tsv")["same_sign"].sum() > 0
    assert len(table("evidence/null_counts.tsv")) == 20

    regressed = table("subject_networks/regression.tsv").set_index(["group", "from", "to"])
    assert regressed.loc[("ASD", "PreCG.L", "PreCG.R"), ["n", "missing"]].tolist() == [10, 0]
    own = table("subject_networks/group-TC_site-YALE_weights.tsv")
    planted = own[(own["from"] == "PreCG.L") & (own["to"] == "PreCG.R")]
    assert len(planted) == 5
    # Planted as 0.8 in white noise, but one factor per subject scales all regions alike.
    assert planted["weight"].between(0.4, 1.2).all()
    assert (planted["standard_error"] > 0).all()

    page = (series_study.path / "results/report/index.html").read_text()
    assert '<section id="individual"' in page
    assert "regressed on age by least squares" in page
    assert "expected by chance" in page
    assert "The study started from ROI time series" in page
    assert "Head motion is not known" in page
    subjects = series_study.path / "results/report/subjects"
    assert len(list(subjects.glob("site-*/sub-*.html"))) == 21

    assert series_study.jobs() == {}
    series_study.edit_config(analysis__top_rois=5)
    assert series_study.jobs() == {"degree": 1, "report_degree": 1, "report_index": 1}
    series_study.edit_config(network__estimator__threshold=0.4)
    fits = {"fit_networks": 2, "fit_networks_other_scale": 2}
    pooled = {"pooled_fit": 1, "pooled_fit_other_scale": 1}
    draws = {"permutation_draws": 1, "weight_draws": 1, "bootstrap_draws": 1, "replication": 1}
    names = (
        "degree", "edge_motion", "evidence", "export_networks", "overlap", "scale_audit",
        "subject_networks", "weight_regression",
    )  # fmt: skip
    analyses = dict.fromkeys(names, 1)
    page = {"report_degree": 1, "report_evidence": 1, "report_networks": 2, "report_overlap": 1}
    compared = {"compare_connections": 1, "compare_networks": 2}
    compared |= {"proportion_tests": 1, "proportion_figure": 1}
    expected = {**fits, **pooled, **draws, **analyses, **compared, **page, "report_index": 1}
    assert series_study.jobs() == expected
    series_study.edit_config(analysis__top_rois=10, network__estimator__threshold=0.3)
    series_study.edit_config(preproc__clean__band_hz=[0.02, 0.1])
    # The page shows all settings, whether or not they have a part in it.
    assert series_study.jobs() == {"report_index": 1}


def test_series_without_the_shape_of_the_others_are_named_before_any_job(series_study):
    for name in ("sub-PITTTC0", "sub-YALEASD0"):
        spoil_series(series_study, name, simulated_series(1).T)

    done = series_study.snakemake("--cores", "1")

    assert done.returncode != 0
    assert "2 of 21 subjects cannot be used. Fix the problems below" in done.stderr
    assert "  sub-PITTTC0, sub-YALEASD0: unnamed series have shape (116, 100)" in done.stderr
    assert not (series_study.path / "results").exists()
    # It reads no series.
    assert series_study.snakemake("--dry-run").returncode == 0


def test_a_bad_subject_is_listed_with_its_reason_and_the_others_go_on(series_study, table):
    series_study.edit_config(source__on_problem="exclude")
    constant = simulated_series(0)
    constant[:, 3] = 1
    spoil_series(series_study, "sub-PITTASD0", constant)
    spoil_series(series_study, "sub-PITTTC0", simulated_series(1).T)
    spoil_series(series_study, "sub-YALEASD0", np.full((100, 116), np.nan))

    series_study.run("results/cohort/participants.tsv")

    reasons = table("cohort/participants.tsv").set_index("participant_id")["exclusion"]
    assert "1 selected region is constant (SFGdor.R)" in reasons["sub-PITTASD0"]
    assert "unnamed series have shape (116, 100)" in reasons["sub-PITTTC0"]
    assert "missing or infinite values" in reasons["sub-YALEASD0"]
    assert reasons.notna().sum() == 4


@pytest.fixture
def numbered_study(study):
    """Write files named as ABIDE's are, sites 01 and 02, groups 1 and 2, and nothing else known."""
    rows = [(f"0050{s}{g}{i}", f"0{s}", g) for s in (1, 2) for g in (1, 2) for i in range(5)]
    people = pd.DataFrame(rows, columns=["participant_id", "site", "DX_GROUP"])
    people.assign(group="unused").to_csv(study.path / "people.tsv", sep="\t", index=False)
    for i, name in enumerate(people["participant_id"]):
        np.savetxt(study.path / f"{name}_rois_aal.1D", simulated_series(i), header="2001 2002")
    study.edit_config(
        source={
            "kind": "timeseries", "participants": "people.tsv", "on_problem": "exclude",
            "series": "{participant_id}_rois_aal.1D", "site_column": "site",
            "group_column": "DX_GROUP",
        },
        groups={"patients": "1", "controls": "2"},
    )  # fmt: skip
    return study


def test_labels_may_be_numbers_and_bad_files_fail_alone(numbered_study):
    (numbered_study.path / "0050110_rois_aal.1D").unlink()
    (numbered_study.path / "0050220_rois_aal.1D").write_text("#DIV/0!\n#DIV/0!\n")
    (numbered_study.path / "0050221_rois_aal.1D").write_text("1 two 3\n")

    done = numbered_study.run("all", "results/compare/draws.tsv")

    assert "1 of 20 subjects cannot be used. They are excluded." in done.stderr
    results = numbered_study.path / "results"
    cohort = read_table(results / "cohort/participants.tsv").set_index("participant_id")
    assert "0050110_rois_aal.1D: no such file" in cohort.loc["sub-0050110", "exclusion"]
    assert "unnamed series have shape (0, 1)" in cohort.loc["sub-0050220", "exclusion"]
    assert "could not convert string 'two'" in cohort.loc["sub-0050221", "exclusion"]
    assert cohort["included"].sum() == 17
    assert read_table(results / "cohort/flow.tsv")["found"].sum() == 20
    assert (results / "fit/group-1_site-01_relmat.tsv").exists()
    draws = read_table(results / "compare/draws.tsv")
    assert set(draws["site"]) == {"01", "02"}
    assert "No characteristics are available" in (results / "report/index.html").read_text()


def test_files_that_are_not_there_are_named_before_any_job(numbered_study):
    numbered_study.edit_config(source__on_problem="stop")
    (numbered_study.path / "0050110_rois_aal.1D").unlink()

    done = numbered_study.snakemake("--cores", "1")

    assert done.returncode != 0
    assert "1 of 20 subjects cannot be used" in done.stderr
    assert "0050110_rois_aal.1D does not exist" in done.stderr
    assert not (numbered_study.path / "results").exists()


def test_a_site_with_one_patient_left_is_an_error_that_names_it(series_study):
    for i in range(4):
        spoil_series(series_study, f"sub-PITTASD{i}", np.zeros((100, 116)))

    done = series_study.snakemake("--cores", "1", "results/cohort/participants.tsv")

    assert done.returncode != 0
    assert "site PITT, group ASD: 1 included subjects cannot be split" in done.stderr


def test_a_group_that_the_table_does_not_have_is_refused_before_any_job(series_study):
    series_study.edit_config(groups__patients="MDD")

    done = series_study.snakemake("--cores", "1")

    assert done.returncode != 0
    assert "no site has both groups, MDD and TC; the groups in the table are ASD, TC" in done.stderr
    assert not (series_study.path / "results").exists()


def test_a_series_study_without_its_tables_is_refused(study):
    study.edit_config(source__kind="timeseries")

    done = study.snakemake("--cores", "1")

    assert "'participants', 'series' are missing under 'source'" in done.stderr


def test_patients_are_matched_to_controls_and_the_others_are_listed(series_study, table):
    people = pd.read_csv(series_study.path / "participants.tsv", sep="\t")
    people["sex"] = ["F", "M", "F", "M", "F"] * 4 + ["F"]
    people.loc[people["participant_id"] == "sub-PITTASD4", "age"] = 90
    people.to_csv(series_study.path / "participants.tsv", sep="\t", index=False)
    series_study.edit_config(cohort__match=["age", "sex"], evidence__strata=["matched_pair"])

    series_study.run("results/cohort/participants.tsv", "results/cohort/moments.npz")

    cohort = table("cohort/participants.tsv").set_index("participant_id")
    assert cohort.loc["sub-PITTASD4", "exclusion"] == (
        "no partner: none of 5 TC at PITT has the same sex and is within 0.75 SD in age"
    )
    paired = cohort[cohort["included"]]
    assert len(paired) == 18
    pairs = paired.groupby("matched_pair")
    assert (pairs["group"].nunique() == 2).all()
    for column in ("site", "sex", "split"):
        assert (pairs[column].nunique() == 1).all()
    balance = table("cohort/balance.tsv").set_index(["subjects", "site", "variable"])
    assert balance.loc[("before matching", "PITT", "age"), "unbalanced"]
    assert balance.loc[("included", "PITT", "age"), "difference"] == 0
    with np.load(series_study.path / "results/cohort/moments.npz") as arrays:
        assert len(np.unique(arrays["strata"])) == 9

    people.loc[2, "age"] = None
    people.to_csv(series_study.path / "participants.tsv", sep="\t", index=False)
    done = series_study.snakemake("--cores", "1", "results/cohort/participants.tsv")
    assert (
        "participants.tsv: cohort.match needs a value of age for every subject; 1 of 20 have none "
        "(sub-PITTASD2)." in done.stderr
    )


def test_a_series_that_stands_under_two_names_is_refused_by_both(series_study):
    spoil_series(series_study, "sub-YALETC3", simulated_series(0))

    done = series_study.snakemake("--cores", "1", "results/cohort/moments.npz")

    assert "sub-PITTASD0 and sub-YALETC3 have identical series" in done.stderr


def test_a_changed_archive_is_read_again_and_a_lost_series_alone_is_made_again(series_study):
    reports = "results/batches/clean_timeseries/site-PITT_batch-1.tsv"
    series_study.run("--", reports)
    path = series_study.path / "results/timeseries"
    before = series_study.checksums()
    lost = next(path.glob("sub-PITTASD0*_timeseries.tsv"))
    lost.unlink()

    series_study.run("--", reports)

    log = (series_study.path / "logs/ingest_timeseries/site-PITT_batch-1.log").read_text()
    assert log.count("unchanged, not computed again") == 9
    assert series_study.checksums() == before

    spoil_series(series_study, "sub-PITTASD1", simulated_series(99))
    series_study.run("--", reports)

    after = series_study.checksums()
    changed = {name for name in before if before[name] != after[name]}
    series = {name for name in changed if name.startswith("results/timeseries/")}
    assert series == {"results/timeseries/sub-PITTASD1_seg-AAL116_desc-clean_timeseries.tsv"}
