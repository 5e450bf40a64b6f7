"""Slices that show a subject's brain mask, and how well its images are registered.

The functional and anatomical rules keep them in ``results/preproc/sub-X/figures``, one NPZ of
150 to 300 kB each:

``sub-X_space-T1w_desc-brain_slices.npz``
    The T1w image of the whole head, with the outlines of the brain mask and of white matter.
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

PIXEL_MM = 1.0
# Fields of view about the middle of the brain, mm: of the brain, and of the head with its scalp.
BRAIN_MM, HEAD_MM = np.array([168.0, 208.0, 176.0]), np.array([190.0, 230.0, 200.0])
# Positions of the slices, mm from the middle of the brain; sagittal ones avoid the midline.
OFFSETS_MM = {"axial": (-24.0, 0.0, 24.0), "coronal": (-36.0, 0.0, 32.0), "sagittal": (-36, 4, 36)}
# White is this many times the brain's brightest value, so that outlines stand out in bright tissue.
HEADROOM = 1.2
# Black in a BOLD image, as a share of the brain's median: white and grey matter differ by little.
BOLD_BLACK = 0.4
# The axis perpendicular to a plane, and the axes along its columns and rows.
PLANES = {"axial": (2, 0, 1), "coronal": (1, 0, 2), "sagittal": (0, 1, 2)}
# Middle of the template brain, mm.
TEMPLATE_MIDDLE_MM = np.array([0.0, -18.0, 10.0])


def brain_slices(
    t1w: Floats, affine: Floats, brain: NDArray[np.bool_], tissues: Floats, grid: Grid
) -> Slices:
    """Show the head ``t1w`` (x, y, z) with the edge of ``brain`` (x, y, z).

    ``tissues`` (3, x, y, z) lie on ``grid``.
    """
    middle = np.argwhere(brain).mean(axis=0)
    return _slices(
        transform(affine, middle[:, None])[:, 0],
        HEAD_MM,
        lambda points: sample_volume(t1w, affine, points, 1),
        lambda points: sample_volume(brain.astype(np.float32), affine, points, 1),
        lambda points: sample_volume(tissues[2], grid.affine, points, 1),
    )


def normalisation_slices(
    t1w: Floats, affine: Floats, normalisation: Normalisation, template: BrainTemplate
) -> Slices:
    """Show the brain ``t1w`` (x, y, z), zero outside, in template space."""
    return _slices(
        TEMPLATE_MIDDLE_MM,
        BRAIN_MM,
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
        middle,
        BRAIN_MM,
        lambda points: sample_volume(mean_bold, affine, transform(to_bold, points), 1),
        lambda points: sample_volume(brain, grid.affine, points, 1),
        lambda points: sample_volume(tissues[2], grid.affine, points, 1),
        BOLD_BLACK,
    )


def _slices(
    middle_mm: Floats, extent_mm: Floats, image: Sampler, brain: Sampler, white: Sampler,
    black_share: float = 0.0,
) -> Slices:  # fmt: skip
    """Sample the slices of all planes about a point, rounded to whole millimetres.

    Grey values run from ``black_share`` of the brain's median to above its brightest.
    """
    found, masks = {}, {}
    slices: Slices = {"pixel_mm": np.array(PIXEL_MM)}
    for plane in PLANES:
        points, where = _plane_points(plane, np.round(middle_mm), extent_mm)
        shape = points.shape[1:]
        flat = points.reshape(3, -1)
        found[plane] = image(flat).reshape(shape)
        masks[plane] = np.stack([f(flat).reshape(shape) > 0.5 for f in (brain, white)])
        slices[f"{plane}_mm"] = where
    inside = np.concatenate([found[plane][masks[plane][0]] for plane in PLANES])
    median, brightest = np.percentile(inside, [50, 98]) if inside.size else (0.0, 0.0)
    black = black_share * median
    scale = 255 / max(HEADROOM * brightest - black, 1e-12)
    for plane, values in found.items():
        slices[plane] = np.rint(np.clip(scale * (values - black), 0, 255)).astype(np.uint8)
        outlines = [mask & ~_within(mask) for mask in masks[plane]]
        slices[f"{plane}_outline"] = np.select(outlines, [1, 2]).astype(np.uint8)
    return slices


def _plane_points(plane: str, middle_mm: Floats, extent_mm: Floats) -> tuple[Floats, Floats]:
    """World points (3, slices, rows, columns) of a plane's slices, and their positions."""
    across, along_columns, along_rows = PLANES[plane]
    where = middle_mm[across] + np.array(OFFSETS_MM[plane])
    columns, rows = (
        middle_mm[axis] + np.arange(-extent_mm[axis] / 2, extent_mm[axis] / 2 + 1, PIXEL_MM)
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
