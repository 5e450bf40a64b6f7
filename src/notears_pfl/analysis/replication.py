"""Tables of what of the discovery set returns in the validation set."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from notears_pfl.evidence.contrast import weights_given
from notears_pfl.evidence.replication import Replication

# Edges, moments and replication of a group.
Replicated = tuple[np.ndarray, np.ndarray, Replication]


def replicated_edges(
    found: Mapping[str, Replicated], sites: Sequence[str], rois: Sequence[str]
) -> pd.DataFrame:
    """List every edge of the discovery networks, with its weight in both sets.

    Returns
    -------
    DataFrame
        Columns ``group``, ``site``, ``from``, ``to``, ``weight_discovery``,
        ``weight_validation`` with its interval ``low`` and ``high``, ``same_sign``, and ``found``:
        whether the validation network has the edge.
    """
    names, tables = np.array(rois, dtype=object), []
    for group, (edges, U, again) in found.items():
        for k, site in enumerate(sites):
            i, j = np.nonzero(edges[k])
            weights, _ = weights_given(U[k], edges[k])
            tables.append(
                pd.DataFrame(
                    {
                        "group": group,
                        "site": site,
                        "from": names[i],
                        "to": names[j],
                        "weight_discovery": weights[i, j],
                        "weight_validation": again.weight[k, i, j],
                        "low": again.low[k, i, j],
                        "high": again.high[k, i, j],
                        "same_sign": again.same_sign[k, i, j],
                        "found": again.found[k, i, j],
                    }
                )
            )
    return pd.concat(tables, ignore_index=True)


def replication_summary(
    table: pd.DataFrame, found: Mapping[str, Replicated], sites: Sequence[str]
) -> pd.DataFrame:
    """Count what returns, for each group and site, beside what as many random edges would give.

    Returns
    -------
    DataFrame
        Columns ``group``, ``site``, ``edges``, ``found``, ``found_by_chance``, ``same_sign``,
        ``same_sign_by_chance``, ``in_interval`` (edges whose discovery weight lies in the interval
        of the validation weight).
    """
    rows = []
    for group, (edges, _, again) in found.items():
        for k, site in enumerate(sites):
            own = table[(table["group"] == group) & (table["site"] == site)]
            weight = own["weight_discovery"]
            rows.append(
                {
                    "group": group,
                    "site": site,
                    "edges": int(edges[k].sum()),
                    "found": int(own["found"].sum()),
                    "found_by_chance": again.expected_found[k],
                    "same_sign": int(own["same_sign"].sum()),
                    "same_sign_by_chance": again.expected_same_sign[k],
                    "in_interval": int(((own["low"] <= weight) & (weight <= own["high"])).sum()),
                }
            )
    return pd.DataFrame(rows)
