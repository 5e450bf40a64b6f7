"""Assemble the cohort: every subject with its quality figures, exclusions, pair and split."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from notears_pfl.cohort.covariates import QUALITY
from notears_pfl.cohort.exclusion import Limits, exclusion_reasons
from notears_pfl.cohort.matching import NO_MATCHING, Matching, match_subjects
from notears_pfl.cohort.split import split_subjects
from notears_pfl.errors import CohortError
from notears_pfl.wording import counted

# Whether a step converged (keys of the report and columns of the table). A step that did not
# converge often still has a good result, so this excludes no one.
CONVERGED = ("tissue_model_converged", "motion_converged", "bold_t1w_converged")
NO_SCAN = {"status": "failed", "reason": "no scan was found"}


def assemble_cohort(
    participants: pd.DataFrame, reports: Mapping[str, Mapping[str, Any]], groups: tuple[str, str],
    sites: Sequence[str], limits: Limits, discovery_share: float, seed: int,
    matching: Matching = NO_MATCHING, name: str = "The participants table",
) -> pd.DataFrame:  # fmt: skip
    """Apply the exclusion criteria to all participants, match the others, then split them.

    Parameters
    ----------
    participants : DataFrame
        ``participant_id``, ``site``, ``group`` and further columns. A subject whose
        ``not_enrolled`` gives a reason was never processed and needs no report.
    reports : mapping of str to mapping
        Quality report by participant: ``status`` ``ok`` or ``failed``, the ``reason`` of a
        failure, the figures of ``QUALITY``, and ``cautions`` about unusual figures. If a report
        with status ``ok`` lacks a figure, a column of that name in ``participants`` is used.
    groups : tuple of str
        Patients and controls.
    sites : sequence of str
        The sites that have both groups.
    limits : Limits
        Exclusion criteria.
    discovery_share : float
        Share of the included subjects of each site and group in the discovery set.
    seed : int
        Seed of the study.
    matching : Matching
        Covariates in which patients and controls are matched; none by default.
    name : str
        Name of the participants table in error messages: its file.

    Returns
    -------
    DataFrame
        The participants with the columns of ``QUALITY`` and ``CONVERGED``, ``cautions`` (the
        subject's unusual quality figures), ``failure``, ``included``, ``exclusion`` (the reason),
        ``matched_pair`` (the patient of a matched pair, for both of its subjects) and ``split``.
    """
    ids = participants["participant_id"]
    if "not_enrolled" not in participants:
        participants = participants.assign(not_enrolled="")
    participants = participants.fillna({"not_enrolled": ""})
    own = [
        {"status": "never processed"} if why else reports.get(name, NO_SCAN)
        for name, why in zip(ids, participants["not_enrolled"], strict=True)
    ]
    quality = pd.DataFrame(
        [{column: report.get(key) for column, key in QUALITY.items()} for report in own],
        index=participants.index,
    ).astype(float)
    usable = pd.Series([report["status"] == "ok" for report in own], index=participants.index)
    subjects = participants.copy()
    for column in QUALITY:
        measured = quality[column]
        if column in participants:
            given = _figures_from_table(participants, column, usable & measured.isna())
            measured = measured.fillna(given)
        subjects[column] = measured
    for flag in CONVERGED:
        subjects[flag] = [report.get(flag) for report in own]
    subjects["cautions"] = [" ".join(report.get("cautions", [])) for report in own]
    subjects["failure"] = [r["reason"] if r["status"] == "failed" else "" for r in own]
    subjects["exclusion"] = exclusion_reasons(subjects, groups, sites, limits)
    matched = match_subjects(subjects[subjects["exclusion"] == ""], groups, sites, matching, name)
    subjects["exclusion"] = matched.reason.reindex(subjects.index).fillna(subjects["exclusion"])
    subjects["matched_pair"] = matched.pair.reindex(subjects.index, fill_value="")
    subjects["included"] = subjects["exclusion"] == ""
    split = split_subjects(subjects[subjects["included"]], groups, sites, discovery_share, seed)
    subjects["split"] = split.reindex(subjects.index, fill_value="")
    return subjects


def _figures_from_table(participants: pd.DataFrame, column: str, wanted: pd.Series) -> pd.Series:
    """Quality figures that the participants table gives for the ``wanted`` rows; reject text."""
    cells = participants[column][wanted]
    numbers = pd.to_numeric(cells, errors="coerce").astype(float)
    text = cells[numbers.isna() & cells.notna()]
    if len(text):
        who = participants["participant_id"][text.index[0]]
        msg = (
            f"The participants table: column {column} is read as a quality figure and must hold "
            f"numbers; {counted(len(text), 'subject has', 'subjects have')} text "
            f"({text.iloc[0]!r} of {who}). Correct it, or rename the column."
        )
        raise CohortError(msg)
    return numbers
