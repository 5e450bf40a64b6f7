"""The baselines are as strong as their authors' versions: they are not straw men.

In the true order of the variables the problem is convex, one lasso per variable, and scikit-learn
solves it. NOTEARS
that stops early, or at a poor compromise, ends above that.
"""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import Lasso

from notears_pfl.baselines import notears
from notears_pfl.baselines.notears import TOLERANCE, trace_exponential
from notears_pfl.baselines.notears_admm import consensus_weights
from notears_pfl.simulate.graphs import erdos_renyi_dag
from notears_pfl.simulate.sites import draw_samples, draw_weights

D, N, LAMBDA1 = 15, 2000, 0.1


def objective(x, W):
    """½/n ‖x − xW‖² + λ1 ‖W‖₁."""
    return 0.5 * ((x - x @ W) ** 2).sum() / len(x) + LAMBDA1 * np.abs(W).sum()


def best_in_order(x, network):
    """Minimiser of the objective among networks that respect the order of ``network``."""
    reached = np.linalg.inv(np.eye(D) - (network != 0)) != 0
    order = np.argsort(reached.sum(axis=0), kind="stable")
    W = np.zeros((D, D))
    for position, j in enumerate(order):
        if position:
            earlier = order[:position]
            lasso = Lasso(LAMBDA1, fit_intercept=False, tol=1e-10, max_iter=100_000)
            W[earlier, j] = lasso.fit(x[:, earlier], x[:, j]).coef_
    return W


@pytest.fixture(params=[1, 2, 3, 4])
def case(request):
    """Give samples of a random network, and the network."""
    rng = np.random.default_rng(request.param)
    network = erdos_renyi_dag(rng, D) * draw_weights(rng, D)
    return draw_samples(rng, network, N), network


def test_notears_ends_as_low_as_the_best_network_in_the_true_order(case):
    x, network = case

    fit = notears(x, lambda1=LAMBDA1, center=False)

    assert fit.converged
    assert objective(x, fit.relaxed) <= 1.001 * objective(x, best_in_order(x, network))


def test_the_consensus_step_ends_no_higher_than_on_unsplit_weights(rng):
    """The authors let L-BFGS-B run on Z itself, across the kinks of the ℓ1 norm."""
    W = draw_weights(rng, D) * (rng.random((4, D, D)) < 0.15)
    alpha, rho1, rho2 = 0.5, 2.0, 0.3

    def consensus_objective(Z):
        h, gradient = trace_exponential(Z)
        apart = W - Z
        value = LAMBDA1 * np.abs(Z).sum() + alpha * h + rho1 / 2 * h**2
        slope = LAMBDA1 * np.sign(Z) + (alpha + rho1 * h) * gradient
        return value + rho2 / 2 * (apart**2).sum(), slope - rho2 * apart.sum(axis=0)

    Z = consensus_weights(
        W, np.zeros((D, D)), np.zeros_like(W), alpha, rho1, rho2, LAMBDA1, TOLERANCE
    )

    unsplit = minimize(
        lambda z: (lambda v, g: (v, g.ravel()))(*consensus_objective(z.reshape(D, D))),
        np.zeros(D * D),
        jac=True,
        method="L-BFGS-B",
    )
    assert consensus_objective(Z)[0] <= unsplit.fun + 1e-9
    assert (Z == 0).sum() > D
