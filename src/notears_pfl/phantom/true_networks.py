"""The true networks: a directed acyclic graph per site and group, with planned overlap."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

KINDS = ("shared", "patients", "controls", "site")


@dataclass(frozen=True)
class NetworkOptions:
    """How many edges of each kind, and their weights; the settings of ``phantom.network``."""

    shared_edges: int
    patients_edges: int
    controls_edges: int
    site_edges: int
    weight_range: tuple[float, float]
    weight_variation: float


def draw_edges(
    rng: np.random.Generator, rois: Sequence[str], sites: Sequence[str], options: NetworkOptions
) -> pd.DataFrame:
    """Draw distinct edges along one order of the regions, so that every union is acyclic.

    Returns
    -------
    DataFrame
        Columns ``from``, ``to``, ``kind`` (one of ``KINDS``), ``site`` (the one site that has
        the edge, missing for the other kinds) and ``weight`` (common to all sites with the edge).
    """
    order = rng.permutation(len(rois))
    kinds = [
        *["shared"] * options.shared_edges,
        *["patients"] * options.patients_edges,
        *["controls"] * options.controls_edges,
        *["site"] * (options.site_edges * len(sites)),
    ]
    earlier, later = np.triu_indices(len(rois), k=1)
    chosen = rng.choice(len(earlier), size=len(kinds), replace=False)
    low, high = options.weight_range
    weights = rng.uniform(low, high, len(kinds)) * rng.choice([-1, 1], len(kinds))
    owners = [None] * (len(kinds) - options.site_edges * len(sites))
    return pd.DataFrame(
        {
            "from": [rois[order[i]] for i in earlier[chosen]],
            "to": [rois[order[j]] for j in later[chosen]],
            "kind": kinds,
            "site": owners + [site for site in sites for _ in range(options.site_edges)],
            "weight": weights,
        }
    )


def true_network(
    rng: np.random.Generator, edges: pd.DataFrame, rois: Sequence[str], site: str,
    is_patients: bool, weight_variation: float,
) -> pd.DataFrame:  # fmt: skip
    """Weighted adjacency matrix of one site and group; entry (i, j) weighs the edge i → j.

    Parameters
    ----------
    rng : Generator
        Draws the deviation of this site's and group's weights from the common ones.
    edges : DataFrame
        As drawn by :func:`draw_edges`.
    rois : sequence of str
        Rows and columns of the result.
    site : str
        Whose site-specific edges to include.
    is_patients : bool
        Whether the group is the patients; else it is the controls.
    weight_variation : float
        Largest relative deviation.
    """
    own = {"shared", "patients" if is_patients else "controls"}
    present = edges[edges["kind"].isin(own) | (edges["site"] == site)]
    departure = 1 + rng.uniform(-weight_variation, weight_variation, len(present))
    network = pd.DataFrame(0.0, index=pd.Index(rois, name="from"), columns=list(rois))
    for source, target, weight in zip(
        present["from"], present["to"], present["weight"] * departure, strict=True
    ):
        network.loc[source, target] = weight
    return network


def over_all_regions(network: pd.DataFrame, rois: Sequence[str]) -> pd.DataFrame:
    """Extend a network to all ``rois``; regions that it does not have get no edges."""
    return network.reindex(index=list(rois), columns=list(rois), fill_value=0.0)
