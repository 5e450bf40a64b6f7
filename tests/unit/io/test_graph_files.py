"""Files of networks open in the programs that they are for."""

import networkx as nx
import numpy as np
import pandas as pd

from notears_pfl.io.graph_files import write_brainnet, write_graphml

NODES = pd.DataFrame(
    {
        "label": ["PreCG.L", "A & <B>", "SMA R"], "name": ["Precentral gyrus", "ä", "c"],
        "module": ["Frontal", "Limbic", "Frontal"], "x": [-38.65, 1, 2], "y": [-5.68, 3, 4],
        "z": [50.94, 5, 6],
    }
)  # fmt: skip
EDGES = pd.DataFrame(
    {
        "from": ["PreCG.L", "A & <B>"], "to": ["A & <B>", "SMA R"], "weight": [0.1 + 0.2, -0.5],
        "q": [np.nan, 0.04],
    }
)  # fmt: skip


def test_networkx_reads_the_graph_that_was_written(tmp_path):
    write_graphml(NODES, EDGES, {"group": "MDD", "site": "COI"}, tmp_path / "x.graphml")

    graph = nx.read_graphml(tmp_path / "x.graphml")

    assert isinstance(graph, nx.DiGraph)
    assert graph.graph["site"] == "COI"
    assert list(graph) == NODES["label"].tolist()
    assert graph.nodes["PreCG.L"] == NODES.iloc[0].to_dict()
    assert dict(graph.edges) == {
        ("PreCG.L", "A & <B>"): {"weight": 0.1 + 0.2},
        ("A & <B>", "SMA R"): {"weight": -0.5, "q": 0.04},
    }


def test_brainnet_viewer_gets_six_columns_and_a_plain_matrix(tmp_path):
    labels = NODES["label"]
    network = pd.DataFrame(0.0, index=labels, columns=labels)
    for source, target, weight in EDGES[["from", "to", "weight"]].to_numpy():
        network.loc[source, target] = weight

    write_brainnet(NODES, network, tmp_path / "x")

    rows = [line.split() for line in (tmp_path / "x.node").read_text().splitlines()]
    # Its manual: x, y, z, colour, size, label, separated by blanks, which labels must not have.
    assert rows[0] == ["-38.65", "-5.68", "50.94", "1", "1", "PreCG.L"]
    assert [row[3:] for row in rows[1:]] == [["2", "2", "A_&_<B>"], ["1", "1", "SMA_R"]]
    matrix = np.loadtxt(tmp_path / "x.edge")
    np.testing.assert_allclose(matrix, network.to_numpy(), rtol=1e-7)
