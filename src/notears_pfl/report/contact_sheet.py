"""Contact sheets: small pictures of every subject of a site, those to look at first."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from notears_pfl.io.bids_tree import name_of_run
from notears_pfl.io.images import read_arrays
from notears_pfl.report.page import render
from notears_pfl.report.page_parts import Caption, Picture, SetAside, SubjectCard
from notears_pfl.report.registration_drawing import OUTLINES, REGISTRATIONS, thumbnail
from notears_pfl.report.sections.cohort_flow import NOT_QUALITY, reason_kind
from notears_pfl.report.sections.subject_quality import subject_address

# What became of a subject, in the order of a sheet, and the heading.
STANDINGS = {
    "failed": "Failed",
    "excluded": "Excluded",
    "cautioned": "Included, with cautions",
    "included": "Included",
    "unprocessed": "Not processed",
}
# Subjects that the index shows; all are on the contact sheets.
MOST_SHOWN = 12

# Files of each participant by kind, one per run.
Files = Mapping[str, Mapping[str, Sequence[str]]]


def standing(subject: pd.Series) -> str:
    """Tell what became of a subject: a key of ``STANDINGS``."""
    if pd.notna(subject["not_enrolled"]):
        return "unprocessed"
    if pd.notna(subject["failure"]):
        return "failed"
    if not subject["included"]:
        return "excluded"
    return "cautioned" if pd.notna(subject.get("cautions")) else "included"


def read_card(subject: pd.Series, files: Mapping[str, Sequence[str]], root: str) -> SubjectCard:
    """Read the pictures of a subject, a row of the cohort's table; those of failed steps are empty.

    There is one of every run.

    ``root`` is the address of the index's folder.
    """
    name, became = subject["participant_id"], standing(subject)
    pictures: dict[str, Picture | None] = {}
    for kind, shown in REGISTRATIONS.items():
        paths = files.get(kind, [])
        for path in paths:
            run = name_of_run(path) if len(paths) > 1 else ""
            title = f"{shown.short}, {run}" if run else shown.short
            whose = f"{name}, {run}," if run else name
            slices = read_arrays(path)
            caption = Caption(f"{shown.image} of {whose} with outlines", title)
            pictures[title] = None if slices is None else thumbnail(slices, caption)
        if not paths:
            pictures[shown.short] = None
    words = {"cautioned": "included", "unprocessed": "excluded"}
    return SubjectCard(
        participant=name,
        address="" if became == "unprocessed" else root + subject_address(subject),
        status=words.get(became, became),
        reason=""
        if pd.isna(subject["exclusion"])
        else subject["exclusion"].removeprefix("failed: "),
        cautions="" if pd.isna(subject.get("cautions")) else subject["cautions"],
        pictures=pictures,
    )


def contact_sheet(site: str, cohort: pd.DataFrame, files: Files, root: str) -> str:
    """Write the page of all subjects of a site; ``files`` are those of the processed subjects."""
    subjects = cohort[cohort["site"] == site]
    became = subjects.apply(standing, axis=1)
    groups = {
        STANDINGS[key]: [
            read_card(subject, files.get(subject["participant_id"], {}), root)
            for _, subject in subjects[became == key].iterrows()
        ]
        for key in STANDINGS
        if (became == key).any()
    }
    n_bytes = sum(_bytes(card) for cards in groups.values() for card in cards)
    return render(
        "contact_sheet.html",
        site=site,
        groups=groups,
        n_subjects=len(subjects),
        megabytes=n_bytes / 1e6,
        kilobytes_each=n_bytes / 1e3 / len(subjects),
        registrations=REGISTRATIONS.values(),
        outlines=OUTLINES,
        root=root,
    )


def _bytes(card: SubjectCard) -> int:
    return sum(len(picture.source) for picture in card.pictures.values() if picture is not None)


def read_set_aside(cohort: pd.DataFrame, files: Files, sheets: Iterable[str]) -> SetAside:
    """Read the cards of the first subjects that failed or that a quality limit excluded.

    ``sheets`` are the files of the contact sheets.
    """
    became = cohort.apply(standing, axis=1)
    out = pd.concat(
        [
            cohort[became == "failed"],
            cohort[(became == "excluded") & cohort["exclusion"].map(_is_for_quality)],
        ]
    )
    cards = [
        read_card(subject, files.get(subject["participant_id"], {}), "")
        for _, subject in out.iloc[:MOST_SHOWN].iterrows()
    ]
    addresses = {Path(sheet).stem.removeprefix("site-"): _address(sheet) for sheet in sheets}
    return SetAside(cards, len(out), addresses, OUTLINES)


def _address(sheet: str) -> str:
    """Address of a contact sheet, relative to the index."""
    return "/".join(Path(sheet).parts[-2:])


def _is_for_quality(reasons: str | None) -> bool:
    """Whether one of the reasons, which semicolons separate, is about the subject's data."""
    if pd.isna(reasons):
        return False
    return any(reason_kind(reason) not in NOT_QUALITY for reason in str(reasons).split(";"))
