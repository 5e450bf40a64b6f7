"""Agreement of two networks, in connections and directions, and with the known truth."""

from collections.abc import Set
from dataclasses import dataclass

import numpy as np

Edge = tuple[str, str]


@dataclass(frozen=True)
class Recovery:
    """Precision, recall and F-score of found connections; NaN if undefined."""

    n_true: int
    n_found: int
    n_correct: int
    precision: float
    recall: float
    f_score: float


def recovery(found: Set[Edge], true: Set[Edge]) -> Recovery:
    """Score the found connections against the true ones."""
    correct = len(found & true)
    return Recovery(
        n_true=len(true),
        n_found=len(found),
        n_correct=correct,
        precision=correct / len(found) if found else float("nan"),
        recall=correct / len(true) if true else float("nan"),
        f_score=2 * correct / (len(found) + len(true)) if found or true else float("nan"),
    )


@dataclass(frozen=True)
class DirectionAgreement:
    """Connections that two networks have in common, and how many point the same way."""

    n_first: int
    n_second: int
    n_common: int
    n_same_direction: int

    @property
    def share(self) -> float:
        """Share of the common connections with the same direction; NaN if there are none."""
        return self.n_same_direction / self.n_common if self.n_common else float("nan")


def direction_agreement(first: np.ndarray, second: np.ndarray) -> DirectionAgreement:
    """Compare two acyclic adjacency matrices of shape (d, d) over the same ROIs."""
    a, b = first.astype(bool), second.astype(bool)
    same = int((a & b).sum())
    opposite = int((a & b.T).sum())
    return DirectionAgreement(int(a.sum()), int(b.sum()), same + opposite, same)
