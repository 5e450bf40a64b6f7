"""What is compared between the networks of patients and controls: connections, degrees, counts.

Networks have the shape (2, K, d, d): patients, then controls, at K sites; entry (i, j) is i → j.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from notears_pfl.evidence.moments import Array, Mask

PATIENTS, CONTROLS = 0, 1
# Numbers of connections: what is counted, and in whom.
COUNTS = (
    ("edges over all sites", "patients"),
    ("edges over all sites", "controls"),
    ("at every site", "patients only"),
    ("at every site", "controls only"),
    ("at every site", "both"),
    ("at exactly one site", "patients"),
    ("at exactly one site", "controls"),
)
# Differences of two counts: patients minus controls.
COMPARED = ((0, 1), (2, 3), (5, 6))
DIRECTIONS = ("out", "in", "total")


@dataclass(frozen=True)
class Comparison:
    """Figures of one pair of groups.

    Parameters
    ----------
    sites : ndarray of shape (2, d, d)
        Number of sites with each connection.
    degree : ndarray of shape (2, 3, d)
        Degree of every ROI over all sites: out, in, total.
    counts : ndarray of shape (2, C)
        The numbers of ``COUNTS``: directed, undirected.
    """

    sites: Array
    degree: Array
    counts: Array


def compare(networks: Mask) -> Comparison:
    """Figures of one pair of groups' networks, (2, K, d, d)."""
    sites = networks.sum(axis=1).astype(float)
    degree = degrees(networks)
    skeleton = networks | networks.swapaxes(2, 3)
    upper = np.triu(np.ones(networks.shape[-2:], dtype=bool), k=1)
    counts = np.array([count_connections(networks), count_connections(skeleton & upper)])
    return Comparison(sites, degree, counts)


def degrees(networks: Mask) -> Array:
    """Out-, in- and total degree of every ROI over all sites, (2, 3, d)."""
    out, into = networks.sum(axis=(1, 3)), networks.sum(axis=(1, 2))
    return np.stack([out, into, out + into], axis=1).astype(float)


def count_connections(networks: Mask) -> Array:
    """Numbers of connections in the order of ``COUNTS``, (C,)."""
    n_sites, K = networks.sum(axis=1), networks.shape[1]
    everywhere, once = n_sites == K, n_sites == 1
    patients, controls = everywhere
    edges = n_sites.sum(axis=(1, 2))
    return np.array(
        [
            *edges,
            (patients & ~controls).sum(),
            (controls & ~patients).sum(),
            (patients & controls).sum(),
            *once.sum(axis=(1, 2)),
        ],
        dtype=float,
    )


def averaged(parts: Sequence[Comparison]) -> Comparison:
    """Mean over subsamples of the same groups."""
    return Comparison(
        *(np.mean([getattr(part, name) for part in parts], axis=0)
          for name in ("sites", "degree", "counts"))
    )  # fmt: skip
