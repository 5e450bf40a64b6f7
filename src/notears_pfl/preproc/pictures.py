"""Slices that show how well two images of a subject are registered.

The functional and anatomical rules keep them in ``results/preproc/sub-X/figures``, one NPZ of
tens of kB per registration:

``sub-X_space-MNI152_desc-T1w_slices.npz``
    The T1w brain normalised to the template, with the template's outlines.
``sub-X_space-T1w_desc-meanBold_slices.npz``
    The mean BOLD image registered to the T1w image, with the outlines of the T1w image's tissues.

For each plane (``axial``, ``coronal``, ``sagittal``) a file holds three arrays:

``<plane>`` : uint8, (slices, rows, columns)
    The image, black to white. Row 0 is the top (front, in axial slices), column 0 the subject's
    left (the back, in sagittal slices): ``imshow(image, cmap="gray")`` shows it upright.
``<plane>_outline`` : uint8, (slices, rows, columns)
    1 on the outline of the brain, 2 on the outline of its white matter, 0 elsewhere.
``<plane>_mm`` : float64, (slices,)
    Positions of the slices along z, y or x, in mm of the space named.

``pixel_mm`` is the edge of a pixel. Framewise displacement, DVARS and motion of every volume are
columns of ``desc-confounds_timeseries.tsv`` and ``desc-motion_timeseries.tsv``; the carpets before
and after cleaning are the ``desc-raw`` and ``desc-clean`` ROI series.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_erosion

from notears_pfl.geometry import Floats, transform
from notears_pfl.preproc.resample import Grid, Normalisation, sample_volume
from notears_pfl.preproc.template import BrainTemplate

Slices = dict[str, NDArray[np.generic]]
Sampler = Callable[[Floats], Floats]

PIXEL_MM = 2.0
# Field of view of a picture about the middle of the brain, mm.
EXTENT_MM = np.array([168.0, 208.0, 176.0])
# Positions of the slices, mm from the middle of the brain; sagittal ones avoid the midline.
OFFSETS_MM = {"axial": (-24.0, 0.0, 24.0), "coronal": (-36.0, 0.0, 32.0), "sagittal": (-36, 4, 36)}
# The axis perpendicular to a plane, and the axes along its columns and rows.
PLANES = {"axial": (2, 0, 1), "coronal": (1, 0, 2), "sagittal": (0, 1, 2)}
# Middle of the template brain, mm.
TEMPLATE_MIDDLE_MM = np.array([0.0, -18.0, 10.0])


def normalisation_slices(
    t1w: Floats, affine: Floats, normalisation: Normalisation, template: BrainTemplate
) -> Slices:
    """Show the brain ``t1w`` (x, y, z), zero outside, in template space."""
    return _slices(
        TEMPLATE_MIDDLE_MM,
        lambda points: sample_volume(t1w, affine, normalisation.to_t1w(points), 1),
        lambda points: sample_volume(template.brain.astype(float), template.affine, points, 1),
        lambda points: sample_volume(template.white, template.affine, points, 1),
    )


def coregistration_slices(
    mean_bold: Floats, affine: Floats, to_bold: Floats, tissues: Floats, grid: Grid
) -> Slices:
    """Show ``mean_bold`` (x, y, z) in T1w space, where ``tissues`` (3, x, y, z) lie on ``grid``.

    ``to_bold`` (4, 4) maps T1w to BOLD coordinates.
    """
    brain = np.sum(tissues, axis=0)
    middle = grid.points() @ brain.ravel() / brain.sum()
    return _slices(
        PIXEL_MM * np.round(middle / PIXEL_MM),
        lambda points: sample_volume(mean_bold, affine, transform(to_bold, points), 1),
        lambda points: sample_volume(brain, grid.affine, points, 1),
        lambda points: sample_volume(tissues[2], grid.affine, points, 1),
    )


def _slices(middle_mm: Floats, image: Sampler, brain: Sampler, white: Sampler) -> Slices:
    """Sample the slices of all planes; grey values run from zero to the brain's brightest."""
    found, masks = {}, {}
    slices: Slices = {"pixel_mm": np.array(PIXEL_MM)}
    for plane in PLANES:
        points, where = _plane_points(plane, middle_mm)
        shape = points.shape[1:]
        flat = points.reshape(3, -1)
        found[plane] = image(flat).reshape(shape)
        masks[plane] = np.stack([f(flat).reshape(shape) > 0.5 for f in (brain, white)])
        slices[f"{plane}_mm"] = where
    inside = np.concatenate([found[plane][masks[plane][0]] for plane in PLANES])
    brightest = max(float(np.percentile(inside, 99.5)) if inside.size else 0.0, 1e-12)
    for plane, values in found.items():
        slices[plane] = np.rint(255 * np.clip(values / brightest, 0, 1)).astype(np.uint8)
        outlines = [mask & ~_within(mask) for mask in masks[plane]]
        slices[f"{plane}_outline"] = np.select(outlines[::-1], [2, 1]).astype(np.uint8)
    return slices


def _plane_points(plane: str, middle_mm: Floats) -> tuple[Floats, Floats]:
    """World points (3, slices, rows, columns) of a plane's slices, and their positions."""
    across, along_columns, along_rows = PLANES[plane]
    where = middle_mm[across] + np.array(OFFSETS_MM[plane])
    columns, rows = (
        middle_mm[axis] + np.arange(-EXTENT_MM[axis] / 2, EXTENT_MM[axis] / 2 + 1, PIXEL_MM)
        for axis in (along_columns, along_rows)
    )
    points: Floats = np.empty((3, len(where), len(rows), len(columns)))
    points[across] = where[:, None, None]
    points[along_columns] = columns
    points[along_rows] = rows[::-1, None]
    return points, where


def _within(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Erode each slice of a stack by one pixel."""
    cross = np.array([[[0, 1, 0], [1, 1, 1], [0, 1, 0]]], dtype=bool)
    return np.asarray(binary_erosion(mask, cross))
