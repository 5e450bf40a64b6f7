"""The networks of a study for other programs: all edges and regions with what is known of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from notears_pfl.analysis.edges import edge_table

# Columns of a table of regions that say where a region belongs, the first that is there.
MODULES = ("lobe", "network")
PLACE = ["x", "y", "z"]
ENDS = ("from", "to")
Networks = Mapping[tuple[str, str], pd.DataFrame]


def node_table(regions: pd.DataFrame) -> pd.DataFrame:
    """List the selected regions: ``label``, ``name``, ``module``, ``x``, ``y``, ``z`` in mm.

    ``module`` is the lobe or, for atlases that have these instead, the network.
    """
    own = regions[regions["selected"].astype(bool)]
    module = next((own[name] for name in MODULES if name in own), "n/a")
    nodes = own.assign(label=own["abbreviation"], module=module)
    return nodes[["label", "name", "module", *PLACE]].reset_index(drop=True)


def exported_edges(
    edges: pd.DataFrame, details: pd.DataFrame, tests: pd.DataFrame, nodes: pd.DataFrame
) -> pd.DataFrame:
    """Put what is known of every edge into one row.

    Parameters
    ----------
    edges : DataFrame
        ``group``, ``site``, ``from``, ``to`` and figures of the edge.
    details : DataFrame
        ``group``, ``site``, ``from``, ``to``, ``standard_error``, ``probability``,
        ``direction_support``.
    tests : DataFrame
        Tests between groups: ``group``, ``from``, ``to``, ``tested``, ``difference``, ``p``, ``q``.
    nodes : DataFrame
        As from :func:`node_table`: modules and coordinates of both ends.
    """
    keys, known = ["group", "site", *ENDS], ["standard_error", "probability", "direction_support"]
    table = edges.merge(details[[*keys, *known]], how="left", on=keys, validate="1:1")
    table = _tested(table, tests)
    places = nodes.set_index("label")[["module", *PLACE]]
    for column in places:
        for end in ENDS:
            table[f"{end}_{column}"] = table[end].map(places[column])
    return table


def _tested(edges: pd.DataFrame, tests: pd.DataFrame) -> pd.DataFrame:
    pairs = ["group", *ENDS]
    figures = tests[[*pairs, "tested", "difference", "p", "q"]]
    return edges.merge(figures, how="left", on=pairs, validate="m:1")


def with_stability(
    edges: pd.DataFrame, selection: np.ndarray, direction: np.ndarray,
    names: tuple[Sequence[str], Sequence[str], Sequence[str]],
) -> pd.DataFrame:  # fmt: skip
    """Add shares of bootstraps: ``stability`` and ``stability_direction`` of each edge.

    ``selection`` and ``direction`` have shape (2, K, d, d), with groups, sites and regions as in
    ``names``.
    """
    groups, sites, rois = map(pd.Index, names)
    axes = {"group": groups, "site": sites, "from": rois, "to": rois}
    at = tuple(axis.get_indexer(pd.Index(edges[column])) for column, axis in axes.items())
    return edges.assign(stability=selection[at], stability_direction=direction[at])


@dataclass(frozen=True)
class Graph:
    """A network with a name for its files, attributes, its matrix, and its edges."""

    name: str
    about: Mapping[str, str]
    network: pd.DataFrame
    edges: pd.DataFrame


def graphs(networks: Networks, edges: pd.DataFrame, tests: pd.DataFrame) -> Iterator[Graph]:
    """Give the network of every group and site, and each group's connections of all sites.

    Parameters
    ----------
    networks : mapping of (group, site) to DataFrame
        Weights, zero where there is no edge.
    edges : DataFrame
        As from :func:`exported_edges`.
    tests : DataFrame
        Tests between groups, for the connections of all sites; their weight is the mean.
    """
    for (group, site), network in networks.items():
        own = edges[(edges["group"] == group) & (edges["site"] == site)]
        figures = own.drop(columns=[f"{end}_{name}" for end in ENDS for name in ("module", *PLACE)])
        about = {"group": group, "site": site}
        yield Graph(f"group-{group}_site-{site}", about, network, _described(figures))
    for group in dict.fromkeys(group for group, _ in networks):
        several = [network for (who, _), network in networks.items() if who == group]
        weights = np.array([network.to_numpy() for network in several])
        means = np.where((weights != 0).all(axis=0), weights.mean(axis=0), 0.0)
        shared = pd.DataFrame(means, index=several[0].index, columns=several[0].columns)
        overlap = _tested(edge_table({(group, "all sites"): shared}, 0.0), tests)
        about = {"group": group, "site": "all sites"}
        yield Graph(f"group-{group}_overlap", about, shared, _described(overlap))


def _described(edges: pd.DataFrame) -> pd.DataFrame:
    """Leave out what the graph says; add the strength, for programs that need positive weights."""
    figures = edges.drop(columns=["group", "site"])
    return figures.assign(strength=figures["weight"].abs())
