"""The cohort: how many subjects stayed at each step, who was excluded and why, and head motion."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from notears_pfl.cohort.exclusion import NO_PARTNER
from notears_pfl.report.figure_style import RC
from notears_pfl.report.findings import Findings
from notears_pfl.report.page_parts import Caption, PageTable, Picture, Section, page_table
from notears_pfl.report.palette import GREY, GROUP_LOOKS, INK, MANY_SITES
from notears_pfl.report.sections.group_balance import balance_page_table, matching_lines

FLOW_TITLES = {
    "site": "site", "group": "group", "found": "found", "preprocessed": "with usable series",
    "included": "included", "discovery": "discovery", "validation": "validation",
}  # fmt: skip
STEP_TITLES = {
    "found": "in the participants table",
    "preprocessed": "with usable series",
    "included": "included",
    "discovery": "discovery",
    "validation": "validation",
}
# Columns of head motion: axis label, and the settings of its limits.
MOTION_PANELS = {
    "mean_fd_mm": ("mean framewise displacement, mm", ("max_mean_fd_mm",)),
    "share_fd_above": ("share of volumes above 0.5 mm", ("max_share_fd_above",)),
}
# Height of a site's row in figures of many sites.
ROW_INCHES = 0.22
# Kinds of reasons that are about the study's design, not about a subject's data.
IN_NO_GROUP, LACKS_GROUP = "in neither group", "site lacks one of the groups"
NOT_QUALITY = (IN_NO_GROUP, LACKS_GROUP, NO_PARTNER)
CAPTIONS = {
    "cohort_flow": Caption(
        "Flow of subjects from the participants table to discovery and validation, by group",
        "Number of subjects at each step{n}, from the participants table to discovery and "
        "validation, by group and site, with the reasons for exclusion.",
        "The networks describe the subjects of the discovery set; where a group or site lost many, "
        "those who are left may not represent those who were recruited.",
    ),
    "cohort_motion": Caption(
        "Mean framewise displacement and share of high-motion volumes of each subject",
        "Head motion of each subject by site and group{n}. Solid lines: medians of the included "
        "subjects; dashed lines: limits of the study; crosses: excluded subjects.",
        "If one group moves more than the other, differences between their networks may be due to "
        "motion; equal medians do not rule that out.",
    ),
}


def cohort_captions(findings: Findings) -> dict[str, Caption]:
    """Fill the captions with the numbers of subjects; motion may be known for some only."""
    cohort = findings.cohort
    moved = cohort[cohort.filter(["mean_fd_mm"]).notna().any(axis=1)]
    captions = {
        name: CAPTIONS[name].filled(n=f" (n = {_by_group(subjects, findings.groups)})")
        for name, subjects in (("cohort_flow", cohort), ("cohort_motion", moved))
    }
    if known_motion(cohort) == ["mean_fd_mm"]:
        motion = captions["cohort_motion"]
        captions["cohort_motion"] = Caption(
            "Mean framewise displacement of each subject",
            f"{motion.text} The share of high-motion volumes is not known.",
            motion.conclude,
        )
    return captions


def _by_group(subjects: pd.DataFrame, groups: tuple[str, str]) -> str:
    return " and ".join(f"{(subjects['group'] == group).sum()} {group}" for group in groups)


def cohort_section(findings: Findings, pictures: Mapping[str, Picture]) -> Section:
    """Show the flow of subjects, the exclusions, table one and head motion."""
    cohort = findings.cohort
    out = cohort[cohort["exclusion"].notna()]
    return Section(
        "cohort",
        "Cohort",
        {
            "flow_picture": pictures["cohort_flow"],
            "flow": page_table(
                "flow",
                "Number of subjects at each step, by site and group",
                findings.tables["flow"],
                FLOW_TITLES,
            ),
            "reasons": page_table(
                "reasons",
                f"Excluded subjects and the reasons ({len(out)} of {len(cohort)} subjects)",
                out,
                {"participant_id": "participant", "site": "site", "group": "group",
                 "exclusion": "reason"},
                interactive=len(out) > 12,
                file="results/cohort/participants.tsv",
            ),
            "table_one": _table_one(findings),
            "balance": balance_page_table(findings),
            "balance_picture": pictures["balance"],
            "matched": list(matching_lines(findings)),
            "motion_picture": pictures.get("cohort_motion"),
            "limits": findings.config["cohort"]["limits"],
        },
    )  # fmt: skip


def _table_one(findings: Findings) -> PageTable:
    table, groups = findings.tables["table_one"], findings.groups
    shown = pd.DataFrame({"site": table["site"], "variable": table["variable"]})
    for group in groups:
        shown[group] = [
            _described(variable, mean, sd, n)
            for variable, mean, sd, n in zip(
                table["variable"], table[f"mean_{group}"], table[f"sd_{group}"],
                table[f"n_{group}"], strict=True,
            )
        ]  # fmt: skip
    shown["smd"] = table["smd"]
    return page_table(
        "table_one",
        "Included subjects: mean ± standard deviation, or share (n); standardised difference "
        "between the groups",
        shown,
        {"site": "site", "variable": "variable", groups[0]: groups[0], groups[1]: groups[1],
         "smd": "standardised difference"},
        {"smd": "+.2f"},
    )  # fmt: skip


def _described(variable: str, mean: float, sd: float, n: int) -> str | None:
    """Mean and spread of a number, or the share with a value ("sex = F")."""
    if not n:
        return None
    if " = " in variable:
        return f"{mean:.0%} ({n})"
    return f"{mean:.3g} ± {sd:.2g} ({n})" if n > 1 else f"{mean:.3g} ({n})"


def reason_kind(reason: str) -> str:
    """Reduce a reason to its kind, without the numbers of the single subject.

    Reasons are separated by semicolons; a subject is counted under the first.
    """
    first = reason.split(";")[0].strip()
    if first.startswith("failed"):
        return "processing failed"
    if first.startswith("group "):
        return IN_NO_GROUP
    if first.startswith("site "):
        return LACKS_GROUP
    return first.split(":")[0]


def flow_figure(flow: pd.DataFrame, cohort: pd.DataFrame, groups: tuple[str, str]) -> Figure:
    """Draw the flow of subjects, patients and controls side by side.

    Parameters
    ----------
    flow : DataFrame
        ``site``, ``group`` and the number of subjects at each step.
    cohort : DataFrame
        ``group``, ``not_enrolled``, ``failure`` and ``exclusion``: why subjects were excluded.
    groups : tuple of str
        Patients and controls.
    """
    with mpl.rc_context(RC):
        figure = Figure(figsize=(9.5, 5.2))
        for axis, group in zip(figure.subplots(1, 2), groups, strict=True):
            _draw_flow(axis, flow[flow["group"] == group], cohort[cohort["group"] == group])
            axis.set_title(group, fontweight="bold")
    return figure


def _draw_flow(axis: Axes, flow: pd.DataFrame, cohort: pd.DataFrame) -> None:
    heights = {"found": 0.88, "preprocessed": 0.60, "included": 0.32}
    for step, height in heights.items():
        _box(axis, 0.30, height, _counts(flow, step), bold=True)
    for step, x in (("discovery", 0.16), ("validation", 0.60)):
        _box(axis, x, 0.05, _counts(flow, step))
        _arrow(axis, (0.30, 0.32), (x, 0.05))
    unusable = cohort["failure"].notna() | cohort["not_enrolled"].notna()
    excluded = {0.74: cohort[unusable], 0.46: cohort[~unusable & cohort["exclusion"].notna()]}
    for (above, below), (height, gone) in zip(
        ((0.88, 0.60), (0.60, 0.32)), excluded.items(), strict=True
    ):
        _arrow(axis, (0.30, above), (0.30, below))
        if len(gone):
            reasons = gone["exclusion"].map(reason_kind).value_counts()
            lines = [f"{len(gone)} excluded", *(f"{n} {kind}" for kind, n in reasons.items())]
            axis.plot([0.30, 0.80], [height, height], color=GREY, linewidth=1, zorder=1)
            _box(axis, 0.80, height, "\n".join(textwrap.fill(line, 26) for line in lines))
    axis.set_xlim(0, 1)
    axis.set_ylim(-0.06, 1)
    axis.set_axis_off()


def _counts(flow: pd.DataFrame, step: str) -> str:
    if len(flow) > MANY_SITES:
        fewest, most = flow[step].min(), flow[step].max()
        return f"{flow[step].sum()} {STEP_TITLES[step]}\n{len(flow)} sites, {fewest} to {most} each"
    sites = [f"{site} {n}" for site, n in zip(flow["site"], flow[step], strict=True)]
    whole = [site.replace(" ", "\xa0") for site in sites]
    lines = textwrap.wrap(", ".join(whole), 26)
    return "\n".join([f"{flow[step].sum()} {STEP_TITLES[step]}", *lines])


def _box(axis: Axes, x: float, y: float, text: str, bold: bool = False) -> None:
    axis.text(
        x, y, text, ha="center", va="center", fontsize=8.5, zorder=3,
        linespacing=1.35, color=INK,
        bbox={
            "boxstyle": "round,pad=0.5", "facecolor": "#f4f7fb" if bold else "white",
            "edgecolor": INK if bold else GREY, "linewidth": 0.9,
        },
    )  # fmt: skip


def _arrow(axis: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    axis.annotate(
        "", end, start, zorder=1,
        arrowprops={
            "arrowstyle": "-|>", "color": GREY, "shrinkA": 18, "shrinkB": 20, "linewidth": 1
        },
    )  # fmt: skip


def motion_figure(
    cohort: pd.DataFrame, groups: tuple[str, str], limits: Mapping[str, Any]
) -> Figure:
    """Draw the head motion of all subjects by site and group; crosses mark excluded subjects.

    ``cohort`` has ``site``, ``group``, ``included`` and the columns of ``MOTION_PANELS``.
    """
    sites = list(dict.fromkeys(cohort["site"]))
    in_rows = len(sites) > MANY_SITES
    shown = known_motion(cohort)
    with mpl.rc_context(RC):
        if in_rows:
            figure = Figure(figsize=(9.5, 1.2 + ROW_INCHES * len(sites)))
            axes = figure.subplots(1, len(shown), sharey=True, squeeze=False)[0]
        else:
            height = 0.6 + 2.9 * len(shown)
            figure = Figure(figsize=(max(6.5, 1.0 + 0.85 * len(sites)), height))
            axes = figure.subplots(len(shown), 1, sharex=True, squeeze=False)[:, 0]
        for axis, column in zip(axes, shown, strict=True):
            label, names = MOTION_PANELS[column]
            draw_by_site(axis, cohort, column, groups, sites)
            draw_limits(axis, [limits[name] for name in names], in_rows)
            axis.set(**({"xlabel": label} if in_rows else {"ylabel": label}))
            axis.set(**({"xlim": (0, None)} if in_rows else {"ylim": (0, None)}))
        name_sites(axes[0] if in_rows else axes[-1], sites)
        group_legend(figure, cohort, "mean_fd_mm", groups)
    return figure


def known_motion(cohort: pd.DataFrame) -> list[str]:
    """Name the columns of head motion that are known; the first if none is."""
    known = cohort.filter([*MOTION_PANELS]).notna().any()
    return [name for name in MOTION_PANELS if known.get(name, False)] or [*MOTION_PANELS][:1]


def name_sites(axis: Axes, sites: Sequence[str]) -> None:
    """Write the sites along the axis that they are on, the first at the left or at the top."""
    if len(sites) > MANY_SITES:
        axis.set_yticks(range(len(sites)), sites, fontsize=7)
        axis.set_ylim(len(sites) - 0.5, -0.5)
    else:
        axis.set_xticks(range(len(sites)), sites)


def draw_limits(axis: Axes, limits: Sequence[float], upright: bool = False) -> None:
    """Draw limits of a figure as dashed lines with their values."""
    for limit in limits:
        line = axis.axvline if upright else axis.axhline
        line(limit, color=INK, linestyle="--", linewidth=1)
        axis.annotate(
            f"limit {limit:g}",
            (limit, 1) if upright else (1, limit),
            xycoords=("data", "axes fraction") if upright else ("axes fraction", "data"),
            ha="center" if upright else "right", va="bottom", fontsize=8,
        )  # fmt: skip


def group_legend(
    figure: Figure, cohort: pd.DataFrame, column: str, groups: tuple[str, str]
) -> None:
    """Explain the colours, with the number of subjects whose ``column`` is known."""
    known = cohort[cohort[column].notna()]
    handles = [
        Line2D([], [], color=colour, marker=marker, linestyle="",
               label=f"{group} (n = {(known['group'] == group).sum()})")
        for group, (colour, marker) in zip(groups, GROUP_LOOKS, strict=True)
    ]  # fmt: skip
    out = Line2D([], [], color=INK, marker="x", linestyle="", label="excluded")
    figure.legend(handles=[*handles, out], loc="outside upper center", ncols=3, fontsize=8)


def draw_by_site(
    axis: Axes, cohort: pd.DataFrame, column: str, groups: tuple[str, str], sites: list[str]
) -> None:
    """Draw a column of the cohort by site and group, with medians of the included subjects.

    Values go up; to the right if there are many sites, which have a row each.
    """
    in_rows = len(sites) > MANY_SITES
    sizes = (5, 14) if in_rows else (16, 26)
    turn = slice(None, None, -1 if in_rows else 1)
    for offset, group, (colour, marker) in zip((-0.18, 0.18), groups, GROUP_LOOKS, strict=True):
        for place, site in enumerate(sites):
            members = cohort[(cohort["group"] == group) & (cohort["site"] == site)]
            # Spread the points evenly, so that none hides another and the figure never varies.
            spread = np.linspace(-0.12, 0.12, len(members)) if len(members) > 1 else np.zeros(1)
            at = pd.Series(spread[: len(members)] + place + offset, index=members.index)
            used = members["included"].to_numpy(dtype=bool)
            points = np.column_stack([at, members[column].astype(float)])[:, turn]
            for chosen, look, size in ((used, marker, sizes[0]), (~used, "x", sizes[1])):
                x, y = points[chosen].T
                axis.scatter(x, y, color=colour, marker=look, s=size)
            if used.any():
                median = members.loc[used, column].median()
                line = axis.vlines if in_rows else axis.hlines
                line(median, place + offset - 0.15, place + offset + 0.15, color=INK)
    axis.grid(axis="x" if in_rows else "y", linewidth=0.3)
