"""How often a connection is found again in draws of other subjects."""

import pandas as pd


def draw_stability(edges: pd.DataFrame, networks: pd.DataFrame, method: str) -> pd.DataFrame:
    """Share of a method's networks, over all draws and sites, that have each connection.

    Parameters
    ----------
    edges : DataFrame
        ``set`` (the group whose subjects were drawn), ``method``, ``from`` and ``to``; a row per
        edge of each draw's network at each site.
    networks : DataFrame
        ``set`` and ``method``; a row per network, whether or not it has edges.
    method : str
        Whose networks to count.

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
