"""The scorecard of a study against published tables."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

import pandas as pd

from notears_pfl.errors import TableError
from notears_pfl.evidence.scorecard import score

# Published tables, and the columns that they need.
TABLES = {
    "overlapping_connections": ["group", "from", "to"],
    "site_specific_connections": ["site", "from", "to"],
    "connection_degree_top10": ["group", "direction", "abbreviation"],
}


def scorecard(
    published: Mapping[str, pd.DataFrame], overlap: pd.DataFrame, site_specific: pd.DataFrame,
    top: pd.DataFrame, groups: tuple[str, str], rois: Sequence[str],
) -> pd.DataFrame:  # fmt: skip
    """Count what of the published results comes back.

    Parameters
    ----------
    published : mapping of str to DataFrame
        The tables of ``TABLES``. Lists of single sites are those of patients.
    overlap, site_specific, top : DataFrame
        The study's own results: overlapping and site-specific connections, highest degrees.
    groups : tuple of str
        Patients and controls.
    rois : sequence of str
        Regions of the networks; published results in others are left out.

    Returns
    -------
    DataFrame
        ``result``, ``who``, ``published``, ``found``, ``both``, ``expected`` (of both, by chance)
        and ``p``; connections once with and once without their direction.
    """
    for name, columns in TABLES.items():
        missing = [column for column in columns if column not in published[name]]
        if missing:
            msg = f"published table {name}: no column {', '.join(missing)}. Add it."
            raise TableError(msg)
    rows, d = [], len(rois)
    everywhere = published["overlapping_connections"]
    for group in groups:
        wanted = _pairs(everywhere[everywhere["group"] == group], rois)
        own = overlap[overlap["found_in"].isin([f"{group} only", "both"])]
        rows += _connections("at every site", group, wanted, _pairs(own, rois), d)
    alone = site_specific[site_specific["group"] == groups[0]]
    for site, table in published["site_specific_connections"].groupby("site", sort=False):
        own = alone[alone["site"] == site]
        where = f"{groups[0]} at {site}"
        wanted = _pairs(table, rois)
        rows += _connections("at exactly one site", where, wanted, _pairs(own, rois), d)
    degrees = published["connection_degree_top10"]
    for (who, direction), table in degrees.groupby(["group", "direction"], sort=False):
        own = top[(top["group"] == who) & (top["direction"] == direction)]
        names = set(table["abbreviation"]) & set(rois)
        result = asdict(score(names, set(own["roi"]), d))
        rows.append({"result": f"highest {direction} degree", "who": str(who), **result})
    return pd.DataFrame(rows)


def _pairs(table: pd.DataFrame, rois: Sequence[str]) -> set[tuple[str, str]]:
    known = set(rois)
    pairs = zip(table["from"], table["to"], strict=True)
    return {(str(a), str(b)) for a, b in pairs if a in known and b in known}


def _connections(
    result: str, who: str, wanted: set[tuple[str, str]], found: set[tuple[str, str]], d: int
) -> list[dict[str, object]]:
    """Score connections with and without their direction."""
    wanted_pairs, found_pairs = (set(map(frozenset, pairs)) for pairs in (wanted, found))
    scores = {
        result: score(wanted, found, d * (d - 1)),
        f"{result}, either direction": score(wanted_pairs, found_pairs, d * (d - 1) // 2),
    }
    return [{"result": name, "who": who, **asdict(one)} for name, one in scores.items()]
