"""Networks as one table of edges: columns ``group``, ``site``, ``from``, ``to``, ``weight``."""

from collections.abc import Mapping

import numpy as np
import pandas as pd


def edge_table(
    networks: Mapping[tuple[str, str], pd.DataFrame], edge_threshold: float
) -> pd.DataFrame:
    """List the edges of every network, ordered by network, then by ROI.

    Parameters
    ----------
    networks : mapping of (group, site) to DataFrame of shape (d, d)
        Weighted adjacency matrices, rows and columns labelled by ROI; entry (i, j) is i → j.
    edge_threshold : float
        An edge exists where ``abs(weight) > edge_threshold``.
    """
    tables = []
    for (group, site), network in networks.items():
        weights = network.to_numpy()
        sources, targets = np.nonzero(np.abs(weights) > edge_threshold)
        tables.append(
            pd.DataFrame(
                {
                    "group": group,
                    "site": site,
                    "from": network.index[sources],
                    "to": network.columns[targets],
                    "weight": weights[sources, targets],
                }
            )
        )
    return pd.concat(tables, ignore_index=True)


def undirected(edges: pd.DataFrame) -> pd.DataFrame:
    """Drop the directions: each pair of ROIs once per network, in alphabetical order."""
    low = edges[["from", "to"]].min(axis=1)
    high = edges[["from", "to"]].max(axis=1)
    pairs = edges.assign(**{"from": low, "to": high})
    return pairs.drop_duplicates(["group", "site", "from", "to"], ignore_index=True)
