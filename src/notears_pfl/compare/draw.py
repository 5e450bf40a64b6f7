"""One draw of subjects, all methods: its networks as tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from notears_pfl.compare.methods import Baseline, MethodOptions, Network, SiteSeries, learn_all


@dataclass(frozen=True)
class DrawTables:
    """What the methods found in one draw.

    Attributes
    ----------
    edges : DataFrame
        ``set``, ``method``, ``site``, ``from``, ``to`` and ``open`` (its direction is).
    networks : DataFrame
        ``set``, ``method``, ``site``, ``m`` (edges of NOTEARS-PFL), ``n_edges``, ``n_open`` and
        ``sound``.
    cost : DataFrame
        ``set``, ``method``, ``n_networks`` and ``cpu_seconds`` for all of them.
    """

    edges: pd.DataFrame
    networks: pd.DataFrame
    cost: pd.DataFrame


def compare_draw(
    sets: Mapping[str, Mapping[str, SiteSeries]],
    rois: Sequence[str],
    baselines: Sequence[Baseline],
    options: MethodOptions,
) -> DrawTables:
    """Learn from every set of subjects by every method.

    Parameters
    ----------
    sets : mapping of str to mapping of str to sequence of ndarray of shape (n_volumes, d)
        Series of the subjects of each set, by site.
    rois : sequence of str
        Labels of the columns.
    baselines : sequence of str
        Methods besides NOTEARS-PFL.
    options : MethodOptions
        Their settings.
    """
    edges, networks, cost = [], [], []
    for name, sites in sets.items():
        learned = learn_all(list(sites.values()), baselines, options)
        n_edges = [int(network.edges.sum()) for network in learned["pfl"].networks]
        for method, result in learned.items():
            key = {"set": name, "method": method}
            cost.append(key | {"n_networks": len(sites), "cpu_seconds": result.cpu_seconds})
            for site, m, network in zip(sites, n_edges, result.networks, strict=True):
                edges.append(_edge_rows(network, rois).assign(**key, site=site))
                networks.append(key | {"site": site, "m": m} | _counts(network))
    columns = ["set", "method", "site", "from", "to", "open"]
    return DrawTables(
        pd.concat(edges, ignore_index=True)[columns], pd.DataFrame(networks), pd.DataFrame(cost)
    )


def _edge_rows(network: Network, rois: Sequence[str]) -> pd.DataFrame:
    sources, targets = np.nonzero(network.edges)
    labels = np.array(rois, dtype=object)
    return pd.DataFrame(
        {"from": labels[sources], "to": labels[targets], "open": network.open[sources, targets]}
    )


def _counts(network: Network) -> dict[str, object]:
    return {
        "n_edges": int(network.edges.sum()),
        "n_open": int(network.open.sum()),
        "sound": network.sound,
    }
