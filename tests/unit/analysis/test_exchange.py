"""Tables of networks for other programs."""

import numpy as np
import pandas as pd
import pytest

from notears_pfl.analysis.edges import edge_table
from notears_pfl.analysis.exchange import exported_edges, graphs, node_table, with_stability

ROIS = ["A", "B", "C"]
GROUPS, SITES = ("MDD", "HC"), ("COI", "HUH")
REGIONS = pd.DataFrame(
    {
        "abbreviation": ["A", "Z", "B", "C"], "name": ["a", "z", "b", "c"],
        "lobe": ["Frontal", "Frontal", "Parietal", "Limbic"], "x": [1.0, 9, 2, 3],
        "y": [4.0, 9, 5, 6], "z": [7.0, 9, 8, 9], "selected": [True, False, True, True],
    }
)  # fmt: skip
TESTS = pd.DataFrame(
    {
        "group": ["MDD"],
        "from": ["A"],
        "to": ["B"],
        "tested": "as listed",
        "difference": 0.3,
        "p": 0.01,
        "q": 0.04,
    }
)


@pytest.fixture
def networks():
    found = {}
    for g, group in enumerate(GROUPS):
        for k, site in enumerate(SITES):
            w = np.zeros((3, 3))
            w[0, 1] = 0.4 + 0.2 * k
            w[2, 0] = -0.5 if (g, k) == (1, 1) else 0.0
            found[group, site] = pd.DataFrame(w, index=ROIS, columns=ROIS)
    return found


@pytest.fixture
def edges(networks):
    plain = edge_table(networks, 0)
    selection = np.arange(36).reshape(2, 2, 3, 3) / 36
    details = plain.drop(columns="weight").assign(
        standard_error=0.1, probability=0.9, direction_support=np.arange(len(plain)) / 10
    )
    found = with_stability(plain, selection, 1 - selection, (GROUPS, SITES, ROIS))
    return exported_edges(found, details.iloc[::-1], TESTS, node_table(REGIONS))


def test_every_edge_has_its_own_figures_and_places(edges):
    row = edges.set_index(["group", "site", "from", "to"]).loc[("HC", "HUH", "C", "A")]

    # Entry (1, 1, 2, 0) of the shares.
    assert row["stability"] == (27 + 6) / 36
    assert row["stability_direction"] == 1 - (27 + 6) / 36
    assert row["direction_support"] == 0.4
    assert (row["weight"], row["from_module"], row["to_module"]) == (-0.5, "Limbic", "Frontal")
    assert row[["from_x", "to_x", "from_z", "to_z"]].tolist() == [3, 1, 9, 7]
    assert np.isnan(row["q"])


def test_tests_stand_beside_the_edges_of_their_group_alone(edges):
    tested = edges[edges["q"].notna()]

    assert tested["group"].tolist() == ["MDD", "MDD"]
    assert tested[["from", "to", "q"]].drop_duplicates().to_numpy().tolist() == [["A", "B", 0.04]]


def test_an_atlas_of_networks_gives_its_networks_as_modules():
    nodes = node_table(REGIONS.rename(columns={"lobe": "network"}))

    assert nodes["label"].tolist() == ROIS
    assert nodes["module"].tolist() == ["Frontal", "Parietal", "Limbic"]
    assert set(node_table(REGIONS.drop(columns="lobe"))["module"]) == {"n/a"}


def test_the_overlap_has_the_connections_of_all_sites_with_their_mean_weight(networks, edges):
    found = {graph.name: graph for graph in graphs(networks, edges, TESTS)}

    assert list(found) == [
        "group-MDD_site-COI", "group-MDD_site-HUH", "group-HC_site-COI", "group-HC_site-HUH",
        "group-MDD_overlap", "group-HC_overlap",
    ]  # fmt: skip
    overlap = found["group-HC_overlap"]
    assert overlap.network.loc["A", "B"] == pytest.approx(0.5)
    assert (overlap.network.to_numpy() != 0).sum() == 1
    assert found["group-MDD_overlap"].edges["q"].tolist() == [0.04]
    own = found["group-HC_site-HUH"]
    assert own.edges["strength"].tolist() == pytest.approx([0.6, 0.5])
    assert not {"group", "site", "from_x"} & set(own.edges)
