"""Overlap is what all sites have; site-specific is what one alone has."""

import pandas as pd

from notears_pfl.analysis.edges import edge_table
from notears_pfl.analysis.overlap import overlapping_connections, site_specific_connections

GROUPS = ("MDD", "HC")


def test_overlap_tells_patients_controls_and_both_apart(networks):
    table = overlapping_connections(edge_table(networks, 0), GROUPS, ["COI", "KUT"])

    assert table[["from", "to", "found_in"]].to_numpy().tolist() == [
        ["INS.R", "ACG.R", "MDD only"],
        ["INS.R", "INS.L", "both"],
    ]
    both = table.iloc[1]
    assert (both["n_sites_MDD"], both["n_sites_HC"]) == (2, 2)
    assert (both["weight_MDD"], both["weight_HC"]) == (0.6, 0.5)


def test_a_connection_missing_at_one_site_does_not_overlap(networks):
    table = overlapping_connections(edge_table(networks, 0.45), GROUPS, ["COI", "KUT"])

    assert table[["from", "to", "found_in"]].to_numpy().tolist() == [["INS.R", "INS.L", "MDD only"]]


def test_groups_without_any_overlap_give_an_empty_table(networks):
    table = overlapping_connections(edge_table(networks, 1), GROUPS, ["COI", "KUT"])

    assert table.empty
    assert "found_in" in table


def test_site_specific_connections_name_who_has_them_reversed(networks):
    table = site_specific_connections(edge_table(networks, 0))

    assert table[["group", "site", "from", "to", "reversed_at"]].to_numpy().tolist() == [
        ["MDD", "KUT", "THA.L", "INS.L", ""],
        ["HC", "COI", "ACG.R", "THA.L", "KUT"],
        ["HC", "KUT", "THA.L", "ACG.R", "COI"],
    ]


def test_networks_of_the_papers_connections_give_its_lists_back(paper):
    shared, specific = paper["overlapping_connections"], paper["site_specific_connections"]
    sites = specific["site"].unique().tolist()
    everywhere = shared.merge(pd.DataFrame({"site": sites}), how="cross")
    columns = ["group", "site", "from", "to", "weight"]
    edges = pd.concat([everywhere, specific.assign(group="MDD")]).assign(weight=1.0)[columns]

    overlap = overlapping_connections(edges, GROUPS, sites)
    alone = site_specific_connections(edges)

    for group in GROUPS:
        mine = overlap[overlap["found_in"] == f"{group} only"]
        theirs = shared[shared["group"] == group]
        assert pairs(mine) == pairs(theirs)
    for site in sites:
        assert pairs(alone[alone["site"] == site]) == pairs(specific[specific["site"] == site])


def pairs(table):
    return set(zip(table["from"], table["to"], strict=True))
