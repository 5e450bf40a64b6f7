"""Test whether a connection is found in more draws of patients than of controls.

The paper's test assumes independent draws:

    z = (p₁ − p₂) / √(p(1 − p)(1/n₁ + 1/n₂)),   p = (x₁ + x₂)/(n₁ + n₂)

Draws share subjects and are not independent, so its p-values are far too small, as are those of
every other test of draw counts. The permutation test of labels (``permutation``) is valid.
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import fisher_exact, norm


@dataclass(frozen=True)
class ProportionTest:
    """Comparison of two proportions, valid only if the draws were independent.

    Attributes
    ----------
    difference : float
        First proportion minus the second.
    low, high : float
        Newcombe's 95 % interval of the difference.
    p_z, p_z_two_sided : float
        The paper's pooled z-test, one-sided (first larger) and two-sided. 1 if z is undefined.
    p_fisher, p_fisher_two_sided : float
        Fisher's exact test, likewise.
    """

    difference: float
    low: float
    high: float
    p_z: float
    p_z_two_sided: float
    p_fisher: float
    p_fisher_two_sided: float


def compare_proportions(x1: int, n1: int, x2: int, n2: int) -> ProportionTest:
    """Compare ``x1`` of ``n1`` with ``x2`` of ``n2``."""
    z = pooled_z(x1, n1, x2, n2)
    low, high = newcombe_interval(x1, n1, x2, n2)
    table = [[x1, n1 - x1], [x2, n2 - x2]]
    return ProportionTest(
        difference=x1 / n1 - x2 / n2,
        low=low,
        high=high,
        p_z=1.0 if np.isnan(z) else float(norm.sf(z)),
        p_z_two_sided=1.0 if np.isnan(z) else float(2 * norm.sf(abs(z))),
        p_fisher=float(fisher_exact(table, "greater").pvalue),
        p_fisher_two_sided=float(fisher_exact(table).pvalue),
    )


def pooled_z(x1: int, n1: int, x2: int, n2: int) -> float:
    """Statistic of the paper's test; NaN if both proportions are 0 or both are 1."""
    p = (x1 + x2) / (n1 + n2)
    if p in (0, 1):
        return float("nan")
    return float((x1 / n1 - x2 / n2) / np.sqrt(p * (1 - p) * (1 / n1 + 1 / n2)))


def newcombe_interval(
    x1: int, n1: int, x2: int, n2: int, confidence: float = 0.95
) -> tuple[float, float]:
    """Interval of p₁ − p₂ from the Wilson interval of each (Newcombe 1998, method 10)."""
    z = float(norm.isf((1 - confidence) / 2))
    p1, p2 = x1 / n1, x2 / n2
    (l1, u1), (l2, u2) = _wilson(p1, n1, z), _wilson(p2, n2, z)
    low = p1 - p2 - np.hypot(p1 - l1, u2 - p2)
    high = p1 - p2 + np.hypot(u1 - p1, p2 - l2)
    return float(low), float(high)


def _wilson(p: float, n: int, z: float) -> tuple[float, float]:
    middle = p + z**2 / (2 * n)
    half = z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    scale = 1 + z**2 / n
    return float((middle - half) / scale), float((middle + half) / scale)
