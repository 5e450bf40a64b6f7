"""Noise on U^k: privacy by its definition, and a single draw."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from notears_pfl.errors import FederatedError
from notears_pfl.federated.privacy import (
    Noise,
    cached_moments,
    failure_probability,
    noise_level,
    private_moments,
    sensitivity,
)


@pytest.fixture
def subjects(rng):
    return [rng.normal(size=(50, 4)) * scale for scale in (0.5, 1.0, 2.0, 4.0, 8.0)]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("sigma", [0.3, 1.0, 4.0])
def test_delta_is_the_mass_by_which_one_density_exceeds_the_other(epsilon, sigma):
    def excess(x):
        return max(norm.pdf(x, 2.0, sigma) - np.exp(epsilon) * norm.pdf(x, 0.0, sigma), 0.0)

    expected, _ = quad(excess, -40, 60, limit=2000, points=[0, 2, 5], epsabs=1e-12)

    assert failure_probability(sigma, 2.0, epsilon) == pytest.approx(expected, rel=1e-5, abs=1e-10)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 100.0])
def test_the_noise_is_the_least_that_keeps_the_promise(epsilon):
    noise = Noise(epsilon, 1e-5, 3.0)

    sigma = noise_level(noise, 0.7)

    assert failure_probability(sigma, 0.7, epsilon) == pytest.approx(1e-5, rel=1e-4)
    assert failure_probability(0.99 * sigma, 0.7, epsilon) > 1e-5


def test_no_subject_moves_the_mean_further_than_the_sensitivity(subjects, monkeypatch, rng):
    monkeypatch.setattr("notears_pfl.federated.privacy.noise_level", lambda noise, sensitivity: 0.0)
    noise = Noise(1.0, 1e-5, 2.0)
    U = private_moments(subjects, noise, rng)

    moves = []
    for s in range(len(subjects)):
        for other in (1e-3 * subjects[0], 100 * rng.normal(size=(50, 4))):
            replaced = [*subjects[:s], other, *subjects[s + 1 :]]
            moves.append(np.linalg.norm(private_moments(replaced, noise, rng) - U))

    assert max(moves) <= sensitivity(noise, len(subjects))
    assert max(moves) > 0.3 * sensitivity(noise, len(subjects))


def test_small_subjects_are_not_clipped(rng, monkeypatch):
    monkeypatch.setattr("notears_pfl.federated.privacy.noise_level", lambda noise, sensitivity: 0.0)
    subjects = [rng.normal(size=(50, 4)) for _ in range(3)]

    U = private_moments(subjects, Noise(1.0, 1e-5, 100.0), rng)

    assert np.allclose(U, np.mean([x.T @ x / 50 for x in subjects], axis=0))


def test_noise_has_the_same_strength_in_every_direction(rng):
    """In Frobenius norm, an off-diagonal entry counts twice and has half the variance."""
    noise, d = Noise(50.0, 1e-5, 1.0), 3
    subjects = [np.eye(3) * 30 for _ in range(4)]
    sigma = noise_level(noise, sensitivity(noise, 4))

    draws = np.array([private_moments(subjects, noise, rng) for _ in range(4000)])

    spread = draws.std(axis=0)
    expected = np.where(np.eye(d, dtype=bool), sigma, sigma / np.sqrt(2))
    assert np.allclose(spread, expected, rtol=0.1)
    assert np.allclose(draws, draws.transpose(0, 2, 1))


def test_noisy_moments_are_still_moments(subjects, rng):
    U = private_moments(subjects, Noise(0.1, 1e-6, 5.0), rng)

    assert np.linalg.eigvalsh(U).min() > 0


def test_a_second_request_gets_the_first_draw(subjects, tmp_path):
    noise, path = Noise(1.0, 1e-5, 2.0), tmp_path / "moments.npz"

    first = cached_moments(subjects, noise, "MDD", path)
    second = cached_moments(subjects, noise, "MDD", path)
    elsewhere = cached_moments(subjects, noise, "MDD", tmp_path / "other.npz")

    assert first.tobytes() == second.tobytes()
    assert not np.allclose(first, elsewhere)


@pytest.mark.parametrize(
    ("noise", "release"), [(Noise(2.0, 1e-5, 2.0), "MDD"), (Noise(1.0, 1e-5, 2.0), "other data")]
)
def test_a_second_release_of_the_same_subjects_is_refused(subjects, tmp_path, noise, release):
    path = tmp_path / "moments.npz"
    cached_moments(subjects, Noise(1.0, 1e-5, 2.0), "MDD", path)

    with pytest.raises(FederatedError, match="were released before"):
        cached_moments(subjects, noise, release, path)
