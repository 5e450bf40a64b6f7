"""The phantom study from raw images to findings, at its smallest, and what a change reruns."""

import json
import re

import numpy as np
import pytest

from notears_pfl.io.tables import read_table

SUBJECTS = [f"{s}{g}{n:03d}" for s in ("COI", "HUH") for g in ("MDD", "HC") for n in (1, 2)]
FINDINGS = [
    "analysis/connection_counts.tsv",
    "analysis/degree.tsv",
    "analysis/degree_top.tsv",
    "analysis/degree_totals.tsv",
    "analysis/overlap.tsv",
    "analysis/scale_audit.tsv",
    "analysis/site_specific.tsv",
    "analysis/truth.tsv",
    "compare/proportion_tests.tsv",
    "cohort/balance.tsv",
    "cohort/flow.tsv",
    "cohort/participants.tsv",
    "cohort/table_one.tsv",
]


def test_the_study_ends_in_its_findings(full_run):
    for name in FINDINGS:
        assert len(read_table(full_run.path / "results" / name).columns) > 2, name


def test_snakemakes_own_report_tells_every_figure_apart(full_run, tmp_path):
    done = full_run.snakemake("--report", str(tmp_path / "report.html"))

    assert done.returncode == 0, done.stderr
    page = (tmp_path / "report.html").read_text()
    shown = dict(re.findall(r'"filename": "([^"]+)", "labels": ({[^}]*})', page))
    drawn = {path.name for path in (full_run.path / "results/report/figures").glob("*.png")}
    assert drawn <= shown.keys()
    assert len(set(shown.values())) == len(shown)


def test_everyone_is_processed_or_has_a_reason(full_run):
    cohort = read_table(full_run.path / "results/cohort/participants.tsv")

    assert cohort["participant_id"].tolist() == [f"sub-{subject}" for subject in SUBJECTS]
    assert (cohort["included"] == cohort["exclusion"].isna()).all()
    assert cohort["median_tsnr"].notna().all()


def test_clean_series_follow_the_true_ones_better_than_raw_ones_do(full_run):
    medians = {"raw": [], "clean": []}
    for subject in SUBJECTS:
        folder = full_run.path / "results"
        true = read_table(folder / f"phantom/truth/sub-{subject}_seg-surrogate_timeseries.tsv")[10:]
        for state, values in medians.items():
            name = f"timeseries/sub-{subject}_seg-surrogate116_desc-{state}_timeseries.tsv"
            values.append(read_table(folder / name).corrwith(true.reset_index(drop=True)).median())

    # Sixty volumes after six regressors and the filter: half of the truth's variance is gone.
    assert np.median(medians["clean"]) > 0.55
    assert np.median(medians["clean"]) > np.median(medians["raw"]) + 0.1


def test_a_network_says_what_it_is_and_where_it_comes_from(full_run):
    sidecar = json.loads((full_run.path / "results/fit/group-MDD_site-HUH_relmat.json").read_text())

    assert sidecar["Directed"]
    assert sidecar["Scale"] == "subject"
    assert len(sidecar["Sources"]) == sidecar["Subjects"] == 1
    assert sidecar["Samples"] == 60
    assert 0 < sidecar["EffectiveSamples"] < 60


def test_a_second_run_does_nothing(full_run):
    assert full_run.jobs() == {}


FITS = {"pooled_fit", "pooled_fit_other_scale", "fit_networks", "fit_networks_other_scale"}
OF_TRUE_SERIES = {"pooled_fit_true_series", "fit_networks_true_series"}
DRAWS = {"permutation_draws", "weight_draws", "bootstrap_draws", "replication"}
# The comparison tests the connections that all sites share.
TESTS = {"compare_connections", "proportion_tests", "proportion_figure"}
# Every change of a setting or a finding shows in the report.
PAGE = {"report_index"}
FIGURES = {
    "report_degree", "report_evidence", "report_networks", "report_overlap", "report_truth",
}  # fmt: skip
ANALYSES = {"degree", "edge_motion", "evidence", "overlap", "scale_audit", "truth"} | FIGURES
ANALYSES |= PAGE | TESTS | {"export_networks", "subject_networks"}
OF_SUBJECTS = {
    "report_balance", "report_cohort", "report_contact_sheet", "report_motion", "report_quality",
    "report_subjects",
}  # fmt: skip
FROM_NETWORKS = {"compare_networks"} | OF_TRUE_SERIES | FITS | DRAWS | ANALYSES
FROM_COHORT = {"cohort", "moments", "compare_draws"} | OF_SUBJECTS | FROM_NETWORKS


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"analysis__edge_threshold": 0.35}, ANALYSES),
        ({"analysis__top_rois": 5}, {"degree", "report_degree"} | PAGE),
        ({"network__scale": "roi"}, {"moments"} | FROM_NETWORKS),
        ({"cohort__discovery_share": 0.6}, FROM_COHORT),
        ({"preproc__clean__band_hz": [0.01, 0.09]}, {"clean_timeseries"} | FROM_COHORT),
        ({"preproc__smooth__fwhm_mm": 5}, {"functional", "clean_timeseries"} | FROM_COHORT),
    ],
)
def test_a_changed_setting_reruns_what_depends_on_it_and_nothing_else(full_run, changes, expected):
    config = full_run.path / "config/config.yaml"
    before = config.read_text()

    full_run.edit_config(**changes)
    jobs = full_run.jobs()
    config.write_text(before)

    assert set(jobs) == expected
