"""Quality: a table of all subjects with outliers flagged, and a link to the page of each."""

import pandas as pd

from notears_pfl.report.findings import Findings
from notears_pfl.report.page_parts import (
    Cell,
    Column,
    PageTable,
    Section,
    SetAside,
    cell,
    link,
)

# Quality measures: title, format, limit in the settings, and which direction is worse.
FIGURES = {
    "n_volumes": ("volumes", ".0f", "min_volumes", -1),
    "mean_fd_mm": ("mean FD, mm", ".2f", "max_mean_fd_mm", 1),
    "share_fd_above": ("volumes above 0.5 mm", ".0%", "max_share_fd_above", 1),
    "mean_dvars_percent": ("mean DVARS, %", ".2f", None, 1),
    "median_tsnr": ("median tSNR", ".0f", None, -1),
    "bold_t1w_agreement": ("BOLD–T1w agreement", ".2f", "min_bold_t1w_agreement", -1),
    "template_agreement": ("T1w–MNI agreement", ".2f", None, -1),
    "degrees_of_freedom": ("degrees of freedom", ".0f", None, -1),
}
# An outlier is this many scaled median absolute deviations from its site's median; sites with
# fewer subjects have no outliers.
FAR, FEWEST = 3.0, 5


def outliers(cohort: pd.DataFrame, column: str, worse: int) -> pd.Series:
    """Flag values more than three scaled MADs on the worse side of their site's median."""
    by_site = cohort.groupby("site")[column]
    centre = by_site.transform("median")
    spread = 1.4826 * (cohort[column] - centre).abs().groupby(cohort["site"]).transform("median")
    far = worse * (cohort[column] - centre) > FAR * spread
    return far & (spread > 0) & (by_site.transform("count") >= FEWEST)


def quality_section(findings: Findings, set_aside: SetAside | None = None) -> Section:
    """Show every subject, in the order of the participants table.

    Pictures of the subjects that were ``set_aside`` come first, if the study has images.
    """
    cohort = findings.cohort
    shown = [name for name in FIGURES if name in cohort and cohort[name].notna().any()]
    flags = {name: _flags(findings, name) for name in shown}
    any_flag = pd.DataFrame(flags, index=cohort.index).any(axis=1)
    return Section(
        "quality",
        "Quality",
        {
            "subjects": _table(findings, shown, flags),
            "n_outliers": int(any_flag.sum()),
            "n_cautioned": sum(bool(findings.cautions_on(name)) for name in findings.reports),
            "n_failed": int(cohort["failure"].notna().sum()),
            "n_subjects": len(cohort),
            "preprocessed_images": findings.preprocessed_images,
            "far": FAR,
            "fewest": FEWEST,
            "set_aside": set_aside,
        },
    )


def _flags(findings: Findings, name: str) -> pd.Series:
    _, _, limit, worse = FIGURES[name]
    flagged = outliers(findings.cohort, name, worse)
    if limit is not None:
        beyond = findings.config["cohort"]["limits"][limit]
        flagged |= worse * (findings.cohort[name] - beyond) > 0
    return flagged


def _table(findings: Findings, shown: list[str], flags: dict[str, pd.Series]) -> PageTable:
    cohort = findings.cohort
    columns = [Column("participant"), Column("site"), Column("group"), Column("status")]
    rows = []
    for place, (_, subject) in enumerate(cohort.iterrows()):
        name = subject["participant_id"]
        # Subjects that were never processed have no page.
        processed = pd.isna(subject["not_enrolled"])
        row = [
            Cell(link(name, subject_address(subject)), name) if processed else cell(name),
            cell(subject["site"]),
            cell(subject["group"]),
            _status(subject),
        ]
        for figure in shown:
            made = cell(subject[figure], FIGURES[figure][1])
            row.append(Cell(made.text, made.order, bool(flags[figure].iloc[place])))
        cautions = findings.cautions_on(name)
        row.append(Cell(" ".join(cautions), flagged=True) if cautions else cell(None))
        rows.append(row)
    columns += [Column(FIGURES[name][0], numeric=True) for name in shown] + [Column("cautions")]
    caption = f"Quality of every subject (n = {len(cohort)})"
    filters = ("site", "group", "status")
    return PageTable("subjects", caption, columns, rows, interactive=True, filters=filters)


def subject_address(subject: pd.Series) -> str:
    """Address of a subject's page, relative to the index."""
    return f"subjects/site-{subject['site']}/{subject['participant_id']}.html"


def _status(subject: pd.Series) -> Cell:
    if pd.notna(subject["failure"]):
        return Cell("failed", flagged=True)
    return Cell(str(subject["split"])) if subject["included"] else Cell("excluded", flagged=True)
