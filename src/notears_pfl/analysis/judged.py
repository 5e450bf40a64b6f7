"""Put p and q beside the results that compare groups.

Results without evidence, such as those of a federated fit, get empty columns.
"""

import pandas as pd

from notears_pfl.analysis.degree import ALL_SITES, DIRECTIONS

DEGREES = (*DIRECTIONS, "total")


def judged_degrees(degrees: pd.DataFrame, evidence: pd.DataFrame | None) -> pd.DataFrame:
    """Add ``p_<direction>`` and ``q_<direction>`` of the difference between groups.

    Differences are those over all sites, so that rows of single sites have none.
    """
    table = degrees.copy()
    for direction in DEGREES:
        for figure in ("p", "q"):
            values = _of_degree(evidence, direction, figure)
            known = table["roi"].map(values) if values is not None else None
            table[f"{figure}_{direction}"] = (
                known.where(table["site"] == ALL_SITES) if known is not None else float("nan")
            )
    return table


def judged_top(top: pd.DataFrame, evidence: pd.DataFrame | None) -> pd.DataFrame:
    """Add ``p`` and ``q`` of the difference between groups in this ROI and direction."""
    table = top.copy()
    for figure in ("p", "q"):
        table[figure] = float("nan")
        for direction in DIRECTIONS:
            values, own = _of_degree(evidence, direction, figure), table["direction"] == direction
            if values is not None:
                table.loc[own, figure] = table.loc[own, "roi"].map(values)
    return table


def judged_totals(totals: pd.DataFrame, counts: pd.DataFrame | None) -> pd.DataFrame:
    """Add ``p`` of the difference in all edges; the top ROIs, chosen for theirs, have none."""
    table = totals.assign(p=float("nan"))
    if counts is not None:
        row = counts[
            (counts["kind"] == "directed")
            & (counts["result"] == "edges over all sites")
            & counts["who"].str.contains(" minus ")
        ]
        table.loc[table["rois"] == "all", "p"] = float(row["p"].iloc[0])
    return table


def judged_overlap(overlap: pd.DataFrame, evidence: pd.DataFrame | None) -> pd.DataFrame:
    """Add ``difference`` of the weight between groups, ``p`` and ``q``."""
    keys, figures = ["from", "to"], ["difference", "p", "q"]
    if evidence is None:
        return overlap.assign(**dict.fromkeys(figures, float("nan")))
    known = evidence[[*keys, *figures]].drop_duplicates(keys)
    return overlap.merge(known, how="left", on=keys)


def judged_site_specific(specific: pd.DataFrame, evidence: pd.DataFrame | None) -> pd.DataFrame:
    """Add ``selection``: the share of bootstraps with the connection at this site and no other."""
    if evidence is None:
        return specific.assign(selection=float("nan"))
    keys = ["group", "site", "from", "to"]
    return specific.merge(evidence[[*keys, "selection"]], how="left", on=keys)


def judged_counts(counts: pd.DataFrame, evidence: pd.DataFrame | None) -> pd.DataFrame:
    """Add the counts that permuted labels give, and p: for directed and undirected connections."""
    table = counts.copy()
    keys, figures = ["result", "who"], ["expected", "low", "high", "p"]
    for kind in ("directed", "undirected"):
        for figure in figures:
            name = f"{figure}_{kind}"
            if evidence is None:
                table[name] = float("nan")
            else:
                own = evidence[evidence["kind"] == kind].set_index(keys)[figure]
                table[name] = [
                    own.get(pair) for pair in zip(table["result"], table["who"], strict=True)
                ]
    return table


def _of_degree(evidence: pd.DataFrame | None, direction: str, figure: str) -> pd.Series | None:
    """Figure of every ROI in a direction; None without evidence."""
    if evidence is None:
        return None
    return evidence[evidence["direction"] == direction].set_index("roi")[figure]
