"""ROI means of smoothed data, without smoothing the data.

The mean over a region r of the smoothed image S x is ⟨1_r, S x⟩ / n = ⟨S 1_r, x⟩ / n:
smoothing the regions once replaces smoothing every volume, exactly. Where the field of view
ends (c = 0), S x is divided by S c, so that the zeros outside do not darken the signal inside.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from notears_pfl.roi.atlas import labels_at

Floats = NDArray[np.floating]
Smoother = Callable[[Floats], Floats]
# Words for spaces that are one person's brain.
DRAWN_ON = {"MNIColin27": "on the Colin27 brain (MNIColin27)"}


class Voxels(Protocol):
    """Signals of the voxels near the brain, and the field of view of all volumes."""

    @property
    def series(self) -> NDArray[np.float32]:
        """Signals (volumes, n)."""

    @property
    def near(self) -> NDArray[np.bool_]:
        """Voxels (x, y, z) with signals."""

    @property
    def covered(self) -> NDArray[np.bool_]:
        """Voxels (x, y, z) inside the field of view of every volume and with signal."""

    @property
    def dropout(self) -> NDArray[np.bool_]:
        """Voxels (x, y, z) inside the field of view but without signal."""


def roi_weights(
    labels: NDArray[np.integer], codes: list[int], covered: NDArray[np.bool_], smoother: Smoother
) -> NDArray[np.float32]:
    """Weights (n_rois, x, y, z) that turn an unsmoothed volume into means of the smoothed one.

    Parameters
    ----------
    labels : ndarray of shape (x, y, z)
        Region codes.
    codes : list of int
        Codes of the regions, in the order of the result.
    covered : ndarray of shape (x, y, z)
        Voxels inside the field of view of every volume; only these enter a mean.
    smoother : callable
        Linear and its own adjoint; the identity for no smoothing.
    """
    reach = np.maximum(smoother(covered.astype(np.float32)), 1e-6)
    weights = np.zeros((len(codes), *labels.shape), dtype=np.float32)
    for weight, code in zip(weights, codes, strict=True):
        region = (labels == code) & covered
        if region.any():
            weight[:] = covered * smoother(region / reach) / np.count_nonzero(region)
    return weights


def roi_means(
    series: Floats,
    near: NDArray[np.bool_],
    labels: NDArray[np.integer],
    codes: list[int],
    covered: NDArray[np.bool_],
    smoother: Smoother,
) -> Floats:
    """Means (volumes, n_rois) of the smoothed data; NaN for a region outside the field of view.

    ``series`` (volumes, n) are the unsmoothed signals of the voxels ``near`` (x, y, z).
    """
    weights = roi_weights(labels, codes, covered, smoother)[:, near]
    means = np.asarray(series @ weights.T, dtype=float)
    means[:, ~weights.any(axis=1)] = np.nan
    return means


def roi_signals(
    run: Voxels, points: Floats, atlas: tuple[np.ndarray, Floats], n_rois: int, smoother: Smoother
) -> tuple[Floats, NDArray[np.float64], NDArray[np.float64]]:
    """Means of the smoothed data over every region of an atlas; the regions' coverage and dropout.

    Parameters
    ----------
    run : Voxels
        The unsmoothed data.
    points : ndarray of shape (3, x·y·z)
        World coordinates of the run's voxels, in C order.
    atlas : pair of ndarray
        Region codes, 1 to ``n_rois``, on the atlas's own grid, and its affine.
    """
    labels = labels_at(*atlas, points).reshape(run.near.shape)
    codes = list(range(1, n_rois + 1))
    means = roi_means(run.series, run.near, labels, codes, run.covered, smoother)
    coverage, dropout = (roi_coverage(labels, codes, mask) for mask in (run.covered, run.dropout))
    return means, coverage, dropout


def roi_coverage(
    labels: NDArray[np.integer], codes: list[int], covered: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Share of each region's voxels that a mask such as ``covered`` marks."""
    largest = max(codes) + 1
    whole = np.bincount(labels.ravel(), minlength=largest)[codes]
    seen = np.bincount(labels[covered].ravel(), minlength=largest)[codes]
    return np.divide(seen, whole, out=np.zeros(len(codes)), where=whole > 0)


def roi_methods(atlas: str, atlas_space: str, space: str) -> dict[str, str]:
    """Methods: the sentences on ROI means; ``space`` is that of the images."""
    sentences = {"roi": f"Signals were averaged over the voxels of each region ({atlas})."}
    if atlas_space != space:
        sentences["space"] = space_caution(atlas_space, space)
    return sentences


def space_caution(atlas_space: str, space: str) -> str:
    """Say that atlas and images are in different spaces, or that the atlas's is unknown."""
    if not atlas_space:
        return (
            f"The images are in the space {space}; that of the atlas was not stated (rois.space). "
            "If it is another, regions are a few millimetres off."
        )
    drawn = DRAWN_ON.get(atlas_space, f"in the space {atlas_space}")
    return (
        f"The atlas was drawn {drawn} and was not registered to {space}, the space of the images: "
        "regions may be a few millimetres off."
    )
