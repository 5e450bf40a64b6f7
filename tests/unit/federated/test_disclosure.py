"""What the centre can learn: documented attacks that work, and one that is refused."""

import numpy as np
import pytest

from notears_pfl import NotearsPFL
from notears_pfl.federated.message_kinds import PREPARATIONS
from notears_pfl.federated.messages import Message, decode, encode
from notears_pfl.federated.privacy import Noise, private_moments
from notears_pfl.federated.site_data import LoadedSite
from notears_pfl.model.federation import Site, site_from_samples
from notears_pfl.model.problem import Moments, second_moments


def reconstructed(W, variances, D, rho):
    """Covariance of a site from one answer to V = 0, and its variances.

    The answer is W = I − P diag(1/P_jj) with P = (U + ρD)⁻¹, so (I − W)⁻¹ = diag(P_jj) (U + ρD),
    and the diagonal of U gives P_jj.
    """
    inverse = np.linalg.inv(np.eye(len(W)) - W)
    scale = (variances + rho * D) / np.diag(inverse)
    return scale[:, None] * inverse - rho * np.diag(D)


def moments_of(x):
    return second_moments(x, demean=True).U


def test_a_centre_that_only_listens_gets_every_covariance_from_the_first_round(five_hospitals):
    """An ordinary fit is enough: its first round has V = 0."""
    seen = {}
    exchange = five_hospitals.exchange

    def listening(bundles):
        answers = exchange(bundles)
        for name, bundle in bundles.items():
            pairs = zip(decode(bundle), decode(answers[name]), strict=True)
            for (request, _), (answer, _) in pairs:
                seen.setdefault((name, request.kind), (request.values, answer.values[0]))
        return answers

    five_hospitals.exchange = listening
    courier = five_hospitals.courier()
    NotearsPFL(kappa=1.0, max_rounds=1, progress=False).fit_over(courier.sites)

    for name, x in zip(five_hospitals.names, five_hospitals.samples, strict=True):
        _, description = seen[name, "describe"]
        (D, _, _), _ = seen[name, "begin"]
        (V, rho), (W, _) = seen[name, "step"]
        assert not V.any()
        found = reconstructed(W, description.variances, D, rho)
        assert np.abs(found - moments_of(x)).max() < 1e-10


@pytest.fixture
def asked(hospitals):
    """Return a function that repeats the same request to a site."""
    border, D = hospitals.borders["S0"], np.ones(8)
    plan, begin = Message("plan", 0, 1, (hospitals.plan,)), Message("begin", 0, 2, (D, None, None))
    border.handle(encode(plan) + encode(begin))

    def ask():
        question = encode(Message("step", 1, 2, (np.zeros((8, 8)), 0.5)))
        ((answer, _),) = decode(border.handle(question))
        return answer.values[0][0]

    return ask


def test_fresh_noise_in_every_round_averages_out(hospitals, asked, rng):
    """A site adds fresh noise, standard deviation 0.05, to W; 900 rounds remove most of it."""
    U = moments_of(hospitals.samples[0])
    answers = [asked() + rng.normal(size=(8, 8)) * 0.05 for _ in range(900)]

    errors = []
    for n_rounds in (1, 30, 900):
        mean = np.mean(answers[:n_rounds], axis=0)
        found = reconstructed(mean, np.diag(U), np.ones(8), 0.5)
        errors.append(np.linalg.norm(found - U) / np.linalg.norm(U))

    assert errors[0] > 0.05
    assert errors[1] < errors[0] / 2
    assert errors[2] < errors[0] / 10


def test_noise_that_is_drawn_once_does_not_average_out(hospitals, rng):
    """The site computes every answer from the same noisy U, so repeats reveal nothing new."""
    x = hospitals.samples[0]
    noisy = private_moments(np.array_split(x, 6), Noise(20.0, 1e-5, 10.0), rng)
    site = Site(Moments(noisy, len(x)))
    site.begin(np.ones(8), None, None)

    found = [
        reconstructed(site.step(np.zeros((8, 8)), rho)[0], np.diag(noisy), np.ones(8), rho)
        for rho in (0.1, 0.5, 2.0)
    ]

    assert all(np.allclose(one, noisy) for one in found)
    assert np.linalg.norm(noisy - moments_of(x)) > 0.1


def test_one_round_of_an_ordinary_site_is_exact(rng):
    x = rng.normal(size=(40, 6)) @ rng.normal(size=(6, 6))
    site, D = site_from_samples(x, demean=True), rng.uniform(0.5, 2.0, size=6)
    site.begin(D, None, None)

    W, _ = site.step(np.zeros((6, 6)), 0.3)

    found = reconstructed(W, site.describe().variances, D, 0.3)
    assert np.allclose(found, moments_of(x), rtol=1e-9)


@pytest.fixture
def border(hospitals, rng):
    """Give a border with 21 subjects of a hundred volumes each: thirds have seven subjects."""
    subjects = [rng.normal(size=(100, 8)) @ rng.normal(size=(8, 8)) for _ in range(21)]
    hospitals.samples[0] = np.concatenate([x - x.mean(axis=0) for x in subjects])
    hospitals.start("S0")
    hospitals.borders["S0"].handle(encode(Message("plan", 0, 1, (hospitals.plan,))))
    return hospitals.borders["S0"]


def answer_to(border, kind, *values):
    """Answer of a site to a request that assumes all earlier preparations."""
    basis = border._basis + (kind in PREPARATIONS)
    ((answer, _),) = decode(border.handle(encode(Message(kind, 1, basis, values))))
    return answer


def moments_without(border, fold, variances):
    answer_to(border, "begin", np.ones(8), None, fold)
    W, _ = answer_to(border, "step", np.zeros((8, 8)), 0.5).values[0]
    return reconstructed(W, variances, np.ones(8), 0.5)


def test_folds_that_single_out_subjects_are_refused(border):
    """With 21 folds, subtracting the rest from the whole gives one subject's exact covariance."""
    answers = {folds: answer_to(border, "split", folds) for folds in range(2, 101)}

    assert [n for n, answer in answers.items() if answer.kind == "answer"] == [3]
    assert answers[21].kind == "refusal"
    assert "allows 3 folds and no other number; found 21" in answers[21].values[0]


def test_agreed_messages_reveal_sums_over_thirds_and_nothing_smaller(border, hospitals):
    x = hospitals.samples[0]
    thirds, n = np.array_split(x, 3), len(x)
    variances = answer_to(border, "describe").values[0].variances
    answer_to(border, "split", 3)

    for fold, third in enumerate(thirds):
        squares = answer_to(border, "score", np.zeros((8, 8)), fold).values[0]
        rest = moments_without(border, fold, (n * variances - squares) / (n - len(third)))
        held_out = n * moments_without(border, None, variances) - (n - len(third)) * rest
        assert np.allclose(held_out, third.T @ third, rtol=1e-6)

    # Only sums over thirds can be requested; adding or subtracting them never separates subjects
    # of the same third.
    owners = np.array_split(np.repeat(np.arange(21), 100), 3)
    assert [len(set(part)) for part in owners] == [7, 7, 7]
    assert answer_to(border, "begin", np.ones(8), None, 3).kind == "refusal"


def test_a_site_with_noise_reveals_no_parts(hospitals):
    border = hospitals.borders["S0"]
    counts = {"subjects": 8, "samples": 300, "effective_samples": None, "noise": {}}
    border._load = lambda plan: LoadedSite(Site(Moments(np.eye(8), 300)), counts)
    border.handle(encode(Message("plan", 0, 1, (hospitals.plan,))))

    answer = answer_to(border, "split", 3)

    assert answer.kind == "refusal"
    assert "this site has no folds" in answer.values[0]
