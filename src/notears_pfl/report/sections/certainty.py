"""Evidence: differences between groups against chance, stability, replication."""

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from notears_pfl.cohort.split import DISCOVERY
from notears_pfl.cohort.strata import strata_of, strata_without_values
from notears_pfl.evidence.labels import n_labellings
from notears_pfl.report.figure_style import RC
from notears_pfl.report.findings import Findings, sites_of_one, with_both_groups
from notears_pfl.report.page_parts import (
    MOST_NAMED,
    Caption,
    PageTable,
    Picture,
    Section,
    page_table,
)
from notears_pfl.report.palette import GREY, GROUP_LOOKS, VERMILION
from notears_pfl.report.sections.group_balance import (
    balance_lines,
    calm_line,
    matching_lines,
    missing_lines,
)

# False discovery rate up to which a difference counts as found.
FOUND = 0.05
# With fewer labellings, no p-value of a site alone can be 0.05 or less.
FEW_LABELLINGS = 20
CAPTIONS = {
    "evidence": Caption(
        "Differences between {patients} and {controls} against chance, replication, directions",
        "Upper left: connections at every site of this group alone, in networks of equal numbers "
        "of subjects; histograms show what permuted labels give, lines what the true labels give. "
        "Upper right: difference of every tested connection's weight and its p-value; filled "
        "where q ≤ 0.05; differences of up to {smallest} have p = 1. Lower left: weights of "
        "discovery edges in validation subjects. Lower right: share of bootstraps that have an "
        "edge in its direction, among those that connect both regions; shares near 1 do not make "
        "a direction certain, for all bootstraps are on one scale of the data, and on the other "
        "scale directions may do no better than a coin (At a glance gives the share that is kept).",
        "Counts exceed chance where the line of the true labels lies beyond its histogram, and "
        "connections differ between the groups where they are filled; open ones were shown neither "
        "to differ nor to be equal.",
    ),
}


def certainty_section(findings: Findings, pictures: Mapping[str, Picture]) -> Section:
    """Show what chance alone would give, and what returns in other subjects."""
    tested = findings.tables["evidence_tested"]
    return Section(
        "evidence",
        "Evidence",
        {
            "picture": pictures["evidence"],
            "summary": list(evidence_lines(findings)),
            "counts": _count_table(findings),
            "tested": _tested_table(tested),
            "replication": _replication_table(findings.tables["evidence_replication"]),
            "labels": list(label_lines(findings)),
            "unbalanced": list(balance_lines(findings.tables["balance"], findings.groups)),
            "calm": calm_line(findings.tables["balance"]),
            "unknown": list(missing_lines(findings.tables["balance"], findings.groups)),
            "matched": list(matching_lines(findings)),
            "n_tested": len(tested),
        },
    )


def evidence_lines(findings: Findings) -> Iterator[str]:
    """Say in words what differs between the groups, and what chance would give."""
    counts = findings.tables["evidence_counts"]
    for group, row in one_group_only(findings).items():
        alike, mean, where = "", "", sites_of_one(group, findings.groups)
        if not float(row["observed"]).is_integer():
            mean = " (mean over subsamples)"
        if row["observed"] != row["fits"]:
            alike = f", in networks of equal numbers of subjects{mean}"
        yield (
            f"{count(row['observed'])} connections at {where}{alike}; "
            f"{count(row['expected'])} expected by chance ({count(row['low'])} to "
            f"{count(row['high'])}); p = {row['p']:.2g}."
        )
    smallest = float(counts["smallest_p"].iloc[0])
    if smallest > FOUND:
        yield (
            f"No p-value of a count or degree can be below {smallest:.2g}: the labels of so few "
            "subjects can be permuted in too few ways, or too few permutations were drawn."
        )
    tested = findings.tables["evidence_tested"]
    found = tested[tested["q"] <= FOUND]
    named = ", ".join(
        f"{a} → {b}" for a, b in zip(found["from"].head(6), found["to"].head(6), strict=True)
    )
    more = " and others" if len(found) > 6 else ""
    yield (
        f"Of {len(tested)} connections tested, {len(found)} differ between {findings.groups[0]} "
        f"and {findings.groups[1]} with q ≤ {FOUND}" + (f": {named}{more}." if len(found) else ".")
    )
    settings = findings.config["evidence"]
    drawn = settings[settings["preset"]]["weight_permutations"]
    needed = int(np.ceil(len(tested) / (1 + drawn) / FOUND))
    if needed > 1:
        yield (
            f"With {drawn} permutations for the weights, q ≤ {FOUND} needs at least {needed} "
            "connections with the smallest possible p-value: draw more before concluding that "
            "nothing differs (evidence.preset: full)."
        )
    replication = findings.tables["evidence_replication"][
        ["edges", "found", "found_by_chance"]
    ].sum()
    if replication["edges"]:
        yield (
            f"{replication['found'] / replication['edges']:.0%} of the discovery edges are found "
            f"in validation subjects at the same site; "
            f"{replication['found_by_chance'] / replication['edges']:.0%} expected by chance."
        )


def one_group_only(findings: Findings) -> dict[str, Mapping[Hashable, Any]]:
    """Numbers of directed connections at every site in one group only, by group.

    ``fits`` counts those of all subjects; ``observed`` and ``expected`` compare equal numbers.
    """
    counts = findings.tables["evidence_counts"]
    rows = counts[counts["kind"] == "directed"].set_index(["result", "who"]).to_dict("index")
    return {group: rows["at every site", f"{group} only"] for group in findings.groups}


def label_lines(findings: Findings) -> Iterator[str]:
    """Name sites whose labels can hardly be permuted, and subjects without a stratum."""
    columns = findings.config["evidence"]["strata"]
    included = findings.cohort[findings.cohort["included"].astype(bool)]
    own = included.assign(stratum=strata_of(included, columns))
    own = own[own["split"] == DISCOVERY]
    few = []
    for site in findings.sites:
        members = own[own["site"] == site]
        patients = (members["group"] == findings.groups[0]).to_numpy()
        ways = n_labellings(patients, members["stratum"].to_numpy())
        if ways < FEW_LABELLINGS:
            few.append(site)
            if len(few) <= MOST_NAMED:
                yield (
                    f"At {site}, the labels of {patients.sum()} {findings.groups[0]} and "
                    f"{(~patients).sum()} {findings.groups[1]} can be exchanged in {ways} ways "
                    "only: this site alone cannot show a difference."
                )
    if len(few) > MOST_NAMED:
        more = len(few) - MOST_NAMED
        yield f"The same holds for {more} more {'site' if more == 1 else 'sites'}."
    yield from strata_without_values(included, columns)


def count(value: float) -> str:
    """Write a count; averages over subsamples have one decimal."""
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.1f}"


def _count_table(findings: Findings) -> PageTable:
    counts = findings.tables["evidence_counts"]
    return page_table(
        "evidence_counts",
        "Numbers of directed connections in networks of equal numbers of subjects (means, where "
        "several subsamples were drawn), and what permuted labels give in such networks; last, the "
        "numbers in the networks of all subjects, which larger groups have more of",
        with_both_groups(counts[counts["kind"] == "directed"], findings.groups),
        {"result": "connections", "who": "of", "observed": "equal numbers of subjects",
         "expected": "expected by chance", "low": "from", "high": "to", "p": "p",
         "fits": "all subjects (not comparable)"},
        {"observed": ".1f", "expected": ".1f", "low": ".1f", "high": ".1f", "p": ".3f"},
    )  # fmt: skip


def _tested_table(tested: pd.DataFrame) -> PageTable:
    return page_table(
        "evidence_tested",
        "Tested connections: difference of the weight, patients minus controls. The last column is "
        "the probability that chance gives any connection a difference as large",
        tested,
        {"from": "from", "to": "to", "difference": "difference", "low": "chance from",
         "high": "chance to", "p": "p", "q": "q", "p_largest": "p, corrected for all connections"},
        {"difference": "+.3f", "low": "+.3f", "high": "+.3f", "p": ".4f", "q": ".3f",
         "p_largest": ".4f"},
        interactive=True,
        file="results/evidence/null_connections.tsv",
    )  # fmt: skip


def _replication_table(replication: pd.DataFrame) -> PageTable:
    return page_table(
        "evidence_replication",
        "Discovery edges in validation subjects",
        replication,
        {"group": "group", "site": "site", "edges": "discovery edges", "found": "found again",
         "found_by_chance": "by chance", "same_sign": "same sign",
         "same_sign_by_chance": "by chance", "in_interval": "weight within the 95 % interval"},
        {"found_by_chance": ".1f", "same_sign_by_chance": ".1f"},
    )  # fmt: skip


def evidence_figure(
    draws: pd.DataFrame, tested: pd.DataFrame, replicated: pd.DataFrame, connections: pd.DataFrame,
    groups: tuple[str, str],
) -> Figure:  # fmt: skip
    """Draw null distributions, tests of connections, replication and stability of directions.

    Parameters
    ----------
    draws : DataFrame
        ``draw`` (0 has the true labels) and one column of counts per result.
    tested : DataFrame
        ``difference``, ``p`` and ``q`` of every tested connection.
    replicated : DataFrame
        ``group``, ``weight_discovery`` and ``weight_validation`` of every edge.
    connections : DataFrame
        ``group`` and ``direction``, the share of bootstraps with this direction.
    groups : tuple of str
        Patients and controls.
    """
    with mpl.rc_context(RC):
        figure = Figure(figsize=(10, 8))
        (null, volcano), (weights, directions) = figure.subplots(2, 2)
        _draw_null(null, draws, groups)
        _draw_volcano(volcano, tested)
        _draw_weights(weights, replicated, groups)
        _draw_directions(directions, connections, groups)
    return figure


def _draw_null(axis: Axes, draws: pd.DataFrame, groups: tuple[str, str]) -> None:
    observed, permuted = draws[draws["draw"] == 0].iloc[0], draws[draws["draw"] > 0]
    names = [f"at every site, {group} only, directed" for group in groups]
    top = max(draws[name].max() for name in names)
    bins = np.arange(-0.5, top + 1.5)
    for group, name, (colour, _) in zip(groups, names, GROUP_LOOKS, strict=True):
        axis.hist(permuted[name], bins=list(bins), histtype="step", color=colour, linewidth=1.2)
        axis.axvline(observed[name], color=colour, linewidth=2, label=f"{group}: true labels")
    axis.set_xlabel("connections at every site of one group alone")
    axis.set_ylabel("permutations of the labels")
    axis.legend(fontsize=7)


def _draw_volcano(axis: Axes, tested: pd.DataFrame) -> None:
    height, found = -np.log10(tested["p"]), tested["q"] <= FOUND
    axis.scatter(
        tested["difference"][~found], height[~found], s=14, facecolors="none", edgecolors=GREY
    )
    axis.scatter(tested["difference"][found], height[found], s=18, color=VERMILION)
    axis.set_xlabel("difference of the weight, patients minus controls")
    axis.set_ylabel("−log10 p")
    axis.set_title(f"{int(found.sum())} of {len(tested)} with q ≤ {FOUND}", fontsize=9)


def _draw_weights(axis: Axes, replicated: pd.DataFrame, groups: tuple[str, str]) -> None:
    for group, (colour, marker) in zip(groups, GROUP_LOOKS, strict=True):
        own = replicated[replicated["group"] == group]
        axis.scatter(own["weight_discovery"], own["weight_validation"], s=10, color=colour,
                     marker=marker, alpha=0.6, label=group)  # fmt: skip
    axis.axline((0, 0), slope=1, color=GREY, linewidth=0.8)
    axis.set_xlabel("weight in discovery subjects")
    axis.set_ylabel("weight in validation subjects")
    axis.legend(fontsize=7)


def _draw_directions(axis: Axes, connections: pd.DataFrame, groups: tuple[str, str]) -> None:
    for group, (colour, _) in zip(groups, GROUP_LOOKS, strict=True):
        own = connections.loc[connections["group"] == group, "direction"].dropna()
        axis.hist(own, bins=list(np.linspace(0, 1, 21)), histtype="step", color=colour, label=group)
    axis.set_xlabel("share of bootstraps with this direction")
    axis.set_ylabel("connections")
    axis.legend(fontsize=7)
