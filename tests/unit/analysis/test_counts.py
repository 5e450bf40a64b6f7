"""Connections are counted with and without direction."""

from notears_pfl.analysis.counts import connection_counts
from notears_pfl.analysis.edges import edge_table


def test_forgetting_directions_joins_opposite_edges(networks):
    table = connection_counts(edge_table(networks, 0), ("MDD", "HC"), ["COI", "KUT"])

    counts = table.set_index(["result", "who"])
    assert counts.loc[("edges over all sites", "HC")].tolist() == [4, 4]
    # THA.L and ACG.R are joined at both sites, in opposite directions.
    assert counts.loc[("at every site", "HC only")].tolist() == [0, 1]
    assert counts.loc[("at exactly one site", "HC")].tolist() == [2, 0]
    assert counts.loc[("at every site", "both")].tolist() == [1, 1]
