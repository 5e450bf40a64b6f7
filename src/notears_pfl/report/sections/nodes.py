"""Important nodes: the regions of highest degree, as in the paper's table, and a plot."""

from collections.abc import Mapping

import pandas as pd

from notears_pfl.report.embed import Picture
from notears_pfl.report.findings import Findings
from notears_pfl.report.page import Section
from notears_pfl.report.tables import PageTable, page_table


def nodes_section(findings: Findings, pictures: Mapping[str, Picture]) -> Section:
    """Top regions per group and direction, their sums beside the sums over all regions."""
    top, rois = findings.tables["degree_top"], findings.rois
    named = top.assign(
        index=top["roi"].map(rois["index"]),
        name=top["roi"].map(rois["name"]),
        lobe=top["roi"].map(rois["lobe"]),
    )
    tables = [
        _top_table(named, group, direction)
        for direction in ("out", "in")
        for group in findings.groups
    ]
    totals = findings.tables["degree_totals"]
    return Section(
        "nodes",
        "Important nodes",
        {
            "picture": pictures["degree"],
            "tables": tables,
            "n_top": int(top["rank"].max()),
            "totals": page_table(
                "degree_totals",
                "Sums of degrees over the top regions, and over all",
                totals.assign(rois=totals["rois"].map({"top": "top", "all": "all"})),
                {
                    "direction": "direction", "rois": "regions",
                    **{group: group for group in findings.groups},
                    "percent_more": f"{findings.groups[0]} more, %",
                },
                {"percent_more": "+.1f"},
            ),
        },
    )  # fmt: skip


def _top_table(named: pd.DataFrame, group: str, direction: str) -> PageTable:
    chosen = named[(named["group"] == group) & (named["direction"] == direction)]
    return page_table(
        f"degree_{direction}_{group}",
        f"{group}: highest {direction} degrees (total {chosen['degree'].sum()})",
        chosen,
        {"index": "index", "name": "region", "roi": "abbreviation", "degree": "degree"},
    )
