"""Check what a user passes to the estimator; refusals name the site and the next step."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from notears_pfl.errors import InputError
from notears_pfl.model.problem import Array, Moments

# Moments in single precision, or with five digits, may have an eigenvalue this far below zero.
EIGENVALUE_TOLERANCE = 1e-4


def checked_samples(samples: Sequence[npt.ArrayLike], *, demean: bool) -> list[Array]:
    """Return the sites' samples as arrays of shape (n_k, d), or refuse them."""
    arrays = [np.asarray(x, dtype=float) for x in samples]
    if not arrays:
        msg = "fit needs the samples of at least one site; found an empty list."
        raise InputError(msg)
    for k, x in enumerate(arrays):
        if x.ndim != 2:
            msg = (
                f"site {k}: samples must be a table of n samples by d ROIs; found shape {x.shape}. "
                "Pass a list with one table per site, [x] for a single site."
            )
            raise InputError(msg)
    _refuse_unequal_rois([x.shape for x in arrays])
    for k, x in enumerate(arrays):
        _refuse_unusable(k, x, demean)
    return arrays


def column_names(samples: Sequence[Any]) -> list[str] | None:
    """Names of the columns where tables have names; refuses tables that do not agree on them."""
    named = [list(x.columns) for x in samples if hasattr(x, "columns")]
    if not named or not all(isinstance(name, str) for columns in named for name in columns):
        return None
    for k, columns in enumerate(named):
        if columns != named[0]:
            pairs = zip(named[0], columns, strict=False)
            other = [f"{theirs!r} instead of {ours!r}" for ours, theirs in pairs if ours != theirs]
            msg = (
                f"site {k}: columns must have the names of site 0, in the same order; found "
                f"{other[0] if other else f'{len(columns)} columns'}. Select the columns by name "
                "before fitting."
            )
            raise InputError(msg)
    return named[0]


def checked_subjects(
    subjects: Sequence[npt.ArrayLike] | None, samples: Sequence[Array], what: str = "subjects"
) -> list[npt.NDArray[np.intp] | None]:
    """Return every site's subjects as numbers, in the order of their rows, or refuse the labels."""
    if subjects is None:
        return [None] * len(samples)
    labels = [np.asarray(own) for own in subjects]
    found, needed = [own.shape for own in labels], [(len(x),) for x in samples]
    if found != needed:
        msg = (
            f"{what} must name one {what.removesuffix('s')} per sample of every site, shapes "
            f"{needed}; found {found}. Pass one array of labels per site."
        )
        raise InputError(msg)
    numbered: list[npt.NDArray[np.intp] | None] = []
    for own in labels:
        _, first, which = np.unique(own, return_index=True, return_inverse=True)
        numbered.append(np.argsort(np.argsort(first))[which])
    return numbered


def checked_moments(moments: Sequence[tuple[npt.ArrayLike, int]]) -> list[Moments]:
    """Return the sites' moments, given as pairs (U, n), or refuse them."""
    pairs = [(np.asarray(U, dtype=float), n) for U, n in moments]
    if not pairs:
        msg = "fit_moments needs the moments of at least one site; found an empty list."
        raise InputError(msg)
    for k, (U, _) in enumerate(pairs):
        if U.ndim != 2 or U.shape[0] != U.shape[1] or U.shape != pairs[0][0].shape:
            msg = (
                f"site {k}: moments must be a square matrix with the same d at every site; found "
                f"shape {U.shape}, and {pairs[0][0].shape} at site 0."
            )
            raise InputError(msg)
        _refuse_single_roi(k, len(U))
        _refuse_impossible_moments(k, U)
    return [Moments(U, _checked_size(k, n)) for k, (U, n) in enumerate(pairs)]


def _checked_size(k: int, n: Any) -> int:
    """Return a number of samples, or refuse it."""
    is_number = isinstance(n, int | float | np.integer | np.floating)
    if not is_number or not float(n).is_integer():
        msg = (
            f"site {k}: n must be a whole number of samples; found {n!r}. Pass the number of rows "
            "of x in U = x.T @ x / n."
        )
        raise InputError(msg)
    _refuse_single_sample(k, int(n))
    return int(n)


def _refuse_impossible_moments(k: int, U: Array) -> None:
    """Refuse a matrix that cannot be the second moments of any samples."""
    if not np.isfinite(U).all() or not np.allclose(U, U.T) or np.diag(U).min() <= 0:
        msg = (
            f"site {k}: moments must be finite, symmetric and positive on the diagonal. "
            "Pass U = x.T @ x / n of samples without missing values or constant ROIs."
        )
        raise InputError(msg)
    # Correlations, so that the units of the ROIs do not matter.
    scale = np.sqrt(np.diag(U))
    smallest = float(np.linalg.eigvalsh(U / np.outer(scale, scale))[0])
    if smallest < -EIGENVALUE_TOLERANCE:
        msg = (
            f"site {k}: moments must have no negative eigenvalue; found {smallest:.2g} once the "
            "diagonal is 1. Correlations estimated pair by pair can have them; pass "
            "U = x.T @ x / n of samples in which every ROI is present."
        )
        raise InputError(msg)


def _refuse_unequal_rois(shapes: Sequence[tuple[int, ...]]) -> None:
    """Refuse sites with different columns; where their rows agree, tables are transposed."""
    rows, columns = {s[0] for s in shapes}, {s[1] for s in shapes}
    if len(columns) == 1:
        return
    found = ", ".join(f"site {k}: {n} by {d}" for k, (n, d) in enumerate(shapes))
    if len(rows) == 1:
        msg = (
            f"samples look transposed: the sites agree on rows, not on columns ({found}). "
            "Rows are samples and columns are ROIs; pass x.T."
        )
        raise InputError(msg)
    msg = (
        f"every site must have the same ROIs as columns; found, as samples by ROIs, {found}. "
        "Extract the same ROIs at every site."
    )
    raise InputError(msg)


def _refuse_single_sample(k: int, n: int) -> None:
    if n < 2:
        msg = f"site {k}: at least two samples are needed; found {n}. Leave the site out."
        raise InputError(msg)


def _refuse_single_roi(k: int, d: int) -> None:
    if d < 2:
        msg = f"site {k}: a network needs at least two ROIs; found {d}. Select more ROIs."
        raise InputError(msg)


def _refuse_unusable(k: int, x: Array, demean: bool) -> None:
    """Refuse too few samples, too few ROIs, missing values and ROIs without variance."""
    n, d = x.shape
    _refuse_single_sample(k, n)
    _refuse_single_roi(k, d)
    missing = ~np.isfinite(x)
    if missing.any():
        row, column = np.argwhere(missing)[0]
        msg = (
            f"site {k}: samples must be finite; found {missing.sum()} NaN or infinite values, the "
            f"first in row {row}, column {column}. Drop those samples or that ROI."
        )
        raise InputError(msg)
    spread = x.std(axis=0) if demean else np.abs(x).max(axis=0)
    constant = np.flatnonzero(spread <= 1e-12 * np.abs(x).max(axis=0, initial=1e-300))
    if len(constant):
        named = ", ".join(map(str, constant[:10]))
        msg = (
            f"site {k}: every ROI must vary; found {len(constant)} constant columns ({named}). "
            "Drop these ROIs at every site."
        )
        raise InputError(msg)
