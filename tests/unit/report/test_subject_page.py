"""The page of a subject says what to look at."""

import json

import numpy as np
import pandas as pd

from notears_pfl.report.subject_page import (
    SubjectRecord,
    carpet_figure,
    movement_figure,
    read_subject,
    spectrum_figure,
    subject_page,
)

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
    assert page.count("data:image/webp") == page.count('class="conclude"') == 5


def test_the_page_of_a_failed_subject_shows_the_pictures_of_the_steps_before(tmp_path):
    cohort = toy_cohort()
    row = cohort.iloc[-1]
    files = write_toy_slices(tmp_path, cohort)[row["participant_id"]]
    files["report"] = str(tmp_path / "report.json")
    (tmp_path / "report.json").write_text(json.dumps({"status": "failed", "reason": "4 volumes"}))

    files = {kind: [path] for kind, path in files.items()}
    page = subject_page(read_subject(row, files), toy_rois(), SETTINGS, back="index.html")

    assert "only 4 volumes" in page
    assert page.count("data:image/webp") == 2
    bold = page.split("<h2>Registration of BOLD to T1w</h2>")[1].split("<h2>")[0]
    assert "No picture: processing failed" in bold


def test_the_page_of_a_subject_that_failed_at_once_has_no_figures(tmp_path):
    row, report = toy_cohort().iloc[-1], {"status": "failed", "reason": "4 volumes"}

    page = subject_page(SubjectRecord(row, report), toy_rois(), SETTINGS, back="index.html")

    assert "Processing failed; no figures are available." in page


def test_censored_volumes_are_gaps_in_time_and_marked(rng):
    rois = toy_rois().iloc[:4]
    censored = [0, 7, 8]
    kept = [volume for volume in range(40) if volume not in censored]
    clean = pd.DataFrame(rng.normal(size=(37, 4)), columns=rois.index)
    motion = pd.DataFrame(
        rng.normal(size=(40, 6)), columns=[f"{k}_{x}" for k in ("trans", "rot") for x in "xyz"]
    )
    confounds = pd.DataFrame(rng.random((40, 2)), columns=["fd_power_mm", "dvars_percent"])
    report = {"status": "ok", "repetition_time": 2.0, "censored_volumes": censored}
    record = SubjectRecord(toy_cohort().iloc[0], report, clean, clean, motion, confounds)

    in_time = record.clean_in_time

    assert in_time.index.tolist() == list(range(40))
    assert in_time.isna().all(axis=1).to_numpy().nonzero()[0].tolist() == censored
    np.testing.assert_array_equal(in_time.loc[kept], clean)
    carpet = carpet_figure({"after cleaning": in_time}, rois, 2.0).axes[1].images[0].get_array()
    assert np.isnan(np.asarray(carpet, float)).all(axis=0).nonzero()[0].tolist() == censored
    shown = np.ma.filled(carpet, np.nan)[:, kept]
    np.testing.assert_allclose(shown.std(axis=1), 1)
    (line,) = spectrum_figure({"after cleaning": in_time}, 2.0, None).axes[0].lines
    assert np.isfinite(line.get_ydata()).all()
    marked = [movement_figure(motion, confounds, 2.0, c) for c in (censored, [])]
    assert [len(figure.axes[2].patches) for figure in marked] == [3, 0]
    assert "Grey: volumes censored by scrubbing." in subject_page(record, rois, SETTINGS, "")
