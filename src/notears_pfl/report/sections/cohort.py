"""The cohort: who stayed at each step and why not, who they are, how they moved."""

from collections.abc import Mapping

import pandas as pd

from notears_pfl.report.embed import Picture
from notears_pfl.report.findings import Findings
from notears_pfl.report.page import Section
from notears_pfl.report.tables import PageTable, page_table

FLOW_TITLES = {
    "site": "site", "group": "group", "found": "found", "preprocessed": "with usable series",
    "included": "included", "discovery": "discovery", "validation": "validation",
}  # fmt: skip


def cohort_section(findings: Findings, pictures: Mapping[str, Picture]) -> Section:
    """Flow, reasons, table one and motion."""
    cohort = findings.cohort
    out = cohort[cohort["exclusion"].notna()]
    return Section(
        "cohort",
        "Cohort",
        {
            "flow_picture": pictures["cohort_flow"],
            "flow": page_table(
                "flow",
                "How many people stayed at each step, by site and group",
                findings.tables["flow"],
                FLOW_TITLES,
            ),
            "reasons": page_table(
                "reasons",
                f"Who was left out, and why ({len(out)} of {len(cohort)} people)",
                out,
                {"participant_id": "participant", "site": "site", "group": "group",
                 "exclusion": "reason"},
                interactive=len(out) > 12,
            ),
            "table_one": _table_one(findings),
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
        "Included people: mean ± standard deviation, or share (n); difference of the groups in "
        "standard deviations",
        shown,
        {"site": "site", "variable": "variable", groups[0]: groups[0], groups[1]: groups[1],
         "smd": "standardised difference"},
        {"smd": "+.2f"},
    )  # fmt: skip


def _described(variable: str, mean: float, sd: float, n: int) -> str | None:
    """Mean and spread of a number, or the share that has a value ("sex = F")."""
    if not n:
        return None
    if " = " in variable:
        return f"{mean:.0%} ({n})"
    return f"{mean:.3g} ± {sd:.2g} ({n})" if n > 1 else f"{mean:.3g} ({n})"
