"""Results on found networks are scored against the same results on true ones."""

import pytest

from notears_pfl.analysis.truth import truth_table

GROUPS, SITES = ("MDD", "HC"), ["COI", "KUT"]


def row(table, *key):
    return table.set_index(["quantity", "group", "site"]).loc[key]


def test_the_truth_itself_scores_full_marks(networks):
    table = truth_table(networks, networks, 0, GROUPS, SITES)

    assert (table["n_correct"] == table["n_true"]).all()
    assert (table["f_score"].dropna() == 1).all()
    assert row(table, "overlap", "MDD", "all")["n_true"] == 2
    assert row(table, "group only", "MDD", "all")["n_true"] == 1
    assert row(table, "site-specific", "HC", "KUT")["n_true"] == 1


def test_a_reversed_edge_counts_for_the_skeleton_alone(networks):
    found = dict(networks)
    reversed_edge = found["MDD", "COI"].copy()
    reversed_edge.loc["INS.R", "INS.L"], reversed_edge.loc["INS.L", "INS.R"] = 0, 0.5
    found["MDD", "COI"] = reversed_edge

    table = truth_table(found, networks, 0, GROUPS, SITES)

    assert row(table, "network", "MDD", "COI")["n_correct"] == 1
    assert row(table, "skeleton", "MDD", "COI")["n_correct"] == 2
    overlap = row(table, "overlap", "MDD", "all")
    assert (overlap["precision"], overlap["recall"]) == (1, 0.5)
    assert overlap["f_score"] == pytest.approx(2 / 3)
