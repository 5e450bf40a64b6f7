"""Connection degree: how many edges leave and enter each ROI."""

from collections.abc import Sequence

import pandas as pd

# Value of the column "site" for degrees summed over all sites.
ALL_SITES = "all"
DIRECTIONS = {"out": "from", "in": "to"}


def degrees(
    edges: pd.DataFrame, groups: Sequence[str], sites: Sequence[str], rois: Sequence[str]
) -> pd.DataFrame:
    """Count the edges of every ROI, for each group and site and summed over sites.

    Returns
    -------
    DataFrame
        Columns ``group``, ``site`` (or ``all``), ``roi``, ``out_degree``, ``in_degree`` and
        ``total_degree``; an ROI without edges has a row of zeros.
    """
    keys = ["group", "site", "roi"]
    index = pd.MultiIndex.from_product([groups, sites, rois], names=keys)
    counts = {
        f"{direction}_degree": edges.groupby(["group", "site", end]).size().rename_axis(keys)
        for direction, end in DIRECTIONS.items()
    }
    per_site = pd.DataFrame(counts).reindex(index).fillna(0).astype(int)
    summed = per_site.groupby(["group", "roi"], sort=False).sum()
    summed = summed.assign(site=ALL_SITES).set_index("site", append=True)
    table = pd.concat([per_site, summed.reorder_levels(keys)])
    table["total_degree"] = table["out_degree"] + table["in_degree"]
    return table.reset_index()


def top_degrees(degrees: pd.DataFrame, n: int) -> pd.DataFrame:
    """Find the ``n`` ROIs with the highest out-degree and in-degree over all sites, per group.

    Returns
    -------
    DataFrame
        Columns ``group``, ``direction`` (``out`` or ``in``), ``rank``, ``roi``, ``degree``.
        Ties are broken by the order of the atlas.
    """
    summed = degrees[degrees["site"] == ALL_SITES]
    tables = []
    for group, rows in summed.groupby("group", sort=False):
        for direction in DIRECTIONS:
            column = f"{direction}_degree"
            top = rows.sort_values(column, ascending=False, kind="stable").head(n)
            tables.append(
                pd.DataFrame(
                    {
                        "group": group,
                        "direction": direction,
                        "rank": range(1, len(top) + 1),
                        "roi": top["roi"].to_numpy(),
                        "degree": top[column].to_numpy(),
                    }
                )
            )
    return pd.concat(tables, ignore_index=True)


def degree_totals(
    degrees: pd.DataFrame, top: pd.DataFrame, groups: tuple[str, str]
) -> pd.DataFrame:
    """Sum degrees over the top ROIs and over all, and compare patients with controls.

    Over all ROIs, the out-degrees and the in-degrees have the same sum, the number of edges; over
    the top ROIs, the sums may differ.

    Returns
    -------
    DataFrame
        Columns ``direction``, ``rois`` (``top`` or ``all``), one column of sums per group, and
        ``percent_more``: how much larger the patients' sum is, missing if the controls' is 0.
    """
    summed = degrees[degrees["site"] == ALL_SITES].set_index("group")
    patients, controls = groups
    rows = []
    for direction in DIRECTIONS:
        of_top = top[top["direction"] == direction].groupby("group")["degree"].sum()
        of_all = summed.groupby("group")[f"{direction}_degree"].sum()
        for rois, sums in (("top", of_top), ("all", of_all)):
            more = 100 * (sums[patients] / sums[controls] - 1) if sums[controls] else None
            rows.append({"direction": direction, "rois": rois, **sums, "percent_more": more})
    return pd.DataFrame(rows)[["direction", "rois", patients, controls, "percent_more"]]
