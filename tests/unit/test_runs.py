"""Runs of a subject are joined, reported together, and told apart again."""

import numpy as np
import pandas as pd
import pytest

from notears_pfl.runs import by_run, joined_report, joined_series, run_parts


@pytest.fixture
def tables(rng):
    return {
        run: pd.DataFrame(rng.normal(size=(n, 2)), columns=["A", "B"])
        for run, n in (("ses-2", 3), ("ses-10", 4))
    }


def test_joined_runs_come_apart_in_their_order(tables):
    joined = joined_series(tables)

    assert joined.columns.tolist() == ["run", "A", "B"]
    parts = run_parts(by_run(joined))
    for part, table in zip(parts, tables.values(), strict=True):
        np.testing.assert_array_equal(part, table)


def test_a_single_run_stays_as_it_is(tables):
    table = tables["ses-2"]

    assert joined_series({"ses-2": table}) is table
    assert by_run(table) is table
    assert run_parts(table)[0] is table


REPORTS = {
    "run-1": {
        "status": "ok", "n_volumes": 100, "mean_fd_power_mm": 0.1, "bold_t1w_agreement": 0.9,
        "largest_rotation_deg": 1.0, "degrees_of_freedom": 20.0, "motion_converged": True,
        "coverage": {"A": 1.0, "B": 0.7}, "dropout": {"A": 0.0, "B": 0.1}, "sources": ["a", "x"],
        "brain_ml": 1500.0, "median_tsnr": None, "cautions": ["small head", "dark"],
        "methods": {"smooth": "Smoothed.", "slice": "At 1 s."}, "repetition_time": 2.0,
    },
    "run-2": {
        "status": "ok", "n_volumes": 300, "mean_fd_power_mm": 0.3, "bold_t1w_agreement": 0.8,
        "largest_rotation_deg": 3.0, "degrees_of_freedom": 60.0, "motion_converged": False,
        "coverage": {"A": 0.6, "B": 0.9}, "dropout": {"A": 0.2, "B": 0.0}, "sources": ["b", "x"],
        "brain_ml": 1500.0, "median_tsnr": 40.0, "cautions": ["small head"],
        "methods": {"smooth": "Smoothed.", "slice": "At 0.9 s."}, "repetition_time": 2.0,
    },
}  # fmt: skip


def test_censored_volumes_are_counted_from_the_first_run_on():
    kept = {"run-1": [], "run-2": [0, 4], "run-3": [0, 4]}
    reports = {
        run: {"n_volumes": 10 - len(gone), "n_censored": len(gone), "censored_volumes": gone}
        for run, gone in kept.items()
    }  # fmt: skip

    report = joined_report(reports, {})

    assert report["censored_volumes"] == [10, 14, 20, 24]
    assert (report["n_volumes"], report["n_censored"]) == (26, 4)


def test_figures_of_a_subject_follow_from_those_of_its_runs():
    report = joined_report(REPORTS, {})

    assert report["n_volumes"] == 400
    assert report["degrees_of_freedom"] == 80
    assert report["mean_fd_power_mm"] == pytest.approx((0.1 * 100 + 0.3 * 300) / 400)
    assert report["bold_t1w_agreement"] == 0.8
    assert report["largest_rotation_deg"] == 3
    assert report["motion_converged"] is False
    assert report["coverage"] == {"A": 0.6, "B": 0.7}
    assert report["dropout"] == {"A": 0.2, "B": 0.1}
    assert report["sources"] == ["a", "x", "b"]
    assert (report["brain_ml"], report["repetition_time"]) == (1500, 2)
    assert report["median_tsnr"] == 40
    assert report["cautions"] == ["small head", "run-1: dark"]
    assert report["methods"]["smooth"] == "Smoothed."
    assert report["methods"]["slice"] == "run-1: At 1 s. run-2: At 0.9 s."
    assert "each was centred and scaled by itself" in report["methods"]["runs"]
    assert report["runs"]["run-2"]["mean_fd_power_mm"] == 0.3


def test_means_count_censored_volumes_too():
    reports = {
        "run-1": {"n_volumes": 200, "n_censored": 0, "mean_fd_power_mm": 0.1},
        "run-2": {"n_volumes": 20, "n_censored": 180, "mean_fd_power_mm": 1.2},
    }

    assert joined_report(reports, {})["mean_fd_power_mm"] == pytest.approx(0.65)


def test_equal_counts_of_runs_still_add_up():
    alike = {"run-1": {"n_volumes": 100}, "run-2": {"n_volumes": 100}}

    assert joined_report(alike, {})["n_volumes"] == 200


def test_a_run_that_was_left_out_is_named():
    report = joined_report({"run-1": REPORTS["run-1"]}, {"run-2": "no signal"})

    assert report["n_volumes"] == 100
    assert report["runs"]["run-2"] == {"status": "failed", "reason": "no signal"}
    assert report["cautions"][-1] == "run-2 was left out: no signal"
    assert "runs" not in report["methods"]
    assert joined_report({"run-1": REPORTS["run-1"]}, {}) == REPORTS["run-1"]
