"""The agreed kinds of requests, and checks of their arguments (left) and answers (right).

    plan       what to fit: group, ROIs, scale, estimator → counts of the site's data
    describe   → variance of every ROI, numbers of samples and of effectively independent ones
    split      number of folds
    begin      scale D of the rows, optionally an order of the ROIs and a fold to leave out
    step       V and ρ → weights W and their loss
    score      W and a fold → one sum of squares per ROI

All kinds except ``plan`` are methods of ``model.federation.Site``. Preparations (``plan``,
``split``, ``begin``) change a site's state and are sent again to a site that has lost it.
"""

import sys
from typing import Any, Literal, get_args

import numpy as np

from notears_pfl.federated.messages import MessageError
from notears_pfl.model.coordinator import respecting
from notears_pfl.model.federation import Description
from notears_pfl.model.problem import Array, Order

Kind = Literal["plan", "describe", "split", "begin", "step", "score"]
KINDS: tuple[Kind, ...] = get_args(Kind)
PREPARATIONS: tuple[Kind, ...] = ("plan", "split", "begin")
PLAN_KEYS = {"group", "rois", "scale", "estimator"}
COUNTS = {"subjects", "samples", "effective_samples", "noise"}
NOISE = {"epsilon", "delta", "clip"}
MOST_SUBJECTS, MOST_SAMPLES = 10**6, 10**9
# Series have unit scale; only strong noise raises their variances, and never this far.
LARGEST_VARIANCE = 1e6
# In units of √(D_j/D_i), which make weights dimensionless; honest steps stay far below.
LARGEST_WEIGHT = 1e6
# Margin for rounding, and for a fold's variances, which differ from those of all samples.
SLACK = 4.0
# Relative gap between an answer and the minimiser for the site's moments; rounding leaves 1e-13.
LARGEST_GAP = 1e-6


def check_request(kind: str, values: tuple[Any, ...], n_rois: int) -> None:
    """Refuse a request whose arguments do not match its kind, for a site with ``n_rois`` ROIs."""
    try:
        _check_arguments(kind, values, n_rois)
    except MessageError as error:
        msg = f"request {kind!r}: {error}"
        raise MessageError(msg) from error


def check_answer(kind: str, value: Any, n_rois: int) -> None:
    """Refuse an answer that does not match its request."""
    try:
        _check_value(kind, value, n_rois)
    except MessageError as error:
        msg = f"answer to {kind!r}: {error}"
        raise MessageError(msg) from error


def check_step(W: Array, loss: float, V: Array, rho: float, D: Array, variances: Array) -> None:
    """Refuse finite weights that cannot result from samples with these variances u, (d,).

    W is a minimiser, so it does no worse than W = 0, which is always feasible:

        2 loss + ρ ‖D^½ (W − V)‖² ≤ Σ_j u_j + ρ ‖D^½ V‖²,   and likewise for every column
    """
    root = np.sqrt(D)[:, None]
    # A value too large to square becomes infinite and is refused.
    with np.errstate(over="ignore"):
        at_zero = variances + rho * ((root * V) ** 2).sum(axis=0)
        distance = rho * ((root * (W - V)) ** 2).sum(axis=0)
    if largest_weight(W, D) > LARGEST_WEIGHT or np.any(distance > SLACK * at_zero):
        msg = (
            "answer to 'step': W is larger than this site's variances allow; "
            f"found a weight of {np.abs(W).max():.3g}"
        )
        raise MessageError(msg)
    if abs(loss) > SLACK * at_zero.sum() / 2:
        msg = f"answer to 'step': loss is larger than with all weights zero; found {loss:.3g}"
        raise MessageError(msg)


def check_moments(
    W: Array, loss: float, V: Array, rho: float, D: Array, order: Order | None, U: Array
) -> None:
    """Refuse weights or a loss that do not follow from moments U, (d, d), which a site gave before.

    W minimises ½ tr (I − W)ᵀ U (I − W) + ρ/2 ‖D^½ (W − V)‖² over the entries that are free, so the
    gradient U (W − I) + ρD (W − V) is zero there.
    """
    free = ~np.eye(len(U), dtype=bool) if order is None else respecting([order])[0]
    root, pull, residual = np.sqrt(np.diag(U)), rho * D[:, None], W - np.eye(len(U))
    # A value too large to multiply becomes infinite, or no number, and is refused.
    with np.errstate(over="ignore", invalid="ignore"):
        change = U @ residual
        gradient = change + pull * (W - V)
        terms = root[:, None] * (root @ np.abs(residual)) + pull * (np.abs(W) + np.abs(V))
        gap = float(np.max(np.abs(np.where(free, gradient, pull * W)) / terms))
        loss_gap = abs(2 * loss - np.vdot(residual, change)) / np.sum(terms * np.abs(residual))
    if not (gap <= LARGEST_GAP and loss_gap <= LARGEST_GAP):
        msg = (
            "answer to 'step': W and its loss must follow from the samples of the first answer; "
            f"found a relative gap of {max(gap, loss_gap):.2g}, at most {LARGEST_GAP:g} is "
            "rounding. Check that the site's data and program did not change during the fit"
        )
        raise MessageError(msg)


def largest_weight(W: Array, D: Array) -> float:
    """Largest weight in units of √(D_j/D_i), which make weights dimensionless."""
    root = np.sqrt(D)[:, None]
    with np.errstate(over="ignore"):
        return float((np.abs(W) * root / root.T).max())


def weights_diverge(V: Array, D: Array) -> bool:
    """Whether V has grown so large that even an honest answer may exceed the limit on weights.

    An honest answer is at most twice the norm of V's column plus a term from the site's own
    variances, so a site that answers such a V is not to blame for a weight that is too large.
    """
    root = np.sqrt(D)
    with np.errstate(over="ignore"):
        columns = np.sqrt(((root[:, None] * V) ** 2).sum(axis=0)) / root
    return bool(columns.max() > LARGEST_WEIGHT / SLACK)


def _check_arguments(kind: str, values: tuple[Any, ...], n_rois: int) -> None:
    match kind, values:
        case "plan", (dict(plan),) if set(plan) == PLAN_KEYS:
            return
        case "describe", ():
            return
        case "split", (folds,):
            _whole("folds", folds, 2, 100)
        case "begin", (D, order, fold):
            _finite("D", D, (n_rois,), positive=True)
            if order is not None:
                _permutation(order, n_rois)
            if fold is not None:
                _whole("fold", fold, 0, 99)
        case "step", (V, rho):
            _finite("V", V, (n_rois, n_rois))
            _finite("rho", rho, (), positive=True)
        case "score", (W, fold):
            _finite("W", W, (n_rois, n_rois))
            _whole("fold", fold, 0, 99)
        case _:
            msg = f"its {len(values)} values do not match its kind"
            raise MessageError(msg)


def _check_value(kind: str, value: Any, n_rois: int) -> None:
    match kind, value:
        case "plan", dict(counts) if set(counts) == COUNTS:
            _check_counts(counts)
        case "describe", Description():
            _finite("variances", value.variances, (n_rois,), positive=True)
            if value.variances.max() > LARGEST_VARIANCE:
                msg = f"variances must be at most {LARGEST_VARIANCE:g}; found larger values"
                raise MessageError(msg)
            _whole("n", value.n, 2, MOST_SAMPLES)
            _flag("has_samples", value.has_samples)
            if value.n_effective is not None:
                _finite("n_effective", value.n_effective, (), positive=True)
                if value.n_effective > value.n:
                    msg = f"n_effective must be at most n = {value.n}; found {value.n_effective:g}"
                    raise MessageError(msg)
        case "split" | "begin", None:
            return
        case "step", (W, loss):
            _finite("W", W, (n_rois, n_rois))
            _finite("loss", loss, ())
            if np.diag(W).any():
                msg = "W must have a zero diagonal"
                raise MessageError(msg)
        case "score", np.ndarray():
            _finite("sums of squares", value, (n_rois,), positive=True)
        case _:
            msg = f"a {type(value).__name__} does not match the request"
            raise MessageError(msg)


def _check_counts(counts: dict[str, Any]) -> None:
    _whole("subjects", counts["subjects"], 1, MOST_SUBJECTS)
    _whole("samples", counts["samples"], 2, MOST_SAMPLES)
    effective, noise = counts["effective_samples"], counts["noise"]
    match noise:
        case None:
            _finite("effective_samples", effective, (), positive=True)
            if effective > MOST_SAMPLES:
                msg = f"effective_samples must be at most {MOST_SAMPLES}; found {effective:g}"
                raise MessageError(msg)
        # A site with noise does not reveal the temporal correlation of its series.
        case dict() if set(noise) == NOISE and effective is None:
            for name in sorted(NOISE):
                _finite(name, noise[name], (), positive=True)
        case _:
            msg = "noise must be absent, or give epsilon, delta and clip without effective_samples"
            raise MessageError(msg)


def _finite(name: str, value: Any, shape: tuple[int, ...], *, positive: bool = False) -> None:
    number = isinstance(value, float | int) and not isinstance(value, bool)
    if not number and not (isinstance(value, np.ndarray) and value.dtype == np.float64):
        msg = f"{name} must be a number or an array of float64; found {type(value).__name__}"
        raise MessageError(msg)
    if np.shape(value) != shape:
        msg = f"{name} must have shape {shape}; found {np.shape(value)}"
        raise MessageError(msg)
    # Integers may be too large for numpy.
    finite = abs(value) <= sys.float_info.max if number else np.isfinite(value).all()
    if not finite:
        msg = f"{name} must be finite; found NaN or infinite values"
        raise MessageError(msg)
    if positive and not np.all(np.asarray(value) > 0):
        msg = f"{name} must be positive; found {np.min(value)}"
        raise MessageError(msg)


def _whole(name: str, value: Any, low: int, high: int) -> None:
    if type(value) is not int or not low <= value <= high:
        msg = f"{name} must be an integer from {low} to {high}; found {str(value)[:40]!r}"
        raise MessageError(msg)


def _flag(name: str, value: Any) -> None:
    if type(value) is not bool:
        msg = f"{name} must be true or false; found {str(value)[:40]!r}"
        raise MessageError(msg)


def _permutation(order: Any, n_rois: int) -> None:
    whole = isinstance(order, np.ndarray) and order.dtype == np.int64 and order.shape == (n_rois,)
    if not whole or not np.array_equal(np.sort(order), np.arange(n_rois)):
        msg = f"order must list each of the {n_rois} ROIs once"
        raise MessageError(msg)
