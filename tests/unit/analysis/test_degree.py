"""Degrees count edges, in the right direction, and lay out like the paper's table."""

import numpy as np
import pandas as pd
import pytest

from notears_pfl.analysis.degree import degree_totals, degrees, top_degrees
from notears_pfl.analysis.edges import edge_table

ROIS = ["INS.R", "INS.L", "ACG.R", "THA.L"]

GROUPS, SITES = ("MDD", "HC"), ["COI", "KUT"]


@pytest.fixture
def table(networks):
    return degrees(edge_table(networks, 0), GROUPS, SITES, ROIS)


def row(table, group, site, roi):
    return table.set_index(["group", "site", "roi"]).loc[(group, site, roi)].tolist()


def test_out_in_and_total_degree_of_a_site(table):
    assert row(table, "MDD", "KUT", "INS.R") == [2, 0, 2]
    assert row(table, "MDD", "KUT", "INS.L") == [0, 2, 2]
    assert row(table, "MDD", "COI", "THA.L") == [0, 0, 0]


def test_degrees_are_summed_over_sites(table):
    assert row(table, "MDD", "all", "INS.R") == [4, 0, 4]
    assert row(table, "HC", "all", "THA.L") == [1, 1, 2]


def test_over_all_regions_in_and_out_degrees_are_the_number_of_edges(table, networks):
    summed = table[table["site"] == "all"].groupby("group")[["out_degree", "in_degree"]].sum()

    for group in GROUPS:
        n_edges = sum((networks[group, site] != 0).to_numpy().sum() for site in SITES)
        assert summed.loc[group].tolist() == [n_edges, n_edges]


def test_top_degrees_are_sorted_and_ties_follow_the_atlas(table):
    top = top_degrees(table, 2)

    out = top[(top["group"] == "HC") & (top["direction"] == "out")]
    assert out["roi"].tolist() == ["INS.R", "ACG.R"]
    assert out["degree"].tolist() == [2, 1]
    assert out["rank"].tolist() == [1, 2]


def test_the_papers_degrees_give_its_totals_and_percentages(paper):
    published = paper["connection_degree_top10"]
    rois = sorted(set(published["abbreviation"]))
    table = pd.DataFrame(
        [
            {"group": g, "site": "all", "roi": roi, "out_degree": 0, "in_degree": 0}
            for g in GROUPS
            for roi in rois
        ]
    ).set_index(["group", "roi"])
    for group, direction, _, roi, degree in published.itertuples(index=False):
        table.loc[(group, roi), f"{direction}_degree"] = degree
    table = table.reset_index()

    top = top_degrees(table, 10)
    totals = degree_totals(table, top, GROUPS).set_index(["direction", "rois"])

    mine = top[top["degree"] > 0].set_index(["group", "direction"]).sort_index()
    theirs = published.set_index(["group", "direction"]).sort_index()
    for key in [(g, d) for g in GROUPS for d in ("out", "in")]:
        assert mine.loc[key, "roi"].tolist() == theirs.loc[key, "abbreviation"].tolist()
    assert totals.loc[("out", "top"), list(GROUPS)].tolist() == [657, 478]
    assert totals.loc[("in", "top"), list(GROUPS)].tolist() == [516, 418]
    percentages = totals["percent_more"].astype(float).round(1)
    assert percentages["out", "top"] == 37.4
    assert percentages["in", "top"] == 23.4


def test_a_group_without_edges_has_no_percentage(table):
    empty = table.assign(out_degree=np.where(table["group"] == "HC", 0, table["out_degree"]))

    totals = degree_totals(empty, top_degrees(empty, 2), GROUPS)

    assert totals.set_index(["direction", "rois"])["percent_more"].isna()["out", "all"]
