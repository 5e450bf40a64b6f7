"""NotearsPFL finds known networks, and its answers have the symmetries they must have."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import notears_pfl
from notears_pfl import NotearsPFL
from notears_pfl.errors import DoubtfulFitWarning, InputError, NotConvergedWarning
from notears_pfl.model.estimator import edges_changed_by_reverse_order
from notears_pfl.model.problem import is_acyclic

PENALTIES = pytest.mark.parametrize("penalty", ["edgewise", "chain"])


@PENALTIES
@pytest.mark.parametrize("acyclicity", ["log-det", "trace-exponential"])
def test_fit_recovers_known_networks(samples, truth, penalty, acyclicity):
    model = NotearsPFL(penalty, acyclicity=acyclicity).fit(samples)

    assert_array_equal(model.adjacency_, truth != 0)
    assert_array_equal(np.sign(model.weights_), np.sign(truth))
    assert model.converged_


@PENALTIES
@pytest.mark.parametrize("lambda1", [0.1, "auto"])
def test_sites_with_no_coupling_are_fitted_as_if_alone(samples, penalty, lambda1):
    unequal = [x[:n] * gain for x, n, gain in zip(samples, (30, 500, 120), (1, 2, 5), strict=True)]

    together = NotearsPFL(penalty, lambda1=lambda1, lambda2=0).fit(unequal)

    for k, x in enumerate(unequal):
        alone = NotearsPFL(penalty, lambda1=lambda1, lambda2=0).fit([x])
        assert_array_equal(together.weights_[k], alone.weights_[0])
        assert together.site_parameters_[k] == alone.parameters_
        assert alone.candidates_[0] in together.candidates_


def test_parameters_of_sites_that_chose_their_own_are_a_mean(samples):
    separate = NotearsPFL(lambda2=0).fit([samples[0], samples[1][:30]])
    joint = NotearsPFL(kappa=1.0).fit(samples)

    chosen = [setting.lambda1 for setting in separate.site_parameters_]
    assert chosen[0] < chosen[1]
    assert separate.parameters_.lambda1 == pytest.approx(np.mean(chosen))
    assert joint.site_parameters_ == [joint.parameters_] * 3


@pytest.mark.parametrize(
    "coupling", [{"penalty": "chain", "lambda2": 1e4}, {"penalty": "edgewise", "kappa": 1e4}]
)
def test_sites_with_endless_coupling_share_one_network(samples, coupling):
    model = NotearsPFL(threshold=0, **coupling).fit(samples)

    weights = model.penalised_weights_
    assert np.abs(weights).max() > 0.1
    assert_allclose(weights, np.broadcast_to(weights.mean(axis=0), weights.shape), atol=1e-2)


@PENALTIES
def test_permuting_rois_permutes_the_result(samples, penalty, rng):
    order = rng.permutation(8)

    model = NotearsPFL(penalty).fit(samples)
    permuted = NotearsPFL(penalty).fit([x[:, order] for x in samples])

    assert_array_equal(permuted.adjacency_, model.adjacency_[:, order][:, :, order])
    assert_allclose(permuted.weights_, model.weights_[:, order][:, :, order], atol=1e-6)


def test_permuting_sites_permutes_the_result_of_edgewise(samples):
    order = [2, 0, 1]

    model = NotearsPFL().fit(samples)
    permuted = NotearsPFL().fit([samples[k] for k in order])

    assert_array_equal(permuted.adjacency_, model.adjacency_[order])
    assert_allclose(permuted.weights_, model.weights_[order], atol=1e-6)


def test_only_chain_is_fitted_in_reverse_order_too(samples, monkeypatch):
    edgewise, chain = NotearsPFL().fit(samples), NotearsPFL("chain", lambda2=0.5).fit(samples)
    reverse = NotearsPFL("chain", lambda2=0.5).fit(samples[::-1])
    chain.adjacency_ = chain.adjacency_.copy()
    chain.adjacency_[0, :2, 0] ^= True

    changed = edges_changed_by_reverse_order(chain, samples)
    monkeypatch.setattr(NotearsPFL, "fit", None)

    assert changed == (chain.adjacency_ != reverse.adjacency_[::-1]).sum() > 0
    assert edges_changed_by_reverse_order(edgewise, samples) is None


@PENALTIES
def test_same_input_gives_the_same_bytes(samples, penalty):
    first, second = NotearsPFL(penalty).fit(samples), NotearsPFL(penalty).fit(samples)

    assert first.weights_.tobytes() == second.weights_.tobytes()


def test_units_of_the_samples_do_not_matter(samples):
    model = NotearsPFL().fit(samples)
    rescaled = NotearsPFL().fit([1000 * x for x in samples])

    assert_array_equal(rescaled.adjacency_, model.adjacency_)
    assert_allclose(rescaled.weights_, model.weights_, atol=1e-6)


def test_autocorrelated_series_of_unlike_sites_converge(truth, rng):
    def series(W, gain):
        noise = rng.normal(size=(300, 8))
        for t in range(1, 300):
            noise[t] += 0.8 * noise[t - 1]
        return gain * noise @ np.linalg.inv(np.eye(8) - W)

    model = NotearsPFL().fit([series(W, gain) for W, gain in zip(truth, (1, 1.5, 2), strict=True)])

    assert model.converged_
    assert model.certificate_.path_residual < 0.1
    assert model.certificate_.acyclic_threshold < 0.3


def test_fit_does_not_write_to_its_input(samples):
    before = [x.copy() for x in samples]

    NotearsPFL().fit(samples)

    assert_array_equal(samples, before)


def test_moments_give_what_samples_give(samples):
    moments = [(np.cov(x.T, bias=True), len(x)) for x in samples]

    from_samples = NotearsPFL(kappa=1.0).fit(samples)
    from_moments = NotearsPFL(kappa=1.0).fit_moments(moments)

    assert_allclose(from_moments.weights_, from_samples.weights_, atol=1e-8)


def test_moments_cannot_be_cross_validated_and_take_the_usual_kappa(samples):
    model = NotearsPFL().fit_moments([(np.cov(x.T, bias=True), len(x)) for x in samples])

    assert model.parameters_.kappa == 1.0
    assert all(candidate.score is None for candidate in model.candidates_)


def test_a_single_site_is_plain_notears(samples, truth):
    model = NotearsPFL().fit(samples[:1])

    assert_array_equal(model.adjacency_[0], truth[0] != 0)


def test_chosen_parameters_have_the_best_score(samples):
    model = NotearsPFL().fit(samples)

    scored = [candidate for candidate in model.candidates_ if candidate.score is not None]
    best = min(scored, key=lambda candidate: candidate.score)
    assert model.parameters_ == best.parameters


@PENALTIES
@pytest.mark.parametrize("n", [2, 3, 5])
def test_networks_of_tiny_sites_are_acyclic(rng, penalty, n):
    samples = [rng.normal(size=(n, 10)) @ rng.normal(size=(10, 10)) for _ in range(4)]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        model = NotearsPFL(penalty, threshold=0, center=False).fit(samples)

    assert all(is_acyclic(edges) for edges in model.adjacency_)
    assert_array_equal(model.weights_[~model.adjacency_], 0)


def test_history_has_an_entry_per_round_and_ends_at_the_certificate(samples):
    model = NotearsPFL().fit(samples)

    history, certificate = model.history_, model.certificate_
    assert len(history.objective) == len(history.h) == model.n_rounds_
    assert history.primal_residual[-1] == certificate.primal_residual <= model.tol
    assert history.dual_residual[-1] == certificate.dual_residual <= model.tol
    assert history.h[-1] == 0
    assert certificate.acyclic_threshold < 0.3


def test_weights_solve_the_problem_restricted_to_their_orders(samples):
    model = NotearsPFL(lambda1=0.1, lambda2=0, threshold=0, center=False, tol=1e-7)
    W = model.fit(samples[:1]).penalised_weights_[0]

    # The subgradient condition of the lasso, on edges that respect the order.
    U = samples[0].T @ samples[0] / len(samples[0])
    gradient = U @ W - U
    position = np.argsort(model.order_[0])
    allowed = position[:, None] < position[None, :]
    assert_allclose(gradient[W != 0], -0.1 * np.sign(W[W != 0]), atol=1e-4)
    assert np.abs(gradient[allowed]).max() <= 0.1 + 1e-4


def test_too_few_rounds_warn_and_are_recorded(samples):
    model = NotearsPFL(max_rounds=2, kappa=1.0)

    with pytest.warns(NotConvergedWarning, match=r"after 2 rounds.*Raise max_rounds or tol"):
        model.fit(samples)

    assert not model.converged_


def test_parameters_are_kept_as_given_and_can_be_changed():
    model = NotearsPFL("chain", lambda2=0.5)

    assert model.get_params()["lambda2"] == 0.5
    assert model.set_params(lambda2="auto").lambda2 == "auto"
    assert repr(model) == "NotearsPFL(penalty='chain')"
    with pytest.raises(InputError, match="no parameter 'lambda3'"):
        model.set_params(lambda3=1)


def test_package_offers_the_estimator_and_nothing_unknown():
    assert notears_pfl.NotearsPFL is NotearsPFL
    with pytest.raises(AttributeError, match="no attribute 'Notears'"):
        _ = notears_pfl.Notears


def test_scikit_learn_clones_pickles_and_reads_the_estimator(samples):
    model = NotearsPFL(kappa=0.5, forbidden=[(0, 1)])

    copy = clone(model)
    fitted = copy.fit(samples)
    again = pickle.loads(pickle.dumps(fitted))

    assert copy is not model
    assert copy.get_params() == model.get_params()
    assert repr(copy) == "NotearsPFL(kappa=0.5, forbidden=[(0, 1)])"
    assert_array_equal(again.weights_, fitted.weights_)
    assert fitted.n_features_in_ == 8
    assert not hasattr(fitted, "feature_names_in_")


def test_names_of_columns_are_kept_and_must_agree(samples):
    tables = [pd.DataFrame(x, columns=list("abcdefgh")) for x in samples]

    model = NotearsPFL(kappa=0.5).fit(tables)

    assert model.feature_names_in_.tolist() == list("abcdefgh")
    with pytest.raises(InputError, match=r"site 1: columns must .* 'b' instead of 'a'"):
        model.fit([tables[0], tables[1][list("bacdefgh")]])


def test_subjects_are_held_out_as_a_whole(samples):
    subjects = [np.repeat(["s1", "s2", "s3", "s4"], 125) for _ in samples]
    shuffled = [np.argsort(np.tile(np.arange(125), 4), kind="stable") for _ in samples]

    model = NotearsPFL().fit(samples, subjects=subjects)
    # The same subjects in other rows have the same folds.
    mixed = NotearsPFL().fit(
        [x[order] for x, order in zip(samples, shuffled, strict=True)],
        subjects=[own[order] for own, order in zip(subjects, shuffled, strict=True)],
    )

    scores = [c.score for c in model.candidates_ if c.score is not None]
    assert_allclose([c.score for c in mixed.candidates_ if c.score is not None], scores, rtol=1e-6)


def test_a_redraw_finds_the_networks_of_other_samples_from_the_orders_of_the_fit(rng):
    W = np.zeros((2, 4, 4))
    W[:, [0, 1], [1, 2]] = 1.0
    other = W.copy()
    other[1, 0, 3] = 1.0

    def moments(weights):
        x = rng.normal(size=(2000, 4)) @ np.linalg.inv(np.eye(4) - weights)
        return x.T @ x / len(x)

    model = NotearsPFL().fit_moments([(moments(w), 2000) for w in W])
    same = model.redraw(model.moments_, model.effective_samples_)
    found = model.redraw(np.array([moments(w) for w in other]), np.full(2, 2000.0))

    assert_array_equal(same.adjacency, model.adjacency_)
    assert_allclose(same.weights, model.weights_, atol=1e-6)
    assert_array_equal(found.adjacency, other != 0)
    assert_allclose(found.weights, other, atol=0.1)
    assert (found.direction_support[found.adjacency] > 0.9).all()


def test_a_gain_of_one_site_changes_no_network(samples):
    plain = NotearsPFL().fit(samples)
    loud = [100 * x if k == 1 else x for k, x in enumerate(samples)]

    with pytest.warns(DoubtfulFitWarning, match="site 1"):
        scaled = NotearsPFL().fit(loud)

    assert_array_equal(scaled.adjacency_, plain.adjacency_)
    assert_allclose(scaled.weights_, plain.weights_, atol=1e-3)
    assert_allclose(scaled.moments_[1], 1e4 * plain.moments_[1], rtol=1e-6)


def test_a_site_with_another_network_does_not_change_the_others(rng):
    W = np.zeros((6, 8, 8))
    W[:5, range(7), range(1, 8)] = rng.uniform(0.8, 1.2, size=(5, 7))
    W[5, range(1, 8), range(7)] = 1.0
    sites = [rng.normal(size=(300, 8)) @ np.linalg.inv(np.eye(8) - w) for w in W]

    model = NotearsPFL().fit(sites)

    assert_array_equal(model.adjacency_, W != 0)
