"""Networks to learn from samples, for PC and GES alike."""

import numpy as np
import pytest

from notears_pfl.simulate.graphs import erdos_renyi_dag
from notears_pfl.simulate.sites import draw_samples, draw_weights


@pytest.fixture
def samples_of():
    """Give a function: weights of a random DAG by its seed, and samples of it."""

    def simulate(seed, d=8, n=300):
        rng = np.random.default_rng(seed)
        network = erdos_renyi_dag(rng, d, edges_per_variable=1.5) * draw_weights(rng, d)
        return network, draw_samples(rng, network, n)

    return simulate
