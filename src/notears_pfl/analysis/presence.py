"""Presence of connections in networks and in draws."""

from typing import Literal

import pandas as pd

Rule = Literal["any", "majority", "all"]
NETWORK = ["draw", "set", "method", "site"]
CONNECTION = ["from", "to"]


def connection_presence(
    networks: pd.DataFrame, edges: pd.DataFrame, connections: pd.DataFrame
) -> pd.DataFrame:
    """Look every connection up in every network.

    Parameters
    ----------
    networks : DataFrame
        One row per network: ``draw``, ``set``, ``method``, ``site``.
    edges : DataFrame
        The same columns, ``from``, ``to``, and ``open``: whether the method leaves the direction
        of the edge undetermined.
    connections : DataFrame
        ``from`` and ``to``.

    Returns
    -------
    DataFrame
        One row per network and connection: ``present``; ``compelled`` (present, with a determined
        direction); ``either`` (present in either direction).
    """
    rows = networks[NETWORK].merge(connections[CONNECTION].drop_duplicates(), how="cross")
    forward = edges[[*NETWORK, *CONNECTION, "open"]]
    backward = forward.rename(columns={"from": "to", "to": "from"})
    keys = [*NETWORK, *CONNECTION]
    found = rows.merge(forward, how="left", on=keys)["open"].to_numpy(dtype=object)
    reverse = rows.merge(backward, how="left", on=keys)["open"].to_numpy(dtype=object)
    present = pd.notna(found)
    return rows.assign(
        present=present,
        compelled=present & (found != True),  # noqa: E712 (missing is neither)
        either=present | pd.notna(reverse),
    )


def needed_sites(rule: Rule, n_sites: int) -> int:
    """Return how many sites must have a connection for it to count as present in a draw."""
    return {"any": 1, "majority": n_sites // 2 + 1, "all": n_sites}[rule]
