"""Connections found at all sites, and connections found at only one site."""

from collections.abc import Sequence

import pandas as pd


def overlapping_connections(
    edges: pd.DataFrame, groups: tuple[str, str], sites: Sequence[str]
) -> pd.DataFrame:
    """Find the connections present at every site, in one group or in both.

    Returns
    -------
    DataFrame
        Columns ``from``, ``to``, ``found_in`` (a group's label followed by "only", or "both"),
        and for each group its number of sites with the connection, ``n_sites_<group>``, and
        the mean weight there, ``weight_<group>``. Patients only come first, then controls only.
    """
    patients, controls = groups
    per_group = edges.groupby(["group", "from", "to"], sort=False)["weight"]
    n_sites, weights = (
        values.unstack("group", fill_value=0).reindex(columns=list(groups), fill_value=0)
        for values in (per_group.size(), per_group.mean())
    )
    everywhere = n_sites == len(sites)
    labels = [f"{patients} only", f"{controls} only", "both"]
    rank = everywhere[patients] + 2 * everywhere[controls]
    table = n_sites.add_prefix("n_sites_").join(weights.add_prefix("weight_"))
    table.insert(0, "found_in", rank.map(dict(enumerate(labels, start=1))))
    return table[rank > 0].iloc[rank[rank > 0].argsort(kind="stable")].reset_index()


def site_specific_connections(edges: pd.DataFrame) -> pd.DataFrame:
    """Find the connections present at exactly one site, within each group.

    Returns
    -------
    DataFrame
        Columns ``group``, ``site``, ``from``, ``to``, ``weight``, and ``reversed_at``: the sites
        of the same group that have the connection in the other direction, comma-separated.
    """
    keys = ["group", "from", "to"]
    specific = edges[~edges.duplicated(keys, keep=False)]
    by_connection = edges.groupby(keys)["site"].agg(",".join)
    reversed_at = [
        by_connection.get((group, target, source), "")
        for group, source, target in zip(
            specific["group"], specific["from"], specific["to"], strict=True
        )
    ]
    return specific.assign(reversed_at=reversed_at).reset_index(drop=True)
