"""Regression of subjects' edge weights on a characteristic, such as age or a symptom score.

Within a group, for every edge over the subjects of all sites whose network has it:

    w_i = α_site(i) + β x_i + γᵀz_i + ε_i

by least squares, with an intercept for every site, so that neither differences between scanners nor
between networks enter β. Groups are kept apart: they have networks of their own, and the spread of
a symptom score within patients is not that between patients and controls.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

from notears_pfl.false_discovery import benjamini_hochberg

COLUMNS = [
    "column", "group", "from", "to", "sites", "n", "missing", "effect", "standard_error", "low",
    "high", "r", "p", "q",
]  # fmt: skip
COVERAGE = 0.95
# A predictor of which other columns leave less than this share is not told apart from them.
LEAST_LEFT = 1e-9


def subject_weight_table(
    names: Sequence[str], splits: Sequence[str], weights: np.ndarray, errors: np.ndarray,
    network: pd.DataFrame,
) -> pd.DataFrame:  # fmt: skip
    """List the weights of subjects in long form.

    Parameters
    ----------
    names, splits : sequence of str
        The N subjects, and whether they are discovery or validation subjects.
    weights, errors : ndarray of shape (N, E)
        Weights and standard errors, in the order of the edges of ``network``.
    network : DataFrame of shape (d, d)
        The network of their site and group: its edges are the entries that are not zero.

    Returns
    -------
    DataFrame
        ``participant_id``, ``split``, ``from``, ``to``, ``weight``, ``standard_error``.
    """
    sources, targets = np.nonzero(network.to_numpy())
    n_edges = len(sources)
    return pd.DataFrame(
        {
            "participant_id": np.repeat(np.asarray(names, dtype=object), n_edges),
            "split": np.repeat(np.asarray(splits, dtype=object), n_edges),
            "from": np.tile(network.index[sources], len(names)),
            "to": np.tile(network.columns[targets], len(names)),
            "weight": weights.ravel(),
            "standard_error": errors.ravel(),
        }
    )


def regress_weights(
    weights: Mapping[tuple[str, str], pd.DataFrame], predictors: pd.DataFrame,
    covariates: pd.DataFrame,
) -> pd.DataFrame:  # fmt: skip
    """Regress the weight of every edge on every predictor.

    Parameters
    ----------
    weights : mapping of (group, site) to DataFrame
        As from :func:`subject_weight_table`.
    predictors, covariates : DataFrame
        Numbers, indexed by participant; subjects without a value are left out.

    Returns
    -------
    DataFrame
        ``column`` (the predictor), ``group``, ``from``, ``to``, ``sites`` (with the edge), ``n``
        (subjects), ``missing`` (subjects at those sites that were left out), ``effect`` (β, per
        unit of the column), ``standard_error``, ``low`` and ``high`` (95 % interval), ``r``
        (partial correlation), ``p`` (two-sided) and ``q`` (over all edges of both groups). What
        cannot be estimated is missing.
    """
    rows = []
    for column in map(str, predictors):
        for group in dict.fromkeys(group for group, _ in weights):
            sites = [table.assign(site=s) for (g, s), table in weights.items() if g == group]
            for (source, target), own in pd.concat(sites).groupby(["from", "to"], sort=False):
                who, w = own["participant_id"], own["weight"].to_numpy(float)
                design = covariates.loc[who].assign(_x=predictors.loc[who, column]).to_numpy(float)
                known = np.isfinite(design).all(axis=1) & np.isfinite(w)
                found = _regression(w[known], design[known], own["site"].to_numpy()[known])
                names = dict(zip(COLUMNS, (column, group, source, target), strict=False))
                counts = {"sites": own["site"].nunique(), "n": known.sum()}
                rows.append({**names, **counts, "missing": (~known).sum(), **found})
    table = pd.DataFrame(rows, columns=COLUMNS)
    for _, family in table[table["p"].notna()].groupby("column"):
        table.loc[family.index, "q"] = benjamini_hochberg(family["p"])
    return table.sort_values(["column", "p", "group"], kind="stable", ignore_index=True)


def _regression(w: np.ndarray, design: np.ndarray, sites: np.ndarray) -> dict[str, float]:
    """Regress w on the last column of the design, beside its others and site intercepts."""
    if not len(w) or np.ptp(design[:, -1]) == 0:
        return {}
    nuisance = np.column_stack([sites[:, None] == np.unique(sites), design[:, :-1]]).astype(float)
    # By Frisch, Waugh and Lovell, residuals on the other columns have the same slope.
    basis = _column_space(nuisance)
    centred = design[:, -1] - design[:, -1].mean()
    x, y = (v - basis @ (basis.T @ v) for v in (centred, w))
    freedom = len(w) - basis.shape[1] - 1
    if freedom < 1 or x @ x <= LEAST_LEFT * (centred @ centred):
        return {}
    effect = x @ y / (x @ x)
    error = np.sqrt(((y - effect * x) ** 2).sum() / freedom / (x @ x))
    half = -stdtrit(freedom, (1 - COVERAGE) / 2) * error
    return {
        "effect": effect,
        "standard_error": error,
        "low": effect - half,
        "high": effect + half,
        "r": x @ y / np.sqrt((x @ x) * (y @ y)),
        "p": 2 * stdtr(freedom, -abs(effect) / error),
    }


def _column_space(matrix: np.ndarray) -> np.ndarray:
    """Orthonormal basis of the columns; a constant covariate or an empty site adds none."""
    left, singular, _ = np.linalg.svd(matrix, full_matrices=False)
    kept = singular > singular.max(initial=0.0) * max(matrix.shape) * np.finfo(float).eps
    return np.asarray(left[:, kept])
