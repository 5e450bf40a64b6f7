"""Recovery of the true networks, overlap, group differences and site-specific connections."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

import pandas as pd

from notears_pfl.analysis.agreement import Edge, recovery
from notears_pfl.analysis.edges import edge_table, undirected
from notears_pfl.analysis.overlap import overlapping_connections, site_specific_connections

Networks = Mapping[tuple[str, str], pd.DataFrame]
Key = tuple[str, str, str]


def truth_table(
    found: Networks, true: Networks, edge_threshold: float, groups: tuple[str, str],
    sites: Sequence[str],
) -> pd.DataFrame:  # fmt: skip
    """Score each result on the estimated networks against the same result on the true ones.

    Returns
    -------
    DataFrame
        Columns ``quantity`` (``network``, ``skeleton``, ``overlap``, ``group only``,
        ``site-specific``), ``group``, ``site`` (``all`` for results over sites), and the
        fields of :class:`~notears_pfl.analysis.agreement.Recovery`.
    """
    found_sets = dict(_connection_sets(edge_table(found, edge_threshold), groups, sites))
    true_sets = dict(_connection_sets(edge_table(true, 0), groups, sites))
    return pd.DataFrame(
        [
            {"quantity": key[0], "group": key[1], "site": key[2]}
            | asdict(recovery(found_sets[key], true_sets[key]))
            for key in true_sets
        ]
    )


def _connection_sets(
    edges: pd.DataFrame, groups: tuple[str, str], sites: Sequence[str]
) -> Iterator[tuple[Key, set[Edge]]]:
    """Yield the set of connections of each quantity, group and site."""
    overlap = overlapping_connections(edges, groups, sites)
    specific = site_specific_connections(edges)
    for quantity, table in (("network", edges), ("skeleton", undirected(edges))):
        for group in groups:
            for site in sites:
                yield (quantity, group, site), _pairs(table, group=group, site=site)
    for group in groups:
        only = f"{group} only"
        yield (
            ("overlap", group, "all"),
            _pairs(overlap[overlap["found_in"].isin([only, "both"])]),
        )
        yield ("group only", group, "all"), _pairs(overlap[overlap["found_in"] == only])
    for group in groups:
        for site in sites:
            yield ("site-specific", group, site), _pairs(specific, group=group, site=site)


def _pairs(table: pd.DataFrame, **where: str) -> set[Edge]:
    for column, value in where.items():
        table = table[table[column] == value]
    return set(zip(table["from"], table["to"], strict=True))
