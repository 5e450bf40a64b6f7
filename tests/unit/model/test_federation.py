"""A site's updates solve the problems the paper states, wherever the site runs."""

import multiprocessing

import numpy as np
import pytest
from numpy.testing import assert_allclose

from notears_pfl import NotearsPFL
from notears_pfl.autocorrelation import effective_sample_size
from notears_pfl.errors import InputError
from notears_pfl.model.coordinator import effective_samples, known_moments
from notears_pfl.model.federation import (
    Description,
    FreeUpdate,
    LocalSites,
    OrderedUpdate,
    Site,
    folds_of,
    site_from_samples,
)
from notears_pfl.model.problem import second_moments


@pytest.fixture
def problem(rng):
    """Give U of rank below d, a row scale D, and the coordinator's V."""
    x = rng.normal(size=(4, 6)) * np.arange(1, 7)
    U = second_moments(x).U
    return U, np.diag(U) + 0.1, rng.normal(size=(6, 6))


@pytest.mark.parametrize("rho", [0.05, 2.0])
def test_free_update_zeroes_the_gradient_off_the_diagonal(problem, rho):
    U, D, V = problem

    W = FreeUpdate(U, D)(V, rho)

    gradient = U @ W - U + rho * D[:, None] * (W - V)
    assert_allclose(gradient[~np.eye(6, dtype=bool)], 0, atol=1e-10)
    assert_allclose(np.diag(W), 0, atol=0)


@pytest.mark.parametrize("rho", [0.05, 2.0])
def test_ordered_update_zeroes_the_gradient_along_the_order(problem, rho, rng):
    U, D, V = problem
    order = rng.permutation(6)
    position = np.argsort(order)
    allowed = position[:, None] < position[None, :]

    W = OrderedUpdate(U, D, order)(V, rho)

    gradient = U @ W - U + rho * D[:, None] * (W - V)
    assert_allclose(gradient[allowed], 0, atol=1e-10)
    assert not W[~allowed].any()


def test_step_follows_the_coordinator_when_the_penalty_is_huge(problem):
    U, D, V = problem
    V = V - np.diag(np.diag(V))

    assert_allclose(FreeUpdate(U, D)(V, 1e9), V, atol=1e-6)


@pytest.mark.parametrize("ordered", [False, True])
def test_step_returns_the_loss_of_its_weights(rng, ordered):
    x = rng.normal(size=(20, 5))
    site = site_from_samples(x, demean=False)
    site.begin(np.ones(5), np.arange(5) if ordered else None, None)

    W, loss = site.step(rng.normal(size=(5, 5)), 0.3)

    assert loss == pytest.approx(np.sum((x - x @ W) ** 2) / (2 * len(x)))


def test_site_scores_held_out_samples_only(rng):
    x = rng.normal(size=(9, 3)) + 5
    W = np.triu(rng.normal(size=(3, 3)), k=1)
    site = site_from_samples(x, demean=True)
    site.split(3)

    score = site.score(W, fold=1)

    held_out = x[3:6] - np.delete(x, [3, 4, 5], axis=0).mean(axis=0)
    assert_allclose(score, np.sum((held_out - held_out @ W) ** 2, axis=0))


def test_folds_are_whole_subjects_where_these_are_known(rng):
    subjects = np.repeat([0, 1, 2, 3], [2, 9, 3, 4])

    folds = folds_of(18, 3, subjects)

    assert [sorted(set(subjects[fold])) for fold in folds] == [[0, 1], [2], [3]]
    assert sorted(np.concatenate(folds)) == list(range(18))
    assert [len(fold) for fold in folds_of(18, 3, None)] == [6, 6, 6]
    assert [len(fold) for fold in folds_of(18, 3, subjects // 2)] == [6, 6, 6]


def test_effective_samples_are_counted_within_subjects(rng):
    x = rng.normal(size=(400, 6)).cumsum(axis=0)
    x = x - np.repeat(x.reshape(4, 100, 6).mean(axis=1), 100, axis=0)
    subjects = np.repeat([3, 1, 2, 0], 100)

    told = site_from_samples(x, demean=True, subjects=subjects).describe().n_effective

    assert told == pytest.approx(sum(effective_sample_size(part) for part in np.split(x, 4)))
    assert told < 40


def test_moments_are_known_from_one_answer(samples):
    unlike = [gain * x[:n] for x, gain, n in zip(samples, (1, 9, 0.1), (5, 200, 60), strict=True)]
    sites = LocalSites([site_from_samples(x, demean=True) for x in unlike])

    U = known_moments(sites, sites.describe(), np.ones(len(sites.numbers)), rho=0.05)

    for found, x in zip(U, unlike, strict=True):
        assert_allclose(found, np.cov(x.T, bias=True), rtol=1e-9, atol=1e-9 * x.var())


def test_a_site_that_does_not_tell_its_effective_samples_has_a_typical_share():
    described = [Description(np.ones(2), n, True, told) for n, told in ((80, 20.0), (40, None))]

    assert effective_samples(described).tolist() == [20, 10]
    assert effective_samples(described[1:]).tolist() == [40]


def test_site_describes_itself_by_variances_and_samples(rng):
    x = rng.normal(size=(9, 3)) + 5

    described = site_from_samples(x, demean=True).describe()

    assert_allclose(described.variances, x.var(axis=0))
    assert described.n == 9
    assert described.has_samples
    assert not Site(second_moments(x)).describe().has_samples


def answer_requests(connection, x):
    """Run one site: build it from its own samples, then answer what arrives."""
    site = site_from_samples(x, demean=True)
    while (message := connection.recv()) is not None:
        request, arguments = message
        connection.send(getattr(site, request)(*arguments))


class PipedSites:
    """Sites that live in processes of their own, at the other ends of pipes."""

    def __init__(self, pipes, numbers):
        self._pipes, self.numbers = pipes, tuple(numbers)

    def _ask(self, request, arguments):
        for k, values in zip(self.numbers, arguments, strict=True):
            self._pipes[k].send((request, values))
        return [self._pipes[k].recv() for k in self.numbers]

    def alone(self):
        """Return every site by itself."""
        return [PipedSites(self._pipes, [k]) for k in self.numbers]

    def describe(self):
        """Ask for descriptions."""
        return self._ask("describe", [()] * len(self.numbers))

    def split(self, n_folds):
        """Ask for folds."""
        self._ask("split", [(n_folds,)] * len(self.numbers))

    def begin(self, D, orders, fold):
        """Prepare for steps."""
        self._ask("begin", [(own, order, fold) for own, order in zip(D, orders, strict=True)])

    def step(self, V, rho):
        """Ask for local weights."""
        return self._ask("step", [(v, rho) for v in V])

    def score(self, W, fold):
        """Ask for scores."""
        return self._ask("score", [(w, fold) for w in W])


@pytest.fixture
def remote(samples):
    """Give sites that live in spawned processes."""
    context = multiprocessing.get_context("spawn")
    pipes = [context.Pipe() for _ in samples]
    workers = [
        context.Process(target=answer_requests, args=(theirs, x), daemon=True)
        for (_, theirs), x in zip(pipes, samples, strict=True)
    ]
    for worker in workers:
        worker.start()
    yield PipedSites([ours for ours, _ in pipes], range(len(samples)))
    for (ours, _), worker in zip(pipes, workers, strict=True):
        ours.send(None)
        worker.join(timeout=10)


@pytest.fixture
def local(samples):
    return LocalSites([site_from_samples(x, demean=True) for x in samples])


@pytest.mark.parametrize("settings", [{}, {"penalty": "chain"}, {"lambda2": 0}], ids=str)
def test_separate_processes_give_the_same_bytes(local, remote, settings):
    here, there = (NotearsPFL(**settings).fit_over(sites) for sites in (local, remote))

    assert np.any(here.weights_)
    assert there.weights_.tobytes() == here.weights_.tobytes()
    assert there.candidates_ == here.candidates_


def test_only_weights_and_sums_cross_the_border(samples, monkeypatch):
    crossed = []
    requests = {name for name in vars(Site) if not name.startswith("_")}

    def listening(name, answer):
        def method(self, *arguments):
            crossed.append((name, answer(self, *arguments)))
            return crossed[-1][1]

        return method

    for name in requests:
        monkeypatch.setattr(Site, name, listening(name, getattr(Site, name)))

    NotearsPFL().fit(samples)

    d = samples[0].shape[1]
    assert {request for request, _ in crossed} == {"describe", "split", "begin", "step", "score"}
    for request, answer in crossed:
        if request == "describe":
            assert answer.variances.shape == (d,)
        elif request == "step":
            assert answer[0].shape == (d, d)
            assert isinstance(answer[1], float)
        elif request == "score":
            assert answer.shape == (d,)
        else:
            assert answer is None


@pytest.mark.parametrize("nonsense", [np.nan, 1e160, -1e308])
@pytest.mark.parametrize("lambda2", ["auto", 0])
def test_a_site_that_answers_nonsense_is_named(samples, nonsense, lambda2):
    class BrokenSite(Site):
        def step(self, V, rho):
            return np.full((8, 8), nonsense), 0.0

    sites = [site_from_samples(x, demean=True) for x in samples[:2]]
    sites.append(BrokenSite(second_moments(samples[2], demean=True), samples[2]))

    with pytest.raises(InputError, match=r"sites \[2\]: weights must be finite"):
        NotearsPFL(lambda2=lambda2).fit_over(LocalSites(sites))


def test_every_site_is_asked_by_itself_under_its_own_number(samples):
    few = [x[:n] for x, n in zip(samples, (9, 7, 8), strict=True)]
    sites = LocalSites([site_from_samples(x, demean=True) for x in few], [4, 2, 3])

    alone = sites.alone()

    assert [one.numbers for one in alone] == [(4,), (2,), (3,)]
    assert [one.describe()[0].n for one in alone] == [described.n for described in sites.describe()]
