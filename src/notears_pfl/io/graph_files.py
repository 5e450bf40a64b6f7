"""Write networks for other programs: GraphML, and the files of BrainNet Viewer."""

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from notears_pfl.io.atomic import whole_file

GRAPHML = "http://graphml.graphdrawing.org/xmlns"


def write_graphml(
    nodes: pd.DataFrame, edges: pd.DataFrame, about: Mapping[str, str], path: str | Path
) -> None:
    """Write a directed graph as GraphML, for NetworkX, igraph, Gephi and Cytoscape.

    Parameters
    ----------
    nodes : DataFrame
        ``label``, which is the node's id too, and further attributes.
    edges : DataFrame
        ``from``, ``to``, and further attributes; missing values are left out.
    about : mapping of str to str
        Attributes of the graph.
    path : path
        File to write.
    """
    root = ET.Element("graphml", xmlns=GRAPHML)
    attributes = edges.drop(columns=["from", "to"])
    tables = {"graph": pd.DataFrame([about]), "node": nodes, "edge": attributes}
    for domain, table in tables.items():
        for name in table:
            is_number = pd.api.types.is_numeric_dtype(table[name])
            key = {"id": f"{domain}_{name}", "for": domain, "attr.name": str(name)}
            ET.SubElement(root, "key", key | {"attr.type": "double" if is_number else "string"})
    graph = ET.SubElement(root, "graph", edgedefault="directed")
    _add_data(graph, "graph", about)
    for row in nodes.to_dict("records"):
        _add_data(ET.SubElement(graph, "node", id=row["label"]), "node", row)
    ends = edges[["from", "to"]].itertuples(index=False, name=None)
    for (source, target), row in zip(ends, attributes.to_dict("records"), strict=True):
        _add_data(ET.SubElement(graph, "edge", source=source, target=target), "edge", row)
    ET.indent(root)
    with whole_file(path) as temporary:
        ET.ElementTree(root).write(temporary, encoding="utf-8", xml_declaration=True)


def _add_data(element: ET.Element, domain: str, values: Mapping[Any, Any]) -> None:
    for name, value in values.items():
        if not pd.isna(value):
            ET.SubElement(element, "data", key=f"{domain}_{name}").text = (
                value if isinstance(value, str) else f"{value:.17g}"
            )


def write_brainnet(nodes: pd.DataFrame, network: pd.DataFrame, stem: str | Path) -> None:
    """Write ``stem.node`` and ``stem.edge`` for BrainNet Viewer.

    A node's line has its coordinates, its module as a number (for colours), its degree (for its
    size) and its label, without blanks. The edge file is the plain matrix; entry (i, j) is i → j.
    """
    colours, _ = pd.factorize(nodes["module"])
    links = network.to_numpy() != 0
    degree = links.sum(axis=0) + links.sum(axis=1)
    labels = nodes["label"].str.replace(r"\s+", "_", regex=True)
    with whole_file(f"{stem}.node") as temporary:
        lines = [
            f"{x:.2f}\t{y:.2f}\t{z:.2f}\t{colour + 1}\t{size}\t{label}\n"
            for x, y, z, colour, size, label in zip(
                nodes["x"], nodes["y"], nodes["z"], colours, degree, labels, strict=True
            )
        ]
        temporary.write_text("".join(lines), encoding="utf-8")
    with whole_file(f"{stem}.edge") as temporary:
        np.savetxt(temporary, network.to_numpy(), fmt="%.8g", delimiter="\t")
