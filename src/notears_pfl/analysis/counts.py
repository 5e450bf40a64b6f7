"""Numbers of connections in each result, directed and undirected."""

from collections.abc import Sequence

import pandas as pd

from notears_pfl.analysis.edges import undirected
from notears_pfl.analysis.overlap import overlapping_connections, site_specific_connections


def connection_counts(
    edges: pd.DataFrame, groups: tuple[str, str], sites: Sequence[str]
) -> pd.DataFrame:
    """Count connections of each kind, directed and undirected.

    Directions depend on the scale of the data, skeletons much less: a finding that holds in both
    columns is safer.

    Returns
    -------
    DataFrame
        Columns ``result``, ``who``, ``directed`` and ``undirected``.
    """
    directed, skeleton = (_counts(table, groups, sites) for table in (edges, undirected(edges)))
    return pd.DataFrame({"directed": directed, "undirected": skeleton}).reset_index(
        names=["result", "who"]
    )


def _counts(
    edges: pd.DataFrame, groups: tuple[str, str], sites: Sequence[str]
) -> dict[tuple[str, str], int]:
    overlap = overlapping_connections(edges, groups, sites)["found_in"]
    specific = site_specific_connections(edges)["group"]
    counts = {("edges over all sites", g): int((edges["group"] == g).sum()) for g in groups}
    for who in (*(f"{group} only" for group in groups), "both"):
        counts["at every site", who] = int((overlap == who).sum())
    for group in groups:
        counts["at exactly one site", group] = int((specific == group).sum())
    return counts
