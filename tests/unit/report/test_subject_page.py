"""The page of a subject says what to look at."""

import pandas as pd

from notears_pfl.report.subject_page import SubjectRecord, subject_page

from .toy import toy_cohort, toy_rois


def test_a_step_that_did_not_converge_stands_on_the_subjects_page(rng):
    rois = toy_rois().iloc[:4]
    raw = pd.DataFrame(rng.normal(size=(40, 4)), columns=rois.index)
    caution = "The registration of BOLD to T1w did not converge: look at the subject's figures."
    report = {"status": "ok", "cautions": [caution]}
    settings = {"band_hz": None, "min_coverage": 0.5}

    record = SubjectRecord(toy_cohort().iloc[0], report, raw=raw)
    page = subject_page(record, rois, settings, back="index.html")

    assert "BOLD to T1w did not converge" in page
    assert "BOLD–T1w agreement" in page
    assert page.count("⚑") == 1
