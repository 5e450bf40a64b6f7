"""Tissue segmentation and intensity bias of a T1w image, estimated together.

log I(x) = μ_k + Σ_j β_j b_j(x) + noise: a mixture of Gaussians over cerebrospinal fluid, grey and
white matter with a smooth bias field, fitted by expectation maximisation (Wells et al. 1996;
Ashburner and Friston 2005). By intensity alone, voxels that are part fluid and part grey matter can
pass for a tissue of their own: once prior probabilities at each voxel are known, means and
deviations are fitted again with these.
"""

from dataclasses import dataclass, replace
from itertools import product
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import zoom

from notears_pfl.errors import SignalError
from notears_pfl.geometry import Floats

# The bias field is smooth: estimate it on voxels of this size, apply it at full resolution.
WORKING_MM = 4.0
# Shortest half wave of the bias field, mm.
CUTOFF_MM = 60.0
# Prior standard deviation of the bias, in log intensity.
BIAS_SPREAD = 0.3
# Smallest standard deviation of a tissue's log intensities.
NARROWEST = 0.01
# Quantiles from which the search for the three tissues starts.
START = (0.02, 0.5, 0.98)
# No tissue is ruled out anywhere.
SMALLEST_PRIOR = 1e-3
N_ITERATIONS = 60
TOLERANCE = 1e-4


@dataclass(frozen=True)
class TissueModel:
    """Means, deviations and shares (3,) of the corrected log intensities, and the bias field."""

    means: Floats
    deviations: Floats
    shares: Floats
    coefficients: Floats
    n_waves: tuple[int, int, int]
    converged: bool

    def bias(self, shape: tuple[int, ...]) -> NDArray[np.float32]:
        """Bias field over a volume of ``shape`` that covers the same space."""
        cube = np.zeros(self.n_waves, dtype=np.float32)
        cube[tuple(np.array(_degrees(self.n_waves)).T)] = self.coefficients
        field = cube
        # In single precision: at 0.67 mm, doubles would take a gigabyte.
        for n, waves in zip(shape, self.n_waves, strict=True):
            field = np.tensordot(field, _cosines(n, waves).astype(np.float32), axes=(0, 1))
        return np.exp(field, out=field)


def fit_tissues(t1w: Floats, mask: NDArray[np.bool_], voxel_mm: Floats) -> TissueModel:
    """Fit the model to the voxels of ``t1w`` (x, y, z) in the brain ``mask``."""
    factors = np.minimum(voxel_mm / WORKING_MM, 1.0)
    coarse = zoom(t1w.astype(np.float32), factors, order=1, grid_mode=True, mode="nearest")
    brain = zoom(mask.astype(np.float32), factors, order=1, grid_mode=True, mode="nearest") > 0.9
    brain &= coarse > 0
    logs = np.log(coarse[brain].astype(float))
    extent_mm = voxel_mm * np.array(t1w.shape)
    n_x, n_y, n_z = (max(1, int(mm / CUTOFF_MM) + 1) for mm in extent_mm)
    basis = _basis(brain, (n_x, n_y, n_z))

    means, deviations, shares = _three_means(logs)
    coefficients: Floats = np.zeros(basis.shape[1])
    previous, converged = -np.inf, False
    for _ in range(N_ITERATIONS):
        corrected = logs - basis @ coefficients
        posterior, likelihood = _posterior(corrected, means, deviations, shares)
        weight = posterior.sum(axis=1)
        shares = weight / weight.sum()
        means, deviations = _moments(corrected, posterior, weight)
        coefficients = _update_bias(logs, basis, posterior, means, deviations)
        if abs(likelihood - previous) < TOLERANCE:
            converged = True
            break
        previous = likelihood
    return TissueModel(means, deviations, shares, coefficients, (n_x, n_y, n_z), converged)


def refit_tissues(model: TissueModel, corrected: Floats, priors: Floats) -> TissueModel:
    """Fit the tissues to ``corrected`` intensities (n,) with ``priors`` (3, n); the bias stays."""
    logs, shares = _logs(corrected, model), np.maximum(priors, SMALLEST_PRIOR)
    means, deviations, previous, converged = model.means, model.deviations, -np.inf, False
    weight: Floats = np.ones(3)
    for _ in range(N_ITERATIONS):
        posterior, likelihood = _posterior(logs, means, deviations, shares)
        weight = posterior.sum(axis=1)
        means, deviations = _moments(logs, posterior, weight)
        if abs(likelihood - previous) < TOLERANCE:
            converged = True
            break
        previous = likelihood
    return replace(
        model,
        means=means,
        deviations=deviations,
        shares=weight / weight.sum(),
        converged=model.converged and converged,
    )


def _moments(logs: Floats, posterior: Floats, weight: Floats) -> tuple[Floats, Floats]:
    means = posterior @ logs / weight
    spread = np.sum(posterior * (logs - means[:, None]) ** 2, axis=1) / weight
    return means, np.sqrt(np.maximum(spread, NARROWEST**2))


def _logs(corrected: Floats, model: TissueModel) -> Floats:
    return np.log(np.maximum(corrected, 1e-6 * np.exp(model.means[1])))


def _three_means(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Find starting values by k-means: means, deviations and shares."""
    if not values.size:
        _refuse(values)
    means: Floats = np.quantile(values, START)
    for _ in range(20):
        nearest = np.searchsorted((means[1:] + means[:-1]) / 2, values)
        counts = np.bincount(nearest, minlength=3)
        if not counts.all():
            _refuse(values)
        means = np.array([values[nearest == k].mean() for k in range(3)])
    deviations = np.array([values[nearest == k].std() for k in range(3)])
    if not np.all(deviations > 0):
        _refuse(values)
    return means, deviations, counts / nearest.size


def _refuse(values: Floats) -> NoReturn:
    span = ", ".join(f"{q:.4g}" for q in np.exp(np.quantile(values, START))) if values.size else ""
    msg = (
        "The brain's intensities must fall into three clusters, of fluid, grey and white matter; "
        f"found {values.size} voxels of {WORKING_MM:g} mm (their 2nd, 50th and 98th percentile: "
        f"{span or 'none'}). The image may be a mask or labels, or its brain was not found: give "
        "the T1w image itself, or leave this subject out."
    )
    raise SignalError(msg)


def tissue_probabilities(
    corrected: Floats, model: TissueModel, priors: Floats | None = None
) -> NDArray[np.float32]:
    """Probabilities (3, n) of CSF, grey and white matter at ``corrected`` intensities (n,).

    ``priors`` (3, n), if given, replace the model's shares.
    """
    shares = model.shares if priors is None else np.maximum(priors, SMALLEST_PRIOR)
    posterior, _ = _posterior(_logs(corrected, model), model.means, model.deviations, shares)
    return posterior.astype(np.float32)


def bias_sentence(program: str) -> str:
    """Methods: the program that corrected the T1w image before all other steps."""
    return f"The T1w image was corrected for intensity bias by {program}."


def tissues_sentence(program: str | None = None) -> str:
    """Methods: how tissues were segmented; the bias field is always our own estimate."""
    if program:
        return (
            "Intensity bias was estimated by expectation maximisation; cerebrospinal fluid, grey "
            f"and white matter were segmented by {program}."
        )
    return (
        "Intensity bias and the shares of cerebrospinal fluid, grey and white matter were "
        "estimated together by expectation maximisation."
    )


def _posterior(
    corrected: Floats, means: Floats, deviations: Floats, shares: Floats
) -> tuple[Floats, float]:
    """Class probabilities (3, n) and the mean log likelihood."""
    distance = (corrected - means[:, None]) / deviations[:, None]
    shares = shares if shares.ndim == 2 else shares[:, None]
    density = shares / deviations[:, None] * np.exp(-0.5 * distance**2) + 1e-300
    # Beyond the outer means, do not let a broad inner class win.
    density[1:, corrected < means[0]] = 1e-300
    density[:-1, corrected > means[-1]] = 1e-300
    total = density.sum(axis=0)
    return density / total, float(np.mean(np.log(total)))


def _update_bias(
    logs: Floats, basis: Floats, posterior: Floats, means: Floats, deviations: Floats
) -> Floats:
    """Weighted least squares of log I - μ on the basis, with a prior on its size."""
    precision = posterior / deviations[:, None] ** 2
    weight = precision.sum(axis=0)
    residual = logs - means @ precision / weight
    weighted = basis * weight[:, None]
    prior = np.mean(weight) / BIAS_SPREAD**2 * np.eye(basis.shape[1])
    coefficients = np.linalg.solve(basis.T @ weighted + prior, weighted.T @ residual)
    # The mean level of the image is not bias.
    coefficients[0] -= (basis @ coefficients).mean() / basis[0, 0]
    return np.asarray(coefficients)


def _degrees(n_waves: tuple[int, int, int]) -> list[tuple[int, ...]]:
    """Numbers of half waves along the axes whose joint frequency is within the cut-off."""
    limits = [max(n - 1, 1) for n in n_waves]
    return [
        degrees
        for degrees in product(*(range(n) for n in n_waves))
        if sum((d / limit) ** 2 for d, limit in zip(degrees, limits, strict=True)) <= 1
    ]


def _cosines(n: int, n_waves: int) -> Floats:
    """Cosines of 0 to n_waves - 1 half waves over n voxels, shape (n, n_waves)."""
    return np.cos(np.pi * np.outer((np.arange(n) + 0.5) / n, np.arange(n_waves)))


def _basis(brain: NDArray[np.bool_], n_waves: tuple[int, int, int]) -> Floats:
    axes = [
        _cosines(n, waves)[index]
        for n, waves, index in zip(brain.shape, n_waves, np.nonzero(brain), strict=True)
    ]
    return np.stack(
        [axes[0][:, i] * axes[1][:, j] * axes[2][:, k] for i, j, k in _degrees(n_waves)], 1
    )
