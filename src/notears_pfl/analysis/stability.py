"""Stability of a connection: how often it is found in draws of other subjects."""

import pandas as pd


def draw_stability(edges: pd.DataFrame, networks: pd.DataFrame, method: str) -> pd.DataFrame:
    """Share of a method's networks, over all draws and sites, that have each connection.

    Parameters
    ----------
    edges : DataFrame
        ``set`` (the group whose subjects were drawn), ``method``, ``from`` and ``to``; one row per
        edge of each network of a draw and site.
    networks : DataFrame
        ``set`` and ``method``; one row per network, with or without edges.
    method : str
        The method whose networks are counted.

    Returns
    -------
    DataFrame
        ``group``, ``from``, ``to`` and ``share``.
    """
    own = edges[edges["method"] == method]
    totals = networks.loc[networks["method"] == method, "set"].value_counts()
    found = own.groupby(["set", "from", "to"], sort=False).size().rename("share").reset_index()
    found["share"] = found["share"] / found["set"].map(totals)
    return found.rename(columns={"set": "group"})
