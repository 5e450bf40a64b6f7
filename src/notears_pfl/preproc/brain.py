"""Brain extraction: recognise a T1w image that is already stripped, else find the brain.

Brain tissue is brighter than the fluid and bone around it. Eroded until it separates from scalp
and face, the deepest component is the brain; dilated again and closed over the sulci, it is the
brain mask.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_fill_holes, distance_transform_edt, label, zoom

from notears_pfl.errors import SignalError
from notears_pfl.geometry import Floats

Mask = NDArray[np.bool_]

# Foreground of an image that shows only a brain, in ml: a whole head has at least half more.
STRIPPED_ML = (600.0, 2100.0)
# Voxel size for morphology: this, or 1.5 times the image's own if that is larger.
WORKING_MM, WORKING_FACTOR = 2.0, 1.5
BACKGROUND = 0.05
SCALP_MM = 8.0
# From the crown to below the cerebellum, in mm; anything lower is neck.
HEAD_HEIGHT_MM = 165.0
EROSIONS_MM = (2.0, 3.0, 4.0, 5.0, 6.0, 7.0)
CLOSING_MM = 9.0
MARGIN_MM = 1.0


def volume_ml(mask: Mask, voxel_mm: Floats) -> float:
    """Volume of a mask."""
    return float(np.count_nonzero(mask) * np.prod(voxel_mm) / 1000)


def is_stripped(t1w: Floats, voxel_mm: Floats) -> bool:
    """Tell by its foreground volume whether an image shows only a brain or a whole head."""
    low, high = STRIPPED_ML
    return low < volume_ml(_foreground(t1w), voxel_mm) < high


def zero_background(t1w: Floats, voxel_mm: Floats) -> tuple[Floats, bool]:
    """Set a NaN background of an extracted brain, as SPM writes it, to zero.

    Also return whether there was one. Refuse any other value that is not finite.
    """
    bad = ~np.isfinite(t1w)
    n_bad = np.count_nonzero(bad)
    if not n_bad:
        return t1w, False
    around = np.pad(np.isnan(t1w), 1, constant_values=True)
    pieces, _ = label(around)
    outside = (pieces == pieces[0, 0, 0])[1:-1, 1:-1, 1:-1]
    n_inside, filled = np.count_nonzero(bad & ~outside), np.where(bad, 0, t1w)
    if n_inside or not filled.any() or not is_stripped(filled, voxel_mm):
        msg = (
            f"The T1w image needs finite values; {n_bad} of its {t1w.size} voxels have none, "
            f"{n_inside} of them within the head. Only the background of an extracted brain may be "
            "NaN. Convert the image again, or leave this subject out."
        )
        raise SignalError(msg)
    return filled, True


def find_brain(t1w: Floats, affine: Floats) -> Mask:
    """Brain mask of ``t1w`` (x, y, z), on its own grid."""
    voxel_mm = np.linalg.norm(affine[:3, :3], axis=0)
    if not np.isfinite(t1w).all() or not np.ptp(t1w) > 0:
        msg = "The T1w image is constant or not finite. Convert it again."
        raise SignalError(msg)
    if is_stripped(t1w, voxel_mm):
        return np.asarray(binary_fill_holes(_largest_component(_foreground(t1w))))
    working_mm = np.maximum(WORKING_MM, WORKING_FACTOR * voxel_mm)
    factors = np.minimum(voxel_mm / working_mm, 1.0)
    coarse = zoom(t1w.astype(np.float32), factors, order=1, grid_mode=True, mode="nearest")
    back = np.array(t1w.shape) / np.array(coarse.shape)
    found = _deepest_component(coarse, affine @ np.diag([*back, 1.0]))
    fine = zoom(found.astype(np.float32), back, order=1, grid_mode=True, mode="nearest")
    return np.asarray(fine > 0.5)


def brain_sentence(
    already_stripped: bool, background_was_nan: bool, program: str | None = None
) -> str:
    """Methods: how the brain was extracted, or that it came extracted."""
    if not already_stripped:
        by = program or "thresholding and morphology"
        return f"The brain was extracted from the T1w image by {by}."
    as_it_is = "with zero for its missing background" if background_was_nan else "as it is"
    return f"The T1w image was already skull-stripped and was used {as_it_is}."


def _foreground(t1w: Floats) -> Mask:
    bright = float(np.percentile(t1w, 99.5))
    if not bright > 0:
        msg = (
            "The T1w image needs a head of positive intensities; of its voxels, 99.5 % are at or "
            f"below {bright:g}. Convert it again, or leave this subject out."
        )
        raise SignalError(msg)
    return np.asarray(t1w > BACKGROUND * bright)


def _deepest_component(t1w: Floats, affine: Floats) -> Mask:
    voxel_mm = np.linalg.norm(affine[:3, :3], axis=0)
    head = binary_fill_holes(_largest_component(_foreground(t1w)))
    height_mm = np.tensordot(affine[2, :3], np.indices(head.shape), axes=1)
    neck = height_mm < np.percentile(height_mm[head], 99.9) - HEAD_HEIGHT_MM
    depth_mm = distance_transform_edt(head, sampling=voxel_mm)
    tissue = head & ~neck & (t1w > _otsu(t1w[head & ~neck]))
    inside_mm = distance_transform_edt(tissue, sampling=voxel_mm)
    brain = head
    for erosion_mm in EROSIONS_MM:
        pieces, _ = label(inside_mm > erosion_mm)
        weight = np.bincount(pieces.ravel(), weights=depth_mm.ravel() ** 2)
        weight[0] = 0
        core = pieces == np.argmax(weight)
        grown = distance_transform_edt(~core, sampling=voxel_mm) <= erosion_mm
        brain = _largest_component(grown & tissue)
        if np.mean(depth_mm[core] < SCALP_MM) < 0.001:
            break
    return _closed(brain, voxel_mm) & head


def _closed(brain: Mask, voxel_mm: Floats) -> Mask:
    """Close over sulci and ventricles, with a margin for voxels lost to partial volume."""
    pad = int(np.ceil(CLOSING_MM / voxel_mm.min())) + 1
    padded = np.pad(brain, pad)
    near = distance_transform_edt(~padded, sampling=voxel_mm) <= CLOSING_MM
    closed = distance_transform_edt(near, sampling=voxel_mm) > CLOSING_MM - MARGIN_MM
    filled = binary_fill_holes(closed | padded)
    inner = slice(pad, -pad)
    return np.asarray(filled[inner, inner, inner])


def _largest_component(mask: Mask) -> Mask:
    pieces, _ = label(mask)
    sizes = np.bincount(pieces.ravel())
    sizes[0] = 0
    return np.asarray(pieces == np.argmax(sizes))


def _otsu(values: Floats, n_bins: int = 256) -> float:
    """Otsu's threshold: the largest variance between the two classes of ``values``."""
    counts, edges = np.histogram(values, bins=n_bins, range=(0, float(np.percentile(values, 99.5))))
    centres = (edges[1:] + edges[:-1]) / 2
    below = np.cumsum(counts)[:-1]
    total = np.cumsum(counts * centres)
    above = counts.sum() - below
    mean_below = total[:-1] / np.maximum(below, 1)
    mean_above = (total[-1] - total[:-1]) / np.maximum(above, 1)
    return float(centres[np.argmax(below * above * (mean_below - mean_above) ** 2)])
