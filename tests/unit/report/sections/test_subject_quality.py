"""The table of quality flags outliers and links to the page of each subject."""

import pandas as pd

from notears_pfl.report.sections.subject_quality import outliers, quality_section

from ..toy import toy_findings


def test_quality_flags_values_beyond_a_limit_and_links_to_each_page(findings):
    table = quality_section(findings, {}).content["subjects"]

    moved = table.rows[1]
    assert moved[5].flagged
    assert moved[5].text == "0.71"
    assert 'href="subjects/site-COI/sub-COIMDD002.html"' in moved[0].text
    assert table.rows[-1][3].text == "failed"


def test_subjects_never_processed_have_no_page_to_link_to():
    findings = toy_findings()
    findings.cohort.loc[0, ["not_enrolled", "included"]] = ["no T1w image", False]

    first = quality_section(findings, {}).content["subjects"].rows[0]

    assert (first[0].text, first[3].text) == (findings.cohort["participant_id"][0], "excluded")


def test_an_outlier_is_far_on_the_worse_side_of_its_own_site():
    cohort = pd.DataFrame(
        {"site": ["A"] * 6 + ["B"] * 3, "tsnr": [50, 51, 52, 49, 20, 90, 50, 51, 5.0]}
    )

    marked = outliers(cohort, "tsnr", worse=-1)

    assert marked.tolist() == [False] * 4 + [True] + [False] * 4
