"""A contact sheet shows every subject of a site once, and those to look at first."""

import re
from pathlib import Path

import pandas as pd
import pytest
from markupsafe import escape

from notears_pfl.report.contact_sheet import (
    MOST_SHOWN,
    contact_sheet,
    read_set_aside,
    standing,
)
from notears_pfl.report.page import render
from notears_pfl.report.sections.subject_quality import quality_section

from .toy import toy_cohort, toy_findings, write_toy_slices

SHEETS = [f"results/report/contact_sheets/site-{site}.html" for site in ("COI", "HUH")]


@pytest.fixture
def cohort():
    """Give the cohort with a caution and a subject that was never processed."""
    cohort = toy_cohort()
    cohort["cautions"] = None
    cohort.loc[2, "cautions"] = 'The brain has 703 ml (usual: "more"): look at the figures.'
    cohort.loc[3, ["not_enrolled", "exclusion", "included"]] = [
        "no T1w image", "not enrolled: no T1w image", False,
    ]  # fmt: skip
    return cohort


def cards_of(page):
    """Give the text of each card by the name of its subject, in the page's order."""
    found = re.findall(
        r"<li(?: class=\"out\")?>\n<p><strong>(.*?)</strong>(.*?)</li>", page, re.DOTALL
    )
    cards = {re.sub("<.*?>", "", name): name + rest for name, rest in found}
    assert len(cards) == len(found)
    return cards


@pytest.mark.parametrize("site", ["COI", "KUT", "HUH"])
def test_every_subject_of_the_site_is_listed_once_with_its_status_and_page(cohort, tmp_path, site):
    files = write_toy_slices(tmp_path, cohort)

    cards = cards_of(contact_sheet(site, cohort, files, "../"))

    own = cohort[cohort["site"] == site].set_index("participant_id")
    assert sorted(cards) == sorted(own.index)
    for name, card in cards.items():
        address = f'href="../subjects/site-{site}/{name}.html"'
        processed = pd.isna(own.loc[name, "not_enrolled"])
        assert (address in card) == processed
        if own.loc[name, "included"]:
            assert " included" in card
            assert card.count("data:image/webp") == 3
        else:
            reason = own.loc[name, "exclusion"].removeprefix("failed: ")
            assert str(escape(reason)) in card


def test_failed_excluded_and_cautioned_subjects_come_first(cohort, tmp_path):
    files = write_toy_slices(tmp_path, cohort)

    page = contact_sheet("COI", cohort, files, "../")

    names = list(cards_of(page))
    assert names[:2] == ["sub-COIMDD002", "sub-COIMDD003"]
    assert names[-1] == "sub-COIMDD004"
    assert names[2:-1] == [n for n in cohort["participant_id"][:8] if n in names[2:-1]]
    assert [standing(row) for _, row in cohort.iloc[:4].iterrows()] == [
        "included", "excluded", "cautioned", "unprocessed",
    ]  # fmt: skip
    assert "8 subjects" in page


def test_a_failed_subject_is_shown_with_the_reason_and_the_pictures_that_exist(cohort, tmp_path):
    files = write_toy_slices(tmp_path, cohort)

    cards = cards_of(contact_sheet("HUH", cohort, files, "../"))

    name, card = next(iter(cards.items()))
    assert name == "sub-HUHHC004"
    assert " failed: sub-9_bold.nii.gz: only 4 volumes &lt;b&gt;" in card
    assert card.count("data:image/webp") == 2
    assert card.count("No picture: processing failed") == 1
    assert card.index("T1w head of") < card.index("No picture") < card.index("T1w brain in MNI")


def test_every_run_has_a_picture_with_its_name(cohort, tmp_path):
    files = write_toy_slices(tmp_path, cohort)
    (first,) = files["sub-COIMDD001"]["bold"]
    runs = [str(tmp_path / f"sub-COIMDD001_task-rest_run-{k}_slices.npz") for k in (1, 2)]
    for run in runs:
        Path(run).write_bytes(Path(first).read_bytes())
    files["sub-COIMDD001"]["bold"] = runs

    card = cards_of(contact_sheet("COI", cohort, files, "../"))["sub-COIMDD001"]

    titles = re.findall("<figcaption>(.*?)</figcaption>", card)
    named = [f"BOLD to T1w, task-rest_run-{k}" for k in (1, 2)]
    assert titles == ["brain", *named, "T1w to MNI"]
    assert card.count("data:image/webp") == 4
    read_out = [alt for alt in re.findall('alt="(.*?)"', card) if "BOLD" in alt]
    image = "mean BOLD image in T1w space of sub-COIMDD001"
    assert read_out == [f"{image}, task-rest_run-{k}, with outlines" for k in (1, 2)]


def test_a_caution_is_a_tooltip_and_is_read_out(cohort, tmp_path):
    files = write_toy_slices(tmp_path, cohort)

    cards = cards_of(contact_sheet("COI", cohort, files, "../"))

    assert [name for name, card in cards.items() if "703 ml" in card] == ["sub-COIMDD003"]
    assert cards["sub-COIMDD003"].count("703 ml") == 2
    assert 'title="The brain has 703 ml (usual: &#34;more&#34;)' in cards["sub-COIMDD003"]


def test_the_page_tells_its_size(cohort, tmp_path):
    files = write_toy_slices(tmp_path, cohort)

    page = contact_sheet("KUT", cohort, files, "../")

    pictures = re.findall(r'src="(data:image/webp[^"]*)"', page)
    assert len(pictures) == 24
    each = sum(map(len, pictures)) / 8 / 1e3
    assert f"{each:.0f} kB per subject" in page


def test_subjects_that_failed_or_were_excluded_for_quality_stand_before_the_table(cohort, tmp_path):
    cohort.loc[5, ["exclusion", "included"]] = ["group 'SCZ' is neither MDD nor HC", False]
    cohort.loc[6, ["exclusion", "included"]] = [
        "site COI lacks one of the groups; motion: mean FD 0.60 > 0.5 mm", False,
    ]  # fmt: skip
    files = write_toy_slices(tmp_path, cohort)
    findings = toy_findings()

    aside = read_set_aside(cohort, files, SHEETS)
    section = quality_section(findings, {}, aside)
    text = render("sections/quality.html", content=section.content)

    assert [card.participant for card in aside.cards] == [
        "sub-HUHHC004", "sub-COIMDD002", "sub-COIHC003",
    ]  # fmt: skip
    assert list(cards_of(text)) == [card.participant for card in aside.cards]
    assert text.index("sub-COIHC003") < text.index("<table")
    assert "motion: mean FD 0.71 &gt; 0.5 mm" in text
    assert 'href="subjects/site-HUH/sub-HUHHC004.html"' in text
    assert 'href="contact_sheets/site-COI.html">COI<' in text
    assert text.count("data:image/webp") == 8


def test_of_many_subjects_the_first_are_shown_and_the_others_are_on_the_sheets(cohort, tmp_path):
    cohort.loc[:15, ["exclusion", "included"]] = ["motion: mean FD 0.71 > 0.5 mm", False]
    files = write_toy_slices(tmp_path, cohort)

    aside = read_set_aside(cohort, files, SHEETS)
    content = quality_section(toy_findings(), {}, aside).content
    text = render("sections/quality.html", content=content)

    assert (len(aside.cards), aside.n) == (MOST_SHOWN, 16)
    assert f"the first {MOST_SHOWN} are shown here" in text


def test_a_study_in_which_no_one_was_set_aside_says_so(cohort, tmp_path):
    fine = cohort[cohort["included"]]

    aside = read_set_aside(fine, write_toy_slices(tmp_path, fine), SHEETS)
    text = render(
        "sections/quality.html", content=quality_section(toy_findings(), {}, aside).content
    )

    assert "No subject failed or was excluded by a quality limit." in text
    assert "contact_sheets/site-COI.html" in text
