"""How much of a published list comes back, and how much of it chance would bring.

If m of N possible items are found regardless of a published list of n, the number of published ones
among them has a hypergeometric distribution.
"""

from collections.abc import Hashable, Set
from dataclasses import dataclass

from scipy.stats import hypergeom


@dataclass(frozen=True)
class Score:
    """Published and found items, those in both, their expected number and one-sided p-value."""

    published: int
    found: int
    both: int
    expected: float
    p: float


def score(published: Set[Hashable], found: Set[Hashable], n_possible: int) -> Score:
    """Compare a published list with what was found among ``n_possible`` items."""
    both, n, m = len(published & found), len(published), len(found)
    p = float(hypergeom.sf(both - 1, n_possible, n, m))
    return Score(n, m, both, n * m / n_possible, p)
