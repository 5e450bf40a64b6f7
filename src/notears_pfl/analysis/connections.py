"""Connections that the comparison tests: published ones, and those found in this study."""

from collections.abc import Sequence

import pandas as pd

from notears_pfl.errors import TableError

PUBLISHED, OVERLAP = "published", "overlap"


def connections_to_test(
    published: pd.DataFrame, overlap: pd.DataFrame, rois: Sequence[str], name: str
) -> pd.DataFrame:
    """List the connections to test; reject published ones that are not in the networks.

    Parameters
    ----------
    published : DataFrame
        ``from`` and ``to``.
    overlap : DataFrame
        Connections found at all sites in the discovery fit: ``from``, ``to`` and ``found_in``.
    rois : sequence of str
        ROIs of the networks.
    name : str
        Name of the published list in error messages: its file.

    Returns
    -------
    DataFrame
        ``source`` (``published`` or ``overlap``), ``from``, ``to`` and ``found_in``.
    """
    check_published(published, rois, name)
    table = pd.concat(
        [published[["from", "to"]].assign(source=PUBLISHED), overlap.assign(source=OVERLAP)],
        ignore_index=True,
    )
    if not len(table):
        msg = (
            f"{name} is empty and no connection is shared by all sites. List a connection to test."
        )
        raise TableError(msg)
    return table.reindex(columns=["source", "from", "to", "found_in"])


def check_published(published: pd.DataFrame, rois: Sequence[str], name: str) -> None:
    """Reject a list of connections without its columns, or with regions outside the networks."""
    missing = [column for column in ("from", "to") if column not in published]
    if missing:
        msg = f"{name}: columns 'from' and 'to' are needed, {missing} are missing. Add them."
        raise TableError(msg)
    for row, pair in enumerate(published[["from", "to"]].to_numpy(), start=1):
        unknown = [str(roi) for roi in pair if roi not in rois]
        if unknown:
            msg = (
                f"{name} row {row}: {' and '.join(unknown)} not among the {len(rois)} selected "
                "regions. Select it in the ROI table, or remove the row; with another atlas than "
                "AAL, set comparison.connections to config/published/none.tsv."
            )
            raise TableError(msg)
