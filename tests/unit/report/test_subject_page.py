"""The page of a subject says what to look at."""

import base64
import json
import re

import numpy as np
import pandas as pd
import pytest

from notears_pfl.io.arrays import write_arrays
from notears_pfl.io.sidecars import write_json
from notears_pfl.io.tables import write_table
from notears_pfl.report.subject_drawing import carpet_values, mean_spectrum
from notears_pfl.report.subject_page import SubjectRecord, read_subject, subject_page
from notears_pfl.runs import RUN

from .toy import toy_cohort, toy_rois, toy_slices, write_toy_slices

SETTINGS = {"band_hz": None, "min_coverage": 0.5}


def test_a_step_that_did_not_converge_stands_on_the_subjects_page(rng):
    rois = toy_rois().iloc[:4]
    raw = pd.DataFrame(rng.normal(size=(40, 4)), columns=rois.index)
    caution = "The registration of BOLD to T1w did not converge: look at the subject's figures."
    report = {"status": "ok", "cautions": [caution]}

    record = SubjectRecord(toy_cohort().iloc[0], report, raw=raw)
    page = subject_page(record, rois, SETTINGS, back="index.html")

    assert "BOLD to T1w did not converge" in page
    assert "BOLD–T1w agreement" in page
    assert page.count("⚑") == 1


def test_brain_bold_and_template_are_shown_first_and_in_this_order(rng):
    rois = toy_rois().iloc[:4]
    raw = pd.DataFrame(rng.normal(size=(40, 4)), columns=rois.index)
    slices = {kind: toy_slices() for kind in ("t1w", "brain", "bold")}

    record = SubjectRecord(toy_cohort().iloc[0], {"status": "ok"}, raw=raw, slices=slices)
    page = subject_page(record, rois, SETTINGS, back="index.html")

    titles = ("Brain mask", "Registration of BOLD to T1w", "Registration of T1w to MNI", "Carpet")
    places = [page.index(f"<h2>{title}</h2>") for title in titles]
    assert places == sorted(places)
    assert page.count("data:image/svg") == page.count('class="conclude"') == 5


def test_the_page_of_a_failed_subject_shows_the_pictures_of_the_steps_before(tmp_path):
    cohort = toy_cohort()
    row = cohort.iloc[-1]
    files = write_toy_slices(tmp_path, cohort)[row["participant_id"]]
    files["report"] = [str(tmp_path / "report.json")]
    (tmp_path / "report.json").write_text(json.dumps({"status": "failed", "reason": "4 volumes"}))

    page = subject_page(read_subject(row, files), toy_rois(), SETTINGS, back="index.html")

    assert "only 4 volumes" in page
    assert page.count("data:image/svg") == 2
    bold = page.split("<h2>Registration of BOLD to T1w</h2>")[1].split("<h2>")[0]
    assert "No picture: processing failed" in bold


def test_what_a_study_of_ready_series_cannot_know_is_named_once_and_has_no_tile(rng):
    rois = toy_rois().iloc[:4]
    clean = pd.DataFrame(rng.normal(size=(40, 4)), columns=rois.index)
    row = toy_cohort().iloc[0].copy()
    row[["median_tsnr", "share_fd_above"]] = None

    page = subject_page(SubjectRecord(row, {"status": "ok"}, clean=clean), rois, SETTINGS, back="")

    assert "median tSNR" not in page
    assert "mean FD, mm" in page
    assert "<h2>Head motion</h2>" not in page
    steps = "Registration of BOLD to T1w, Registration of T1w to MNI, Head motion, Coverage."
    assert f"entered the study: Brain mask, {steps}" in page
    assert page.count("data:image/svg") == 2


@pytest.mark.parametrize("tr", [None, 2.0])
def test_axes_are_in_seconds_only_where_the_repetition_time_is_known(rng, tr):
    rois = toy_rois().iloc[:4]
    clean = pd.DataFrame(rng.normal(size=(40, 4)), columns=rois.index)
    report = {"status": "ok"} | ({"repetition_time": tr} if tr else {})

    page = subject_page(
        SubjectRecord(toy_cohort().iloc[0], report, clean=clean), rois, SETTINGS, back=""
    )

    encoded = re.findall(r"data:image/svg\+xml;base64,([^\"]+)", page)
    drawn = "".join(base64.b64decode(picture).decode() for picture in encoded)
    labels = ["time, s", "frequency, Hz"] if tr else ["volume", "cycles per volume"]
    assert all(f">{label}<" in drawn for label in labels)
    assert ("Hz" in drawn) == bool(tr)
    assert ("The repetition time is not known" in page) == (tr is None)
    assert ">as given<" in drawn
    assert "cleaning" not in page


def test_the_page_of_a_subject_that_failed_at_once_has_no_figures(tmp_path):
    row, report = toy_cohort().iloc[-1], {"status": "failed", "reason": "4 volumes"}

    page = subject_page(SubjectRecord(row, report), toy_rois(), SETTINGS, back="index.html")

    assert "Processing failed; no figures are available." in page


@pytest.fixture
def moved(rng):
    """Give head motion and confounds of forty volumes."""
    names = [f"{kind}_{axis}" for kind in ("trans", "rot") for axis in "xyz"]
    motion = pd.DataFrame(rng.normal(size=(40, 6)), columns=names)
    return motion, pd.DataFrame(rng.random((40, 2)), columns=["fd_power_mm", "dvars_percent"])


def test_censored_volumes_are_gaps_in_time_and_marked(rng, moved):
    rois = toy_rois().iloc[:4]
    censored = [0, 7, 8]
    kept = [volume for volume in range(40) if volume not in censored]
    clean = pd.DataFrame(rng.normal(size=(37, 4)), columns=rois.index)
    report = {"status": "ok", "repetition_time": 2.0, "censored_volumes": censored}
    record = SubjectRecord(toy_cohort().iloc[0], report, clean, clean, *moved)

    in_time = record.clean_in_time

    assert in_time.index.tolist() == list(range(40))
    assert in_time.isna().all(axis=1).to_numpy().nonzero()[0].tolist() == censored
    np.testing.assert_array_equal(in_time.loc[kept], clean)
    carpet = carpet_values(in_time, rois.index)
    assert np.isnan(carpet).all(axis=0).nonzero()[0].tolist() == censored
    np.testing.assert_allclose(carpet[:, kept].std(axis=1), 1)
    assert np.isfinite(mean_spectrum(in_time, 2.0)).all()
    assert "Grey: volumes censored by scrubbing." in subject_page(record, rois, SETTINGS, "")


def test_runs_that_were_left_out_move_no_volume_of_the_others(tmp_path, rng):
    rois = toy_rois().iloc[:4]
    name, kept = "sub-1", [0, 1, 3, 4, 5]
    # The first run failed in cleaning, after its raw series were made; the second before.
    lengths = {"task-rest": 30, "task-rest_run-2": 0, "task-rest_run-3": 6}
    files = {"raw": [], "motion": [], "bold": []}
    for run, n in lengths.items():
        ends = {
            "raw": "desc-raw_timeseries.tsv",
            "motion": "desc-motion_timeseries.tsv",
            "bold": "slices.npz",
        }
        for kind, end in ends.items():
            path = tmp_path / f"{name}_{run}_{end}"
            files[kind].append(str(path))
            if not n:
                path.touch()
            elif kind == "bold":
                write_arrays({"volumes": np.array(n)}, path)
            else:
                table = pd.DataFrame(rng.normal(size=(n, 4)), columns=rois.index)
                write_table(table, path, index=False)
    failed = {"status": "failed", "reason": "too few volumes"}
    states = dict.fromkeys(lengths, failed) | {"task-rest_run-3": {"status": "ok"}}
    write_json({"status": "ok", "censored_volumes": [2], "runs": states}, tmp_path / "report.json")
    clean = pd.DataFrame(rng.normal(size=(5, 4)), columns=rois.index)
    write_table(clean, tmp_path / f"{name}_desc-clean_timeseries.tsv", index=False)
    files |= {
        "report": [str(tmp_path / "report.json")],
        "clean": [str(tmp_path / f"{name}_desc-clean_timeseries.tsv")],
    }

    record = read_subject(toy_cohort().iloc[0], files)

    assert len(record.raw) == len(record.motion) == len(record.clean_in_time) == 6
    assert record.clean_in_time.dropna().index.tolist() == kept
    assert record.slices["bold"]["volumes"] == 6
    assert record.seams == []


def test_runs_join_where_the_first_ends_even_if_scrubbing_removed_its_last_volumes(tmp_path, rng):
    rois = toy_rois().iloc[:4]
    lengths, files = {"task-rest_run-1": 20, "task-rest_run-2": 30}, {"raw": [], "bold": []}
    for run, n in lengths.items():
        files["raw"].append(str(tmp_path / f"sub-1_{run}_desc-raw_timeseries.tsv"))
        table = pd.DataFrame(rng.normal(size=(n, 4)), columns=rois.index)
        write_table(table, files["raw"][-1], index=False)
        files["bold"].append(str(tmp_path / f"sub-1_{run}_slices.npz"))
        write_arrays(toy_slices(), files["bold"][-1])
    clean = pd.DataFrame(rng.normal(size=(47, 4)), columns=rois.index)
    clean.insert(0, RUN, ["run-1"] * 18 + ["run-2"] * 29)
    files["clean"] = [str(tmp_path / "sub-1_desc-clean_timeseries.tsv")]
    write_table(clean, files["clean"][0], index=False)
    files["report"] = [str(tmp_path / "report.json")]
    write_json({"status": "ok", "censored_volumes": [18, 19, 20]}, files["report"][0])

    record = read_subject(toy_cohort().iloc[0], files)
    page = subject_page(record, rois, SETTINGS, back="")

    assert record.seams == [20]
    for run in lengths:
        assert f"<h2>Registration of BOLD to T1w, {run}</h2>" in page
        assert f'alt="mean BOLD image in T1w space of sub-COIMDD001, {run}, with' in page
        assert f"<figcaption>The mean BOLD image in T1w space of {run}; outlines" in page


def test_the_seams_of_runs_are_marked_where_a_run_follows_another(rng, moved):
    rois = toy_rois().iloc[:4]
    clean = pd.DataFrame(rng.normal(size=(38, 4)), columns=rois.index)
    clean.insert(0, RUN, ["run-1"] * 18 + ["run-2"] * 20)
    report = {"status": "ok"}
    record = SubjectRecord(toy_cohort().iloc[0], report, None, clean, *moved)

    page = subject_page(record, rois, SETTINGS, "")

    assert record.seams == [18]
    assert page.count("where runs join") == 2
    assert "where runs join" not in subject_page(
        SubjectRecord(record.row, report, None, clean.drop(columns=RUN), *moved), rois, SETTINGS, ""
    )
