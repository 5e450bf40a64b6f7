"""The paper's four metrics of a learned graph (section 4, appendix C), on directed edges.

A positive is an ordered pair (i, j), i ≠ j, with an edge i → j: an edge learned the wrong way
round is a false positive and a false negative, but one step of the Hamming distance.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from notears_pfl.simulate.graphs import Graph


@dataclass(frozen=True)
class Metrics:
    """How far a learned graph is from the true one.

    Attributes
    ----------
    error : float
        (FP + FN) / (TP + TN + FP + FN); the denominator is d(d − 1).
    shd : float
        Structural Hamming distance: edges to add, delete or reverse.
    precision : float
        TP / (TP + FP); 0 when nothing was learned of a graph that has edges.
    f_score : float
        2 TP / (2 TP + FP + FN), the harmonic mean of precision and recall.
    """

    error: float
    shd: float
    precision: float
    f_score: float


def compare(true: Graph, learned: Graph) -> Metrics:
    """Compare one learned graph with the true one, both of shape (d, d)."""
    true, learned = true != 0, learned != 0
    d = len(true)
    true_positive = int((true & learned).sum())
    false_positive = int((learned & ~true).sum())
    false_negative = int((true & ~learned).sum())
    wrong = false_positive + false_negative
    # A pair that differs is one step, whichever of its two directions differ.
    differs = true != learned
    steps = int(np.triu(differs | differs.T, k=1).sum())
    n_learned = true_positive + false_positive
    return Metrics(
        error=wrong / (d * (d - 1)),
        shd=float(steps),
        precision=true_positive / n_learned if n_learned else float(not true.any()),
        f_score=2 * true_positive / (2 * true_positive + wrong) if true_positive + wrong else 1.0,
    )


def compare_sites(true: Sequence[Graph], learned: Sequence[Graph]) -> Metrics:
    """Mean of each metric over the sites."""
    per_site = [asdict(compare(t, g)) for t, g in zip(true, learned, strict=True)]
    return Metrics(**{name: float(np.mean([m[name] for m in per_site])) for name in per_site[0]})
