"""Synthetic resting-state series of many sites, with the statistics of real ones.

Series are autoregressive of order one, lag-1 correlation 0.6 (ABIDE's regions: 0.5 to 0.9), on a
sparse network: 2.5 edges per ROI (a fit of ABIDE, three sites and 56 regions, finds 2 to 2.5), 90 %
of them at any one site, with standard deviations of the noise that differ between ROIs.
"""

from collections.abc import Iterator

import numpy as np
from scipy.signal import lfilter

from notears_pfl.seeds import stream

VOLUMES, LAG_ONE = 180, 0.6
# Independent samples that a volume is worth (Bartlett).
SHARE = (1 - LAG_ONE**2) / (1 + LAG_ONE**2)


def site_mixings(n_sites: int, n_rois: int) -> Iterator[np.ndarray]:
    """Give every site's matrix T, (d, d): x = e T has the site's network for white noise e."""
    rng = stream(0, "mixing", str(n_sites), str(n_rois))
    order, sd = rng.permutation(n_rois), np.exp(rng.normal(0, 0.35, n_rois))
    pairs = np.argwhere(np.triu(np.ones((n_rois, n_rois), dtype=bool), k=1))
    i, j = order[rng.permutation(pairs)[: round(2.5 * n_rois)].T]
    weights = rng.uniform(0.3, 0.7, len(i)) * rng.choice([-1, 1], len(i), p=[0.3, 0.7])
    for _ in range(n_sites):
        W = np.zeros((n_rois, n_rois))
        W[i, j] = (weights + rng.normal(0, 0.08, len(i))) * (rng.random(len(i)) < 0.9)
        yield sd[:, None] * np.linalg.inv(np.eye(n_rois) - W)


def noise_products(rng: np.random.Generator, n_subjects: int, n_rois: int) -> Iterator[np.ndarray]:
    """Give eᵀe, (d, d), of the centred noise of every subject."""
    for _ in range(n_subjects):
        e = rng.standard_normal((VOLUMES, n_rois), dtype=np.float32)
        e = lfilter([np.sqrt(1 - LAG_ONE**2)], [1, -LAG_ONE], e, axis=0).astype(np.float32)
        e -= e.mean(axis=0)
        yield e.T @ e
