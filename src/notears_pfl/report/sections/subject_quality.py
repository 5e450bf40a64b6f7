"""Quality: a table of all subjects with outliers flagged, and a link to the page of each."""

from collections.abc import Hashable, Mapping
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure

from notears_pfl.report.figure_style import RC
from notears_pfl.report.findings import Findings
from notears_pfl.report.measures import FIGURES
from notears_pfl.report.page_parts import (
    Caption,
    Cell,
    Column,
    PageTable,
    Picture,
    Section,
    SetAside,
    cell,
    link,
    page_table,
)
from notears_pfl.report.palette import MANY_SITES
from notears_pfl.report.sections.cohort_flow import (
    ROW_INCHES,
    draw_by_site,
    draw_limits,
    group_legend,
    name_sites,
)

# Measures of the images, which have a figure; head motion has its own in the cohort section.
IMAGE_FIGURES = (
    "brain_ml", "head_agreement", "surface_correction", "template_agreement_affine",
    "template_agreement", "affine_volume", "smallest_jacobian", "bold_t1w_agreement",
    "brain_coverage",
)  # fmt: skip
# Measures whose columns are always shown; those of the others are shown when asked for.
ALWAYS_SHOWN = ("n_volumes", "mean_fd_mm", "median_tsnr", "degrees_of_freedom")
CAPTIONS = {
    "quality_limits": Caption(
        "Quality measures of each subject's images by site and group, with the limits",
        "Quality of the images, each subject a point. Solid lines: medians of the included "
        "subjects; dashed lines: limits of the study; crosses: excluded subjects.",
        "Look at the pictures of subjects far from the others of their site; values within the "
        "limits do not prove that every step succeeded.",
    ),
}
# Figures of cleaning, in the order of the table of degrees of freedom.
FREEDOM = ("degrees_of_freedom_in_band", "degrees_of_freedom", "n_volumes", "n_censored")
# An outlier is this many scaled median absolute deviations from its site's median; sites with
# fewer subjects have no outliers.
FAR, FEWEST = 3.0, 5


def outliers(cohort: pd.DataFrame, column: str, worse: int) -> pd.Series:
    """Flag values more than three scaled MADs on the worse side of their site's median.

    ``worse`` is -1 for small values, 1 for large ones, 0 for both.
    """
    by_site = cohort.groupby("site")[column]
    centre = by_site.transform("median")
    spread = 1.4826 * (cohort[column] - centre).abs().groupby(cohort["site"]).transform("median")
    away = cohort[column] - centre
    far = (worse * away if worse else away.abs()) > FAR * spread
    return far & (spread > 0) & (by_site.transform("count") >= FEWEST)


def quality_figure(
    cohort: pd.DataFrame, groups: tuple[str, str], limits: Mapping[str, Any]
) -> Figure:
    """Draw the measures of the images by site and group against their limits."""
    shown = [name for name in IMAGE_FIGURES if cohort[name].notna().any()]
    sites = list(dict.fromkeys(cohort["site"]))
    rows = -(-len(shown) // 3)
    in_rows = len(sites) > MANY_SITES
    height = 0.6 + ROW_INCHES * len(sites) if in_rows else 2.4
    width = 9.5 if in_rows else max(9.5, 2.0 + 1.6 * len(sites))
    with mpl.rc_context(RC):
        figure = Figure(figsize=(width, 0.7 + height * rows))
        axes = figure.subplots(rows, 3, squeeze=False).ravel()
        for axis, name in zip(axes, shown, strict=False):
            title, _, names, _ = FIGURES[name]
            draw_by_site(axis, cohort, name, groups, sites)
            draw_limits(axis, [limits[limit] for limit in names], in_rows)
            # The limits' values are above the axes, below the title.
            axis.set_title(title, fontsize=9, pad=14 if in_rows else None)
            name_sites(axis, sites)
        for axis in axes[len(shown) :]:
            axis.set_axis_off()
        if shown:
            group_legend(figure, cohort, shown[0], groups)
    return figure


def quality_section(
    findings: Findings, pictures: Mapping[str, Picture], set_aside: SetAside | None = None
) -> Section:
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
            "limits_picture": pictures.get("quality_limits"),
            "freedom": freedom_table(findings),
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


def freedom_table(findings: Findings) -> PageTable | None:
    """Degrees of freedom that cleaning cost and left, by site and group; None if not known."""
    subjects = findings.cohort[["participant_id", "site", "group"]]
    reports = [findings.reports.get(name, {}) for name in subjects["participant_id"]]
    figures = [[report.get(key) for key in FREEDOM] for report in reports]
    known = pd.DataFrame(figures, subjects.index, [*FREEDOM], dtype=float)
    table = subjects.join(known).dropna(subset=[*FREEDOM])
    if table.empty:
        return None
    band, left, kept, censored = (table[key] for key in FREEDOM)
    table = table.assign(lost=1 - left / band, censored=censored / (kept + censored))
    cells = table.groupby(["site", "group"], sort=False, observed=True)
    frame = pd.DataFrame(
        {
            "n": cells.size(),
            "band": cells["degrees_of_freedom_in_band"].median(),
            "left": cells["degrees_of_freedom"].median(),
            "least": cells["degrees_of_freedom"].min(),
            "lost": cells["lost"].median(),
            "censored": cells["censored"].median(),
        }
    ).reset_index()
    needed = findings.config["preproc"]["clean"]["min_degrees_of_freedom"]
    return page_table(
        "freedom",
        "Degrees of freedom of a series by site and group: what filtering alone would leave, and "
        f"what is left after confounds and scrubbing (medians; at least {needed:g} needed)",
        frame,
        {
            "site": "site", "group": "group", "n": "subjects", "band": "in the band",
            "left": "left", "least": "fewest left", "lost": "lost", "censored": "volumes censored",
        },
        {"band": ".0f", "left": ".0f", "least": ".0f", "lost": ".0%", "censored": ".0%"},
    )  # fmt: skip


def _flags(findings: Findings, name: str) -> pd.Series:
    _, _, limits, worse = FIGURES[name]
    values = findings.cohort[name]
    flagged = outliers(findings.cohort, name, worse)
    for limit in limits:
        beyond = findings.config["cohort"]["limits"][limit]
        flagged |= values < beyond if limit.startswith("min_") else values > beyond
    return flagged


def _table(findings: Findings, shown: list[str], flags: dict[str, pd.Series]) -> PageTable:
    cohort = findings.cohort
    columns = [Column("participant"), Column("site"), Column("group"), Column("status")]
    columns += [
        Column(FIGURES[name][0], numeric=True, extra=name not in ALWAYS_SHOWN) for name in shown
    ]
    columns += [Column("flagged"), Column("cautions")]
    flagged_at = {name: flags[name].to_numpy(dtype=bool) for name in shown}
    rows = []
    for place, subject in enumerate(cohort.to_dict("records")):
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
            row.append(Cell(made.text, made.order, bool(flagged_at[figure][place])))
        flagged = [
            FIGURES[figure][0].split(",")[0] for figure in shown if flagged_at[figure][place]
        ]
        row.append(cell("; ".join(flagged) or None))
        cautions = findings.cautions_on(name)
        row.append(Cell(" ".join(cautions), flagged=True) if cautions else cell(None))
        rows.append(row)
    caption = f"Quality of every subject (n = {len(cohort)})"
    filters = ("site", "group", "status")
    file = "results/cohort/participants.tsv"
    return PageTable("subjects", caption, columns, rows, True, filters, file)


def subject_address(subject: Mapping[Hashable, Any] | pd.Series) -> str:
    """Address of a subject's page, relative to the index."""
    return f"subjects/site-{subject['site']}/{subject['participant_id']}.html"


def _status(subject: Mapping[Hashable, Any]) -> Cell:
    if pd.notna(subject["failure"]):
        return Cell("failed", flagged=True)
    return Cell(str(subject["split"])) if subject["included"] else Cell("excluded", flagged=True)
