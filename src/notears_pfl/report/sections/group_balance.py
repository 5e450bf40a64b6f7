"""Balance of the groups: covariates in which patients and controls differ, in words and drawn."""

from collections.abc import Iterator

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from notears_pfl.cohort.balance import ALL_SITES, BEFORE, INCLUDED, UNBALANCED
from notears_pfl.cohort.exclusion import NO_PARTNER
from notears_pfl.cohort.split import DISCOVERY
from notears_pfl.report.figure_style import RC
from notears_pfl.report.findings import Findings
from notears_pfl.report.page_parts import (
    MOST_NAMED,
    Caption,
    Cell,
    PageTable,
    cell,
    first_of,
    page_table,
)
from notears_pfl.report.palette import BLUE, GREY, INK

# Differences farther out are drawn at the margin.
WIDEST = 2.0
CAPTIONS = {
    "balance": Caption(
        "Standardised differences between {patients} and {controls} in each covariate",
        "Standardised differences between {patients} and {controls} in each covariate, within "
        "sites: one small mark per site, the large one over all sites. Filled: subjects of the "
        "study; open: before matching, if they were matched. Dashed lines: ±0.2. Differences of "
        "more than 2 standard deviations are drawn at the margin.",
        "A covariate beyond the dashed lines may explain a difference between the networks of the "
        "groups; one within them is less likely to, but a covariate that is not shown may.",
    ),
}


def balance_lines(balance: pd.DataFrame, groups: tuple[str, str]) -> Iterator[str]:
    """Name the covariates in which the groups differ by more than 0.2 SD, with site and size."""
    rows = balance[balance["unbalanced"].astype(bool)]
    for variable in balance["variable"].unique():
        own = rows[(rows["variable"] == variable) & (rows["subjects"] == INCLUDED)]
        parts = [
            _difference(row["difference"]) + f" at {row['site']} ({row[f'n_{groups[0]}']} and "
            f"{row[f'n_{groups[1]}']} subjects)"
            for row in own[own["site"] != ALL_SITES].to_dict("records")
        ]
        if len(parts) > MOST_NAMED:
            parts = [first_of(parts) + (" site" if len(parts) == MOST_NAMED + 1 else " sites")]
        for stage, words in ((INCLUDED, "over all sites"), (DISCOVERY, "in the discovery set")):
            everywhere = rows[
                (rows["variable"] == variable) & (rows["subjects"] == stage)
                & (rows["site"] == ALL_SITES)
            ]  # fmt: skip
            parts += [f"{_difference(d)} {words}" for d in everywhere["difference"]]
        if parts:
            yield f"{groups[0]} and {groups[1]} differ in {variable} by " + ", ".join(parts) + "."


def calm_line(balance: pd.DataFrame) -> str:
    """Say what stands where no covariate is unbalanced: balance, or that none was assessed."""
    if balance["difference"].notna().any():
        return (
            "No covariate of table one differs between the groups by more than 0.2 standard "
            "deviations, at any site or over all."
        )
    return "No covariate was available, so the balance of the groups was not assessed."


def missing_lines(balance: pd.DataFrame, groups: tuple[str, str]) -> Iterator[str]:
    """Count the included subjects without a value of a covariate."""
    rows = balance[(balance["subjects"] == INCLUDED) & (balance["site"] == ALL_SITES)]
    for row in rows.to_dict("records"):
        gone = [row[f"missing_{group}"] for group in groups]
        if any(gone):
            counts = " and ".join(
                f"{n} of {n + row[f'n_{group}']} {group}"
                for n, group in zip(gone, groups, strict=True)
            )
            yield f"{row['variable']} is unknown for {counts}; they have no part in its difference."


def matching_lines(findings: Findings) -> Iterator[str]:
    """Say how many pairs there are, and how many subjects have no partner."""
    if findings.config["cohort"]["match"]:
        cohort = findings.cohort
        alone = cohort["exclusion"].fillna("").str.startswith(NO_PARTNER).sum()
        yield (
            f"Matched within sites on {', '.join(findings.config['cohort']['match'])}: "
            f"{int(cohort['included'].sum()) // 2} pairs; {alone} subjects without a partner are "
            "excluded."
        )


def balance_page_table(findings: Findings) -> PageTable:
    """Show the differences over all sites, in every set of subjects."""
    groups, table = findings.groups, findings.tables["balance"]
    shown = table[table["site"] == ALL_SITES]
    flagged = [
        Cell(cell(d, "+.2f").text, d, bool(off))
        for d, off in zip(shown["difference"], shown["unbalanced"], strict=True)
    ]
    counts = {f"{key}_{g}": f"{g}{word}" for key, word in (("n", ""), ("missing", " without value"))
              for g in groups}  # fmt: skip
    return page_table(
        "balance",
        "Standardised differences between the groups within sites, over all sites; by site: "
        "results/cohort/balance.tsv",
        shown.assign(difference=pd.Series(flagged, index=shown.index, dtype=object)),
        {"subjects": "subjects", "variable": "variable", **counts, "difference": "difference",
         "by_chance": "5 % of random labels exceed"},
        {"by_chance": ".2f"},
    )  # fmt: skip


def balance_figure(balance: pd.DataFrame) -> Figure:
    """Draw the differences of every covariate, by site and over all sites, before and after.

    ``balance`` has ``subjects``, ``site``, ``variable`` and ``difference``.
    """
    variables = list(balance["variable"].unique())
    with mpl.rc_context(RC):
        figure = Figure(figsize=(7, 1.4 + 0.45 * max(1, len(variables))))
        axis = figure.subplots()
        for stage, face, lift in ((BEFORE, "none", 0.14), (INCLUDED, BLUE, 0.0)):
            own = balance[(balance["subjects"] == stage) & balance["difference"].notna()]
            place = own["variable"].map(variables.index).astype(float) - lift
            whole = own["site"] == ALL_SITES
            for chosen, size in ((~whole, 14), (whole, 60)):
                axis.scatter(own["difference"][chosen].clip(-WIDEST, WIDEST), place[chosen],
                             s=size, facecolors=face, edgecolors=BLUE, alpha=0.8)  # fmt: skip
        axis.axvline(0, color=INK, linewidth=0.8)
        for limit in (-UNBALANCED, UNBALANCED):
            axis.axvline(limit, color=GREY, linestyle="--", linewidth=1)
        axis.set_yticks(range(len(variables)), variables)
        axis.set_ylim(max(1, len(variables)) - 0.5, -0.5)
        widest = balance["difference"].abs().clip(upper=WIDEST).max()
        edge = 1.1 * max(0.5, 0.0 if np.isnan(widest) else widest)
        axis.set_xlim(-edge, edge)
        axis.set_xlabel("standardised difference, patients minus controls")
    return figure


def _difference(d: float) -> str:
    return f"{d:+.2f} SD".replace("-", "−") if np.isfinite(d) else "all of its spread"
