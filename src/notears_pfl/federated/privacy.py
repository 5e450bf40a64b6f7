"""Differential privacy of a site's subjects: noise on U^k, drawn once and reused.

    U = mean_s clip(x_sᵀx_s / n_s) + σ E,   E symmetric with standard normal entries

Two datasets are neighbours if one subject is replaced by another; the number of subjects is
public. A subject's second moments are scaled down to Frobenius norm C if they exceed it, so the
mean changes by at most Δ = 2C/S in Frobenius norm. σ is the smallest value that gives (ε, δ)
(Balle and Wang 2018, theorem 8). Everything that leaves the site is computed from U
(post-processing), so ε and δ hold for all rounds together. A second draw would add to the privacy
loss, so the first one is kept and reused.
"""

import secrets
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

from notears_pfl.errors import FederatedError
from notears_pfl.io.atomic import whole_file
from notears_pfl.model.problem import Array

# Eigenvalues of the noisy moments are raised to at least this fraction of their mean, so that the
# matrix is positive definite.
LEAST_EIGENVALUE = 1e-3


@dataclass(frozen=True)
class Noise:
    """Level of differential privacy: ε, δ, and the norm C to which a subject is clipped."""

    epsilon: float
    delta: float
    clip: float


def failure_probability(sigma: float, sensitivity: float, epsilon: float) -> float:
    """Smallest δ of Gaussian noise: Φ(Δ/2σ − εσ/Δ) − e^ε Φ(−Δ/2σ − εσ/Δ)."""
    a, b = sensitivity / (2 * sigma), epsilon * sigma / sensitivity
    return float(ndtr(a - b) - np.exp(epsilon + log_ndtr(-a - b)))


def noise_level(noise: Noise, sensitivity: float) -> float:
    """Smallest σ for which Gaussian noise is (ε, δ)-private."""

    def excess(log_sigma: float) -> float:
        sigma = sensitivity * np.exp(log_sigma)
        return failure_probability(sigma, sensitivity, noise.epsilon) - noise.delta

    return float(sensitivity * np.exp(brentq(excess, np.log(1e-6), np.log(1e9), xtol=1e-12)))


def sensitivity(noise: Noise, n_subjects: int) -> float:
    """Largest change Δ = 2C/S of the mean when one subject is replaced."""
    return 2 * noise.clip / n_subjects


def private_moments(subjects: list[Array], noise: Noise, rng: np.random.Generator) -> Array:
    """Noisy second moments of subjects' samples, each (n_s, d), made positive definite."""
    moments = [x.T @ x / len(x) for x in subjects]
    clipped = [m * min(1.0, noise.clip / float(np.linalg.norm(m))) for m in moments]
    d = len(clipped[0])
    sigma = noise_level(noise, sensitivity(noise, len(subjects)))
    # The norm of a symmetric matrix counts off-diagonal entries twice, so their variance is halved.
    upper = np.triu(rng.normal(size=(d, d)) * sigma / np.sqrt(2), k=1)
    U = np.mean(clipped, axis=0) + upper + upper.T + np.diag(rng.normal(size=d) * sigma)
    eigenvalues, Q = np.linalg.eigh(U)
    floor = LEAST_EIGENVALUE * max(float(np.mean(np.maximum(eigenvalues, 0.0))), 1e-12)
    return (Q * np.maximum(eigenvalues, floor)) @ Q.T


def cached_moments(subjects: list[Array], noise: Noise, release: str, path: Path) -> Array:
    """Noisy moments saved in ``path``; drawn and saved there the first time.

    ``release`` identifies what the moments are computed from: group, ROIs, scale and data. A
    different release of the same group would disclose more about the same subjects and is refused.
    The draw comes from the system's entropy, never from the study's seed, which the centre knows.
    """
    stated = {"release": release, **asdict(noise)}
    if not path.exists():
        rng = np.random.default_rng(secrets.randbits(128))
        U = private_moments(subjects, noise, rng)
        with whole_file(path) as temporary, temporary.open("wb") as file:
            np.savez(file, U=U, **stated)
    with np.load(path) as kept:
        if any(kept[name].item() != value for name, value in stated.items()):
            msg = (
                f"{path}: noisy moments of this group were released before, with different data or "
                "settings. Request the same release; a second one adds to the privacy loss."
            )
            raise FederatedError(msg)
        return np.asarray(kept["U"])
