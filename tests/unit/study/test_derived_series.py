"""Series of XCP-D and giga_connectome are found by their names and freed of censored volumes."""

import numpy as np
import pandas as pd
import pytest

from notears_pfl.errors import SignalError
from notears_pfl.io.bids_tree import BidsTree
from notears_pfl.io.series_files import RunTables, read_run
from notears_pfl.study.derived_series import (
    find_series,
    motion_figures,
    run_report,
    usable_series,
    without_censored,
)

from .derived_trees import ROIS, write_giga_run, write_xcpd_run

SOURCE = {"bold": {"task": "rest"}, "runs": "all"}


@pytest.fixture
def series(rng):
    return pd.DataFrame(rng.normal(size=(6, 3)), columns=ROIS)


@pytest.mark.parametrize("atlas", ["atlas-4S156Parcels", "seg-4S156Parcels"])
def test_each_run_of_xcpd_is_found_with_its_own_outliers_and_motion(tmp_path, series, atlas):
    for run in ("ses-1_task-rest_run-02", "ses-1_task-rest_run-01", "ses-1_task-nback"):
        write_xcpd_run(tmp_path, "01", run, series, np.zeros(6), np.zeros(6), atlas)

    runs, problems = find_series(BidsTree(tmp_path), "sub-01", SOURCE)

    assert problems == []
    assert [run["name"] for run in runs] == ["ses-1_task-rest_run-01", "ses-1_task-rest_run-02"]
    func = tmp_path / "sub-01/ses-1/func"
    assert runs[0]["outliers"] == str(func / "sub-01_ses-1_task-rest_run-01_outliers.tsv")
    assert runs[1]["motion"] == str(func / "sub-01_ses-1_task-rest_run-02_motion.tsv")


def test_the_oldest_names_of_xcpd_are_known(tmp_path):
    func = tmp_path / "sub-01/func"
    func.mkdir(parents=True)
    stem = "sub-01_task-rest"
    for name in (
        "space-MNI152NLin2009cAsym_atlas-Schaefer117_timeseries",
        "outliers",
        "desc-filtered_motion",
    ):
        (func / f"{stem}_{name}.tsv").touch()

    (run,), _ = find_series(BidsTree(tmp_path), "sub-01", SOURCE)

    assert run["outliers"] == str(func / f"{stem}_outliers.tsv")
    assert run["motion"] == str(func / f"{stem}_desc-filtered_motion.tsv")


def test_runs_that_xcpd_has_joined_are_not_taken_twice(tmp_path, series):
    for run in ("task-rest", "task-rest_run-01", "task-rest_run-02"):
        write_xcpd_run(tmp_path, "01", run, series)

    runs, _ = find_series(BidsTree(tmp_path), "sub-01", SOURCE)

    assert [run["name"] for run in runs] == ["task-rest_run-01", "task-rest_run-02"]


def test_of_several_atlases_one_must_be_named(tmp_path, series):
    for atlas in ("atlas-Gordon", "atlas-Tian"):
        write_xcpd_run(tmp_path, "01", "task-rest", series, atlas=atlas)

    _, problems = find_series(BidsTree(tmp_path), "sub-01", SOURCE)
    named = {**SOURCE, "bold": {"task": "rest", "atlas": "Tian"}}
    (run,), none = find_series(BidsTree(tmp_path), "sub-01", named)

    assert "2 files match" in problems[0]
    assert "Specify one in source.bold" in problems[0]
    assert "atlas-Tian" in run["series"]
    assert none == []


def test_interpolated_volumes_that_are_outliers_are_left_out(series):
    outliers = pd.DataFrame({"framewise_displacement": [0, 1, 0, 0, 1, 0]})

    kept = without_censored(series, outliers)

    np.testing.assert_array_equal(kept, series.iloc[[0, 2, 3, 5]])


def test_volumes_that_xcpd_has_left_out_are_not_left_out_again(series):
    outliers = pd.DataFrame({"framewise_displacement": [0, 1, 0, 0, 0, 1, 0, 0]})

    np.testing.assert_array_equal(without_censored(series, outliers), series)


def test_volumes_without_numbers_are_left_out_and_regions_without_are_not(series):
    series.loc[2] = np.nan
    series["C"] = np.nan

    kept = without_censored(series, None)

    assert len(kept) == 5
    assert kept["C"].isna().all()


def test_outliers_of_another_run_are_refused(series):
    outliers = pd.DataFrame({"framewise_displacement": [0, 1, 0, 0]})

    with pytest.raises(SignalError, match=r"6 volumes, but 4 were acquired and 3 of them are not"):
        without_censored(series, outliers)


@pytest.mark.parametrize("table", [{"fd": [0, 1]}, {"framewise_displacement": ["a", "b"]}])
def test_a_table_of_outliers_without_its_column_is_refused(series, table):
    with pytest.raises(SignalError, match=r"outliers has no column of numbers framewise_disp"):
        without_censored(series, pd.DataFrame(table))


def test_motion_is_the_mean_over_volumes_the_first_of_which_did_not_move():
    motion = pd.DataFrame({"framewise_displacement": [np.nan, 0.2, 0.6, 0.4]})

    figures = motion_figures(motion, {})

    assert figures["mean_fd_power_mm"] == pytest.approx(0.3)
    assert figures["share_fd_power_mm_above_0.5"] == 0.25
    assert motion_figures(None, {"MeanFramewiseDisplacement": None}) == {}


def test_columns_that_are_counted_are_values_alone_and_their_motion_is_known(tmp_path, rng):
    values = rng.normal(size=(6, 3))
    write_giga_run(tmp_path, "01", "task-rest", values, fd=0.25)

    (run,), problems = find_series(BidsTree(tmp_path), "sub-01", SOURCE)
    own = read_run(run, ["sub-01"])
    found = usable_series(own, "giga_connectome")
    report = run_report(run, own, len(found), "giga_connectome")

    assert problems == []
    np.testing.assert_allclose(found, values)
    assert report["mean_fd_power_mm"] == 0.25
    assert "giga_connectome" in report["methods"]["series"]


@pytest.mark.parametrize("left_out", [False, True])
def test_a_report_counts_the_volumes_that_were_censored(series, left_out):
    outliers = pd.DataFrame({"framewise_displacement": [0, 1, 0, 1, 0, 0]})
    motion = pd.DataFrame({"framewise_displacement": [0.0, 0.9, 0.1, 0.9, 0.1, 0.1]})
    own = RunTables(series.drop([1, 3]) if left_out else series, outliers, motion, {})

    n_volumes = len(usable_series(own, "xcpd"))
    report = run_report({"name": "run", "series": "a.tsv"}, own, n_volumes, "xcpd")

    assert (report["n_volumes"], report["n_censored"]) == (4, 2)


def test_own_series_are_taken_as_they_are(series):
    own = RunTables(series, None, None, {})

    assert usable_series(own, "") is series
    report = run_report({"name": "run", "series": "a.tsv"}, own, 6, "")
    assert report == {"status": "ok", "sources": ["a.tsv"], "n_volumes": 6}
