"""How far the choice of the threshold and of λ matters: edges of every site at other values."""

from collections.abc import Sequence
from dataclasses import dataclass

from notears_pfl.model.estimator import NotearsPFL


@dataclass(frozen=True)
class CurvePoint:
    """Number of edges at every site, at one threshold and one multiple of λ1 and λ2."""

    threshold: float
    factor: float
    edges: tuple[int, ...]


def edge_curve(
    fit: NotearsPFL,
    thresholds: Sequence[float] = (0.1, 0.2, 0.3, 0.4, 0.5),
    factors: Sequence[float] = (0.5, 1.0, 2.0),
) -> list[CurvePoint]:
    """Fit the moments of a fit again at other thresholds and multiples of its λ1 and λ2.

    Parameters
    ----------
    fit : NotearsPFL
        A fitted estimator; it is not changed.
    thresholds : sequence of float
        Floors on the weight.
    factors : sequence of float
        Multiples of the λ1 and λ2 that the fit chose or was given.
    """
    sizes = [max(2, round(n)) for n in fit.effective_samples_]
    moments = [*zip(fit.moments_, sizes, strict=True)]
    chosen = fit.parameters_
    points = []
    for threshold in thresholds:
        for factor in factors:
            again = NotearsPFL(**fit.get_params()).set_params(
                lambda1=factor * chosen.lambda1, lambda2=factor * chosen.lambda2,
                kappa=chosen.kappa, threshold=threshold, progress=False,
            )  # fmt: skip
            found = again.fit_moments(moments).adjacency_.sum(axis=(1, 2))
            points.append(CurvePoint(threshold, factor, tuple(found.tolist())))
    return points
