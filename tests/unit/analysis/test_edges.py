"""The table of edges keeps directions, labels and weights."""

import pandas as pd
import pytest

from notears_pfl.analysis.edges import edge_table, undirected


@pytest.mark.parametrize(("threshold", "expected"), [(0, 9), (0.31, 8), (0.35, 7), (0.9, 0)])
def test_an_edge_exists_above_the_threshold(networks, threshold, expected):
    assert len(edge_table(networks, threshold)) == expected


def test_an_edge_runs_from_its_row_to_its_column(networks):
    edges = edge_table(networks, 0)

    first = edges.iloc[0].to_dict()
    assert first == {"group": "MDD", "site": "COI", "from": "INS.R", "to": "INS.L", "weight": 0.5}


def test_undirected_keeps_each_pair_once_per_network():
    edges = pd.DataFrame(
        [("MDD", "COI", "B", "A", 1), ("MDD", "KUT", "A", "B", 2), ("MDD", "KUT", "B", "C", 3)],
        columns=["group", "site", "from", "to", "weight"],
    )

    pairs = undirected(edges)

    assert pairs[["site", "from", "to"]].to_numpy().tolist() == [
        ["COI", "A", "B"], ["KUT", "A", "B"], ["KUT", "B", "C"],
    ]  # fmt: skip
