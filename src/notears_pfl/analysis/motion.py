"""Association of connections with head motion across subjects (QC-FC)."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy.special import stdtr

# Correlations are clipped to this, to keep their Fisher transform finite.
LARGEST_CORRELATION = 1 - 1e-9


def motion_association(
    edges: pd.DataFrame, series: Mapping[str, pd.DataFrame], subjects: pd.DataFrame
) -> pd.DataFrame:
    """Correlate each connection's functional connectivity with motion, within site and group.

    Functional connectivity is Fisher's z of the correlation between a subject's two regions. The
    mean of each site and group is first removed from it and from mean framewise displacement, so
    that differences between sites or groups cause no correlation.

    Parameters
    ----------
    edges : DataFrame
        ``from`` and ``to``; repeated connections count once.
    series : mapping of str to DataFrame of shape (n_volumes, d)
        Clean series by participant, columns labelled by ROI; runs of a participant centred and
        scaled one by one, so that a step between them is no correlation.
    subjects : DataFrame
        ``participant_id``, ``site``, ``group``, ``mean_fd_mm``; subjects without
        ``mean_fd_mm`` are ignored.

    Returns
    -------
    DataFrame
        ``from``, ``to``, ``n`` (subjects), ``r`` and its two-sided ``p``, uncorrected; both are
        missing if fewer than three degrees of freedom are left or motion does not vary.
    """
    pairs = edges[["from", "to"]].drop_duplicates(ignore_index=True)
    known = subjects[subjects["mean_fd_mm"].notna()]
    cells = known.groupby(["site", "group"]).ngroup().to_numpy()
    n, freedom = len(known), len(known) - len(np.unique(cells)) - 1
    r = np.full(len(pairs), np.nan)
    p = r.copy()
    if freedom >= 3 and len(pairs):
        z = np.array([_connectivity(series[name], pairs) for name in known["participant_id"]])
        z = _without_cell_means(z, cells)
        motion = _without_cell_means(known["mean_fd_mm"].to_numpy(dtype=float)[:, None], cells)
        scale = np.sqrt((z**2).sum(axis=0) * (motion**2).sum())
        np.divide((z * motion).sum(axis=0), scale, out=r, where=scale > 0)
        p = 2 * stdtr(freedom, -np.abs(r) * np.sqrt(freedom / (1 - r**2)))
    return pairs.assign(n=n, r=r, p=p)


def _connectivity(table: pd.DataFrame, pairs: pd.DataFrame) -> np.ndarray:
    """Fisher's z of the correlations of one subject, shape (pairs,)."""
    correlation = np.corrcoef(table.to_numpy(dtype=float), rowvar=False)
    starts, ends = (table.columns.get_indexer(pd.Index(pairs[end])) for end in ("from", "to"))
    return np.asarray(
        np.arctanh(np.clip(correlation[starts, ends], -LARGEST_CORRELATION, LARGEST_CORRELATION))
    )


def _without_cell_means(values: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Subtract from the rows of ``values`` (n, m) the mean of their cell."""
    means = pd.DataFrame(values).groupby(cells).transform("mean").to_numpy()
    return np.asarray(values - means)
