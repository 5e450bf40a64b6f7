"""Sites in processes of their own give the same bytes as sites in one process."""

import multiprocessing

import numpy as np
import pytest

from notears_pfl.errors import InputError
from notears_pfl.model.federation import Federation, in_process
from notears_pfl.model.fit import fit_sites
from notears_pfl.model.local import site_from_samples
from notears_pfl.model.options import Options


def answer_requests(connection, x):
    """Run one site: build it from its own samples, then answer what arrives."""
    site = site_from_samples(x, center=True)
    while (message := connection.recv()) is not None:
        request, arguments = message
        connection.send(getattr(site, request)(*arguments))


@pytest.fixture
def remote(samples):
    """Give a transport to sites that live in spawned processes."""
    context = multiprocessing.get_context("spawn")
    pipes = [context.Pipe() for _ in samples]
    workers = [
        context.Process(target=answer_requests, args=(theirs, x), daemon=True)
        for (_, theirs), x in zip(pipes, samples, strict=True)
    ]
    for worker in workers:
        worker.start()

    def transport(request, arguments):
        for k, values in arguments.items():
            pipes[k][0].send((request, values))
        return {k: pipes[k][0].recv() for k in arguments}

    yield transport
    for (ours, _), worker in zip(pipes, workers, strict=True):
        ours.send(None)
        worker.join(timeout=10)


@pytest.mark.parametrize("penalty", ["edgewise", "chain"])
def test_separate_processes_give_the_same_bytes(samples, remote, penalty):
    local = in_process([site_from_samples(x, center=True) for x in samples])
    settings = (len(samples), "auto", "auto", "auto", Options(penalty=penalty))

    here, there = fit_sites(local, *settings), fit_sites(remote, *settings)

    assert np.any(here.weights)
    assert there.weights.tobytes() == here.weights.tobytes()
    assert there.candidates == here.candidates


def test_only_weights_and_sums_cross_the_border(samples):
    crossed = []
    local = in_process([site_from_samples(x, center=True) for x in samples])

    def listening(request, arguments):
        answers = local(request, arguments)
        crossed.append((request, answers))
        return answers

    fit_sites(listening, len(samples), "auto", "auto", "auto", Options())

    d = samples[0].shape[1]
    assert {request for request, _ in crossed} == {"describe", "split", "begin", "step", "score"}
    for request, answers in crossed:
        for answer in answers.values():
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
def test_a_site_that_answers_nonsense_is_named(samples, nonsense):
    local = in_process([site_from_samples(x, center=True) for x in samples])

    def broken(request, arguments):
        answers = local(request, arguments)
        return answers | {2: (np.full((8, 8), nonsense), 0.0)} if request == "step" else answers

    with pytest.raises(InputError, match=r"sites \[2\]: weights must be finite"):
        fit_sites(broken, len(samples), "auto", "auto", "auto", Options())


def test_members_are_asked_in_their_order():
    federation = Federation(lambda request, a: {k: (request, k, *v) for k, v in a.items()}, (4, 2))

    assert federation.ask("step", [("a",), ("b",)]) == [("step", 4, "a"), ("step", 2, "b")]
    assert [alone.members for alone in federation.alone()] == [(4,), (2,)]
