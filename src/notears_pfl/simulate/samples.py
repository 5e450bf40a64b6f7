"""Samples of the linear structural equation model x = xW + e (Eq. 4)."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from notears_pfl.errors import InputError
from notears_pfl.simulate.graphs import Graph

Array = NDArray[np.float64]
WeightDesign = Literal["per_site", "shared"]


def draw_weights(rng: np.random.Generator, d: int) -> Array:
    """Draw a weight for every ordered pair, uniform on [−2, −0.5] ∪ [0.5, 2]."""
    size = rng.uniform(0.5, 2.0, size=(d, d))
    return np.where(rng.random((d, d)) < 0.5, -size, size)


def site_weights(rng: np.random.Generator, graphs: Sequence[Graph], design: WeightDesign) -> Array:
    """Weights of shape (K, d, d) on the sites' graphs.

    With ``per_site`` every site draws its own weights, as in the paper; with ``shared`` an edge
    has the same weight at every site that has it.
    """
    d = len(graphs[0])
    if design == "shared":
        return np.stack(graphs) * draw_weights(rng, d)
    return np.stack([graph * draw_weights(rng, d) for graph in graphs])


def draw_samples(rng: np.random.Generator, weights: Array, n: int) -> Array:
    """Draw ``n`` samples of the network ``weights`` with standard Gaussian noise, shape (n, d)."""
    d = len(weights)
    noise = rng.standard_normal((n, d))
    return np.linalg.solve(np.eye(d) - weights.T, noise.T).T.astype(float)


def split_evenly(n_samples: int, n_sites: int) -> list[int]:
    """Split ``n_samples`` over the sites; the first sites take one more when it does not divide."""
    share, rest = divmod(n_samples, n_sites)
    if share < 2:
        msg = (
            f"{n_samples} samples over {n_sites} sites: needed at least 2 per site, found {share}. "
            "Take more samples or fewer sites."
        )
        raise InputError(msg)
    return [share + (k < rest) for k in range(n_sites)]
