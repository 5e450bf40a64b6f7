"""Every method has exactly as many edges as NOTEARS-PFL, its own strongest ones."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from notears_pfl import NotearsPFL
from notears_pfl.baselines import notears
from notears_pfl.baselines.equal_sparsity import (
    ComparisonOptions,
    _sig,
    compare_draw,
    learn_all,
    strongest,
)
from notears_pfl.baselines.granger import granger
from notears_pfl.model.problem import is_acyclic
from notears_pfl.simulate.graphs import erdos_renyi_dag
from notears_pfl.simulate.sites import draw_samples

BASELINES = ("sig", "ges", "pc", "granger")
OPTIONS = ComparisonOptions({"threshold": 0.3}, max_condition=2, lag=1, kind="conditional")


@pytest.fixture(scope="module")
def sites():
    """Give two sites of three subjects each, with one network of eight variables."""
    rng = np.random.default_rng(11)
    network = 0.7 * erdos_renyi_dag(rng, 8, edges_per_variable=1.2)
    return [[draw_samples(rng, network, 120) for _ in range(3)] for _ in range(2)]


def in_one_run(sites):
    """Give every subject's series as its only run."""
    return [[[x] for x in site] for site in sites]


@pytest.fixture(scope="module")
def learned(sites):
    return learn_all(in_one_run(sites), BASELINES, OPTIONS)


def test_every_method_has_the_edges_of_notears_pfl_site_by_site(learned):
    n_edges = [network.edges.sum() for network in learned["pfl"].networks]

    assert min(n_edges) > 5
    for method, result in learned.items():
        assert [network.edges.sum() for network in result.networks] == n_edges, method
        assert result.cpu_seconds > 0


def test_sig_has_as_many_edges_as_it_is_asked_for(sites):
    # 28 edges is the most that 8 variables can have without a cycle.
    networks = [_sig(site, 24, OPTIONS) for site in sites]

    for network in networks:
        assert network.edges.sum() == 24
        assert is_acyclic(network.edges)


def test_granger_on_series_that_depend_on_each_other_is_not_sound(sites):
    dependent = [[x @ np.diag([1] * 7 + [0]) + x[:, :1] * np.eye(8)[7] for x in s] for s in sites]

    learned = learn_all(in_one_run(dependent), ("granger",), OPTIONS)

    assert [network.sound for network in learned["granger"].networks] == [False, False]


def test_all_but_granger_are_acyclic(learned):
    for method in ("pfl", "sig", "ges", "pc"):
        for network in learned[method].networks:
            assert is_acyclic(network.edges)
            assert network.sound


def test_open_edges_are_edges_and_only_classes_have_them(learned):
    for method, result in learned.items():
        for network in result.networks:
            assert not (network.open & ~network.edges).any()
            assert method in ("ges", "pc") or not network.open.any()


def test_pfl_is_the_studys_own_estimator(sites, learned):
    subjects = [np.repeat(range(len(site)), [len(x) for x in site]) for site in sites]
    fit = NotearsPFL().fit([np.concatenate(site) for site in sites], subjects=subjects)

    assert_array_equal(np.stack([n.edges for n in learned["pfl"].networks]), fit.adjacency_)


def test_runs_of_a_subject_are_not_taken_for_other_subjects(sites, monkeypatch):
    seen = {}

    class Watched(NotearsPFL):
        def fit(self, samples, **labels):
            seen.update(labels)
            return super().fit(samples, **labels)

    # The first subject of every site in two runs, the others in one.
    halves = [[[site[0][:50], site[0][50:]], *([x] for x in site[1:])] for site in sites]
    monkeypatch.setattr("notears_pfl.baselines.equal_sparsity.NotearsPFL", Watched)
    found = learn_all(halves, [], OPTIONS)

    for subjects, runs in zip(seen["subjects"], seen["runs"], strict=True):
        assert_array_equal(subjects, np.repeat([0, 1, 2], 120))
        assert_array_equal(runs, np.repeat([0, 1, 2, 3], [50, 70, 120, 120]))
    fit = NotearsPFL(**OPTIONS.estimator).fit([np.concatenate(s) for s in sites], **seen)
    assert_array_equal(np.stack([n.edges for n in found["pfl"].networks]), fit.adjacency_)


def test_sig_is_notears_on_one_site_whatever_the_others_say(sites):
    # Other units and fewer samples: what is right for one site is not for the other.
    unlike = [sites[0], [7 * x[:20] for x in sites[1][:1]]]

    learned = learn_all(in_one_run(unlike), ["sig"], OPTIONS)

    for k, subjects in enumerate(unlike):
        m = int(learned["pfl"].networks[k].edges.sum())
        fit = NotearsPFL(lambda2=0).fit([np.concatenate(subjects)])
        assert_array_equal(
            learned["sig"].networks[k].edges, strongest(np.abs(fit.penalised_weights_[0]), m)
        )


def test_sig_lowers_its_weight_only_where_a_site_has_too_few_edges(sites):
    x = [np.concatenate(subjects) for subjects in sites]
    m = np.count_nonzero(NotearsPFL(lambda2=0).fit(x[:1]).penalised_weights_)

    networks = [_sig(site, n, OPTIONS) for site, n in zip(sites, [m, 25], strict=True)]

    alone, dense = (
        NotearsPFL(lambda1=lambda1, lambda2=0).fit([samples]).penalised_weights_[0]
        for samples, lambda1 in zip(x, ("auto", 0.0), strict=True)
    )
    assert_array_equal(networks[0].edges, alone != 0)
    assert networks[1].edges.sum() == 25
    assert_array_equal(networks[1].edges, strongest(np.abs(dense), 25))


def test_sig_solves_its_problem_at_least_as_well_as_l_bfgs(sites):
    x = np.concatenate(sites[0])
    x = x - x.mean(axis=0)

    fit = NotearsPFL(lambda2=0).fit([x])

    lambda1 = fit.parameters_.lambda1
    slow = notears(x, lambda1=lambda1, threshold=0)

    def objective(W):
        return ((x - x @ W) ** 2).sum() / (2 * len(x)) + lambda1 * np.abs(W).sum()

    assert objective(fit.penalised_weights_[0]) <= 1.001 * objective(slow.weights)


def test_granger_takes_the_smallest_p_of_the_subjects_series(sites, learned):
    edges = learned["granger"].networks[1].edges

    p = granger(sites[1]).p
    assert p[edges].max() <= np.min(p[~edges & ~np.eye(8, dtype=bool)])


def test_the_strongest_are_positive_and_ties_go_by_order():
    strength = np.array([[0, 2.0, 1], [1, 0, 0], [3, 1, 0]])

    assert_array_equal(np.argwhere(strongest(strength, 3)), [[0, 1], [0, 2], [2, 0]])
    assert strongest(strength, 9).sum() == 5
    assert not strongest(strength, 0).any()


def test_no_edges_at_all_is_met_too(sites):
    huge = ComparisonOptions({"threshold": 9}, max_condition=2, lag=1, kind="conditional")

    learned = learn_all(in_one_run(sites), BASELINES, huge)

    assert not any(network.edges.any() for r in learned.values() for network in r.networks)


def test_the_tables_have_every_network_and_every_edge(sites, learned):
    rois, of_sites = list("abcdefgh"), dict(zip(("COI", "KUT"), in_one_run(sites), strict=True))

    tables = compare_draw({"MDD": of_sites}, rois, BASELINES, OPTIONS)

    assert len(tables.networks) == 5 * 2
    assert (tables.networks["m"] == tables.networks["n_edges"]).all()
    assert len(tables.edges) == tables.networks["n_edges"].sum()
    assert tables.cost["n_networks"].tolist() == [2] * 5
    of = tables.edges[(tables.edges["method"] == "ges") & (tables.edges["site"] == "KUT")]
    network = learned["ges"].networks[1]
    expected = [(rois[i], rois[j]) for i, j in np.argwhere(network.edges)]
    assert list(zip(of["from"], of["to"], strict=True)) == expected
    assert of["open"].sum() == network.open.sum()
