"""The table of quality flags outliers and links to the page of each subject."""

import pandas as pd

from notears_pfl.report.sections.subject_quality import freedom_table, outliers, quality_section

from ..toy import toy_findings


def test_quality_flags_values_beyond_a_limit_and_links_to_each_page(findings):
    table = quality_section(findings, {}).content["subjects"]

    moved = table.rows[1]
    assert moved[5].flagged
    assert moved[5].text == "0.71"
    assert 'href="subjects/site-COI/sub-COIMDD002.html"' in moved[0].text
    assert table.rows[-1][3].text == "failed"


def test_a_flag_in_a_column_that_is_not_shown_at_first_is_named_in_one_that_is():
    findings = toy_findings()
    findings.cohort["median_tsnr"] = 60.0
    findings.cohort.loc[0, ["mean_fd_mm", "bold_t1w_agreement"]] = [0.9, 0.01]

    table = quality_section(findings, {}).content["subjects"]

    titles = [column.title for column in table.columns]
    flagged = titles.index("flagged")
    assert table.columns[titles.index("BOLD–T1w agreement")].extra
    assert not table.columns[flagged].extra
    assert table.rows[0][flagged].text == "mean FD; BOLD–T1w agreement"
    assert table.rows[2][flagged].text == "–"


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


def test_degrees_of_freedom_lost_and_left_are_told_by_site_and_group():
    findings = toy_findings()
    assert freedom_table(findings) is None
    cohort, reports = findings.cohort, findings.reports
    first = cohort.iloc[0]
    cell = cohort[(cohort["site"] == first["site"]) & (cohort["group"] == first["group"])]
    known = [name for name in cell["participant_id"] if reports[name]["status"] == "ok"]
    for place, name in enumerate(known):
        reports[name] |= {
            "degrees_of_freedom_in_band": 80.0, "degrees_of_freedom": 60.0 - 10 * place,
            "n_volumes": 180, "n_censored": 20,
        }  # fmt: skip

    (row,) = freedom_table(findings).rows

    least = 60 - 10 * (len(known) - 1)
    left = (60 + least) / 2
    expected = [first["site"], first["group"], str(len(known)), "80", f"{left:.0f}", f"{least}"]
    assert [cell.text for cell in row] == [*expected, f"{1 - left / 80:.0%}", "10%"]
