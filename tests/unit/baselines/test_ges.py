"""GES finds what causal-learn's GES finds, at every penalty."""

import numpy as np
import pytest
from causallearn.search.ScoreBased.GES import ges as causallearn_ges
from numpy.testing import assert_allclose, assert_array_equal

from notears_pfl.baselines import ges
from notears_pfl.baselines.equivalence import Pdag, essential_graph
from notears_pfl.baselines.ges import Scores, ges_with_edges
from notears_pfl.errors import InputError
from notears_pfl.model.problem import is_acyclic


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("penalty", [0.3, 1, 3])
def test_the_class_is_that_of_causal_learn(samples_of, seed, penalty):
    _, x = samples_of(seed, d=7, n=200)

    fit = ges(x, penalty=penalty)

    theirs = causallearn_ges(x, lambda_value=penalty / 2)["G"].graph
    assert_array_equal(fit.cpdag, theirs == -1)
    assert fit.consistent


def test_many_samples_give_the_true_class(samples_of):
    for seed in range(5):
        network, x = samples_of(seed, d=7, n=100_000)

        truth = essential_graph(Pdag.from_mask(network != 0)).mask()
        assert_array_equal(ges(x, penalty=2).cpdag, truth)


def test_a_gain_is_the_rise_of_the_likelihood_by_least_squares(rng):
    x = rng.normal(size=(50, 4)) @ rng.normal(size=(4, 4))
    x -= x.mean(axis=0)
    scores = Scores(np.corrcoef(x, rowvar=False), 50)

    def log_likelihood(y, parents):
        residual = x[:, y] - x[:, parents] @ np.linalg.lstsq(x[:, parents], x[:, y])[0]
        return -25 * np.log(residual @ residual)

    expected = log_likelihood(0, [1, 2, 3]) - log_likelihood(0, [1, 2])
    assert_allclose(scores.gains(0, 0b110)[3], expected)
    assert_allclose(scores.gains(0, 0)[3], log_likelihood(0, [3]) + 25 * np.log(x[:, 0] @ x[:, 0]))


def test_the_evidence_of_an_edge_is_its_gain_given_the_other_parents(samples_of):
    _, x = samples_of(4, d=7, n=200)

    fit = ges(x)

    scores = Scores(np.corrcoef(x, rowvar=False), len(x))
    for i, j in zip(*np.nonzero(fit.dag), strict=True):
        others = sum(1 << int(k) for k in np.flatnonzero(fit.dag[:, j]) if k != i)
        assert_allclose(fit.evidence[i, j], scores.gains(j, others)[i])
    assert ((fit.evidence > 0) == fit.dag).all()


@pytest.mark.parametrize("n_edges", [1, 4, 8, 12, 21])
def test_bisection_leaves_at_least_the_edges_asked_for_and_few_more(samples_of, n_edges):
    _, x = samples_of(2, d=7, n=200)

    fit = ges_with_edges(x, n_edges)

    assert is_acyclic(fit.dag)
    assert n_edges <= fit.dag.sum() <= n_edges + 2


def test_bisection_finds_a_fit_that_some_penalty_gives(samples_of):
    _, x = samples_of(5, d=7, n=200)

    found = ges_with_edges(x, 6)

    penalties = np.geomspace(0.1, 100, 60)
    assert any(np.array_equal(found.cpdag, ges(x, penalty=p).cpdag) for p in penalties)


def test_a_huge_penalty_gives_the_empty_network(samples_of):
    assert not ges(samples_of(0, d=7, n=200)[1], penalty=1e6).dag.any()


def test_a_negative_penalty_is_refused(rng):
    with pytest.raises(InputError, match="penalty: needed a number >= 0, found -1"):
        ges(rng.normal(size=(10, 3)), penalty=-1)
