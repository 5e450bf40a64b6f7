"""Sortability: how much of a network's direction follows from the scale of the data alone.

Scores like that of NOTEARS follow the variables' variances (Reisach et al. 2021, 2023). If the
variance, or the share of it that the other variables explain, grows along the edges, then sorting
the variables by it already gives the directions.
"""

import numpy as np
from sklearn.linear_model import lars_path_gram


def sortability(adjacency: np.ndarray, score: np.ndarray) -> float:
    """Share of pairs joined by a directed path whose ``score`` grows along it; ties count half.

    Parameters
    ----------
    adjacency : bool ndarray of shape (d, d)
        Acyclic; entry (i, j) is i → j.
    score : ndarray of shape (d,)
        For example the variances (var-sortability) or :func:`explained_shares` (R²-sortability).

    Returns
    -------
    float
        1 if sorting gives every direction, 0.5 if it gives none; NaN without edges.
    """
    reachable = np.zeros(adjacency.shape, dtype=bool)
    longer = adjacency.astype(bool)
    while longer.any():
        reachable |= longer
        longer = (longer.astype(float) @ adjacency.astype(float)) > 0
    starts, ends = np.nonzero(reachable)
    if not len(starts):
        return float("nan")
    grows = np.sign(score[ends] - score[starts])
    return float((grows + 1).mean() / 2)


def explained_shares(x: np.ndarray) -> np.ndarray:
    """R² of each column of ``x`` regressed on all the others: 1 − 1 / diag(corr⁻¹).

    NaN if the columns are linearly dependent, as they are with few filtered volumes.
    """
    correlation = np.corrcoef(x, rowvar=False)
    if np.linalg.matrix_rank(correlation, hermitian=True) < len(correlation):
        return np.full(len(correlation), np.nan)
    return 1 - 1 / np.diag(np.linalg.inv(correlation))


def sort_and_regress(x: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Sparse regression of each column on the columns of smaller ``score``; weights (d, d).

    Reisach's baseline: the lasso with the penalty chosen by the Bayesian information criterion,
    which needs more rows than columns; otherwise the weights are NaN.
    """
    if len(x) <= x.shape[1]:
        return np.full((x.shape[1], x.shape[1]), np.nan)
    order = np.argsort(score, kind="stable")
    weights = np.zeros((x.shape[1], x.shape[1]))
    centred = x - x.mean(axis=0)
    moments = centred.T @ centred
    for position in range(1, len(order)):
        earlier, target = order[:position], order[position]
        # Adaptive lasso: least squares first, so that strong predictors are penalised less.
        slopes, *_ = np.linalg.lstsq(centred[:, earlier], centred[:, target], rcond=None)
        size = np.abs(slopes)
        G = size[:, None] * moments[np.ix_(earlier, earlier)] * size
        b, total = size * moments[earlier, target], moments[target, target]
        residual = centred[:, target] - centred[:, earlier] @ slopes
        noise = residual @ residual / (len(x) - position - 1)
        weights[earlier, target] = size * _lasso(G, b, total, noise, len(x))
    return weights


def _lasso(G: np.ndarray, b: np.ndarray, total: float, noise: float, n: int) -> np.ndarray:
    """Weights on the path of the lasso with the smallest Bayesian information criterion.

    ``G`` (p, p) and ``b`` (p,) are the predictors' moments and those with the target, ``total`` is
    the target's sum of squares, ``noise`` its variance given all predictors, ``n`` the samples.
    """
    _, _, path = lars_path_gram(b, G.copy(), n_samples=n, method="lasso")
    squares = total - 2 * b @ path + np.einsum("ik,ij,jk->k", path, G, path)
    found = (np.abs(path) > np.finfo(float).eps).sum(axis=0)
    return np.asarray(path[:, np.argmin(squares / noise + np.log(n) * found)])
