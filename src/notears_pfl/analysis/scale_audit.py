"""The scale audit: how much the directions of edges depend on the scale of the data."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from notears_pfl.analysis.agreement import direction_agreement
from notears_pfl.analysis.sortability import explained_shares, sort_and_regress, sortability

Networks = Mapping[tuple[str, str], pd.DataFrame]


def scale_audit(
    samples: Mapping[tuple[str, str], np.ndarray], networks: Networks, other: Networks,
    edge_threshold: float, sort_threshold: float,
) -> pd.DataFrame:  # fmt: skip
    """Audit the directions of every network.

    Parameters
    ----------
    samples : mapping of (group, site) to ndarray of shape (n, d)
        Samples that each network was learned from.
    networks, other : mapping of (group, site) to DataFrame of shape (d, d)
        The study's networks, and those learned on the other scale.
    edge_threshold : float
        An edge exists where ``abs(weight) > edge_threshold``.
    sort_threshold : float
        The same for the sort-and-regress baseline, which keeps weak edges.

    Returns
    -------
    DataFrame
        Per group and site: edges; var- and R²-sortability (1: sorting gives every direction,
        0.5: it gives none); the number of edges that sort-and-regress finds, and how many of the
        network's edges are among them (both missing unless there are more samples than ROIs); the
        connections shared with the other scale (the skeleton), how many of these point the same
        way, and their share.
    """
    rows = []
    for (group, site), x in samples.items():
        adjacency = _edges(networks[group, site], edge_threshold)
        by_sorting = np.abs(sort_and_regress(x, x.var(axis=0)))
        unknown = np.isnan(by_sorting).any()
        sorted_only = by_sorting > sort_threshold
        agreement = direction_agreement(adjacency, _edges(other[group, site], edge_threshold))
        rows.append(
            {
                "group": group,
                "site": site,
                "edges": int(adjacency.sum()),
                "var_sortability": sortability(adjacency, x.var(axis=0)),
                "r2_sortability": sortability(adjacency, explained_shares(x)),
                "sort_and_regress_edges": pd.NA if unknown else sorted_only.sum(),
                "also_by_sort_and_regress": pd.NA if unknown else (adjacency & sorted_only).sum(),
                "other_scale_edges": agreement.n_second,
                "common_connections": agreement.n_common,
                "same_direction": agreement.n_same_direction,
                "share_same_direction": agreement.share,
            }
        )
    whole = dict.fromkeys(("sort_and_regress_edges", "also_by_sort_and_regress"), "Int64")
    return pd.DataFrame(rows).astype(whole)


def _edges(network: pd.DataFrame, edge_threshold: float) -> np.ndarray:
    return np.abs(network.to_numpy()) > edge_threshold
