"""Whether a connection could be head motion: how its strength follows motion across subjects."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy.stats import t as student

# Correlations this close to one would have an infinite Fisher transform.
CLOSEST = 1 - 1e-9


def motion_association(
    edges: pd.DataFrame, series: Mapping[str, pd.DataFrame], subjects: pd.DataFrame
) -> pd.DataFrame:
    """Correlate each connection's functional connectivity with motion, within site and group.

    Functional connectivity is Fisher's z of the correlation between the two regions of a
    subject. It and the mean framewise displacement have the means of their site and group
    removed first, so that neither sites nor diagnosis make a correlation.

    Parameters
    ----------
    edges : DataFrame
        ``from`` and ``to``; repeated connections count once.
    series : mapping of str to DataFrame of shape (n_volumes, d)
        Clean series by participant, columns labelled by ROI.
    subjects : DataFrame
        ``participant_id``, ``site``, ``group``, ``mean_fd_mm``; who has no displacement is left
        out.

    Returns
    -------
    DataFrame
        ``from``, ``to``, ``n`` (subjects), ``r`` and its two-sided ``p``, uncorrected; both are
        missing where fewer than three degrees of freedom are left or motion does not vary.
    """
    pairs = edges[["from", "to"]].drop_duplicates(ignore_index=True)
    known = subjects[subjects["mean_fd_mm"].notna()]
    cells = known.groupby(["site", "group"]).ngroup().to_numpy()
    n, freedom = len(known), len(known) - len(np.unique(cells)) - 1
    r = np.full(len(pairs), np.nan)
    p = r.copy()
    if freedom >= 3 and len(pairs):
        z = np.array([_connectivity(series[name], pairs) for name in known["participant_id"]])
        z = _within(z, cells)
        motion = _within(known["mean_fd_mm"].to_numpy(dtype=float)[:, None], cells)
        scale = np.sqrt((z**2).sum(axis=0) * (motion**2).sum())
        np.divide((z * motion).sum(axis=0), scale, out=r, where=scale > 0)
        p = 2 * student.sf(np.abs(r) * np.sqrt(freedom / (1 - r**2)), freedom)
    return pairs.assign(n=n, r=r, p=p)


def _connectivity(table: pd.DataFrame, pairs: pd.DataFrame) -> np.ndarray:
    """Fisher's z of the correlations of one subject, shape (pairs,)."""
    correlation = np.corrcoef(table.to_numpy(dtype=float), rowvar=False)
    starts, ends = (table.columns.get_indexer(pd.Index(pairs[end])) for end in ("from", "to"))
    return np.asarray(np.arctanh(np.clip(correlation[starts, ends], -CLOSEST, CLOSEST)))


def _within(values: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Remove each cell's mean from the rows of ``values`` (n, m)."""
    means = pd.DataFrame(values).groupby(cells).transform("mean").to_numpy()
    return np.asarray(values - means)
