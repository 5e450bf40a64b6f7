"""Brain extraction: recognise a T1w image that is already stripped, else find the brain.

A template of a whole head, with skull and scalp, is registered to the head: affinely, then by a
warp. It carries the template's brain along. The head's own intensities then correct the surface:
tissue brighter than fluid that is connected to the brain is kept, sulci are closed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import affine_transform, binary_fill_holes, distance_transform_edt, label, zoom

from notears_pfl.errors import SignalError
from notears_pfl.geometry import Floats, about, rigid_matrix, transform
from notears_pfl.preproc.greedy import Registration
from notears_pfl.preproc.resample import (
    Grid,
    Normalisation,
    cropped,
    downsample,
    mean_edge_mm,
    sample_volume,
)
from notears_pfl.preproc.template import HeadTemplate
from notears_pfl.preproc.tissues import TissueModel, fit_tissues

Mask = NDArray[np.bool_]

# Foreground of an image that shows only a brain, in ml: a whole head has at least half more.
STRIPPED_ML = (600.0, 2100.0)
# Foreground: brighter than this share of the brightest voxels. A head is told from noise and
# ringing around it by a higher one.
BACKGROUND, HEAD = 0.05, 0.1
# From the crown to below the cerebellum, in mm; anything lower is neck.
HEAD_HEIGHT_MM = 150.0
# Intensities above this percentile of the head are fat and vessels: clip them.
BRIGHTEST = 98
# Voxels of the affine registration; of the warp: these, or twice the image's own up to those.
AFFINE_MM, WARP_MM, WARP_FACTOR = 4.0, 3.0, 2.0
WARP_ITERATIONS, WARP_SMOOTHING = (80, 50, 8), (3.0, 1.0)
# How far around the brain the heads must match, mm: to bring them together, to match them exactly.
WIDE_MM, NEAR_MM = 40.0, 20.0
# A correlation of the heads above this needs no other start; nods of the head that are tried, in
# degrees.
GOOD_MATCH, NODS_DEG = 0.5, (0.0, -25.0, 25.0)
# Voxels on which the surface is corrected, and room around the brain, mm: the warp may enlarge it.
SURFACE_MM, ROOM_MM = 2.0, 12.0
# The corrected surface lies at most this far outside the template's, mm.
GROWTH_MM = 3.0
# Bridges to the scalp thinner than twice this are cut, except deeper than the second, mm.
BRIDGE_MM, DEEP_MM = 2.5, 8.0
# Sulci narrower than twice this are closed; margin for voxels lost to partial volume, mm.
CLOSING_MM, MARGIN_MM = 8.0, 2.0
# The corrected mask's volume over the template's. Beyond, the correction failed and is not used.
PLAUSIBLE_SHARE = (0.7, 1.3)


@dataclass(frozen=True)
class Brain:
    """Brain mask (x, y, z) on the image's own grid.

    ``start`` (4, 4) is the affine from template to T1w coordinates that was found on the way, if
    any; ``figures`` tell how well the head template matched.
    """

    mask: Mask
    start: Floats | None
    figures: Mapping[str, Any]


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


def stripped_brain(t1w: Floats) -> Brain:
    """Brain mask of an image that shows only a brain: its foreground, without holes."""
    mask = binary_fill_holes(_largest_component(_foreground(t1w)))
    return Brain(np.asarray(mask), None, {})


def find_brain(t1w: Floats, affine: Floats, template: HeadTemplate) -> Brain:
    """Find the brain in a head ``t1w`` (x, y, z)."""
    if not np.isfinite(t1w).all() or not np.ptp(t1w) > 0:
        msg = "The T1w image is constant or not finite. Convert it again."
        raise SignalError(msg)
    t1w = np.maximum(t1w, 0)
    _foreground(t1w)
    start, agreement = _match_heads(t1w, affine, template)
    warp = _warp_head(t1w, affine, template, start)
    volume, grid = _around_brain(*downsample(t1w, affine, SURFACE_MM), start, template)
    depth_mm = _carried_depth(warp, grid, template)
    carried = depth_mm > 0
    corrected = _corrected_surface(volume, depth_mm, grid.voxel_mm)
    share = float(corrected.sum() / max(int(carried.sum()), 1))
    low, high = PLAUSIBLE_SHARE
    found = corrected if low < share < high else carried
    figures = {"head_agreement": round(agreement, 4), "surface_correction": round(share, 4)}
    return Brain(_on_grid(found, grid, t1w.shape, affine), start, figures)


def brain_sentence(
    already_stripped: bool, background_was_nan: bool, program: str | None = None
) -> str:
    """Methods: how the brain was extracted, or that it came extracted."""
    if not already_stripped:
        by = program or (
            "registering a template of the whole head with skull (greedy) and correcting the "
            "surface of its brain by the image's own intensities"
        )
        return f"The brain was extracted from the T1w image by {by}."
    as_it_is = "with zero for its missing background" if background_was_nan else "as it is"
    return f"The T1w image was already skull-stripped and was used {as_it_is}."


def _foreground(t1w: Floats, share: float = BACKGROUND) -> Mask:
    bright = float(np.percentile(t1w, 99.5))
    if not bright > 0:
        msg = (
            "The T1w image needs a head of positive intensities; of its voxels, 99.5 % are at or "
            f"below {bright:g}. Convert it again, or leave this subject out."
        )
        raise SignalError(msg)
    return np.asarray(t1w > share * bright)


def _largest_component(mask: Mask) -> Mask:
    pieces, _ = label(mask)
    sizes = np.bincount(pieces.ravel())
    sizes[0] = 0
    return np.asarray(pieces == np.argmax(sizes))


def _match_heads(t1w: Floats, affine: Floats, template: HeadTemplate) -> tuple[Floats, float]:
    """Affine from template to T1w coordinates, and the correlation of the heads under it.

    The first start puts crown on crown. Where it does not lead to a good match, the head may be
    bent: others nod it.
    """
    fixed, fixed_grid = downsample(template.t1w, template.affine, AFFINE_MM)
    depth_mm = _on_template(template, fixed_grid)
    moving, grid = downsample(t1w, affine, AFFINE_MM)
    start = np.eye(4)
    start[:3, 3] = _crown(moving, grid) - _crown(fixed, fixed_grid)
    fixed, moving = _clipped(fixed), _clipped(moving)
    near = depth_mm > -NEAR_MM
    registration = Registration(
        (fixed, fixed_grid), (moving, grid), {"wide": depth_mm > -WIDE_MM, "near": near}
    )
    points, values = fixed_grid.points()[:, near.ravel()], fixed[near]
    centre = fixed_grid.points()[:, depth_mm.ravel() > 0].mean(axis=1, keepdims=True)
    found: list[tuple[float, Floats]] = []
    for nod in np.radians(NODS_DEG):
        nodded = start @ about(centre, rigid_matrix(np.array([0, 0, 0, nod, 0, 0])))
        matrix = registration.affine(nodded, wide="wide", near="near")
        seen = sample_volume(moving, grid.affine, transform(matrix, points), order=1)
        agreement = float(np.corrcoef(values, seen)[0, 1]) if np.ptp(seen) else -1.0
        found.append((agreement, matrix))
        if agreement > GOOD_MATCH:
            break
    agreement, matrix = max(found, key=lambda match: match[0])
    return matrix, agreement


def _crown(head: Floats, grid: Grid) -> Floats:
    """Top of the head, above the middle of its part that holds the brain."""
    inside = binary_fill_holes(_largest_component(_foreground(head, HEAD)))
    points = transform(grid.affine, np.argwhere(inside).T.astype(float))
    top = np.percentile(points[2], 99.9)
    upper = points[:2, points[2] > top - HEAD_HEIGHT_MM]
    middle = np.percentile(upper, [1, 99], axis=1).mean(axis=0)
    return np.array([*middle, top])


def _clipped(head: Floats) -> Floats:
    brightest = np.percentile(head[_foreground(head, HEAD)], BRIGHTEST)
    return np.asarray(np.clip(head, 0, brightest) / brightest, dtype=np.float32)


def _warp_head(t1w: Floats, affine: Floats, template: HeadTemplate, start: Floats) -> Normalisation:
    working_mm = float(np.clip(WARP_FACTOR * mean_edge_mm(affine), WARP_MM, AFFINE_MM))
    fixed, fixed_grid = downsample(template.t1w, template.affine, working_mm)
    near = _on_template(template, fixed_grid) > -NEAR_MM
    moving, grid = downsample(t1w, affine, working_mm)
    registration = Registration(
        (_clipped(fixed), fixed_grid), (_clipped(moving), grid), {"near": near}
    )
    # Coarse voxels need one level less, or the coarsest would be coarser than the brain's parts.
    iterations = WARP_ITERATIONS[working_mm > WARP_MM :]
    return registration.warp("NCC 3x3x3", iterations, start, WARP_SMOOTHING, mask="near")


def _on_template(template: HeadTemplate, grid: Grid) -> Floats:
    """Depth in the template's brain at the voxels of another grid of the template."""
    depth_mm = sample_volume(template.depth_mm, template.affine, grid.points(), order=1)
    return depth_mm.reshape(grid.shape)


def _around_brain(
    volume: Floats, grid: Grid, start: Floats, template: HeadTemplate
) -> tuple[Floats, Grid]:
    """Crop a volume to the brain that ``start`` places in it, with room for the surface."""
    corners = np.argwhere(template.depth_mm > 0)[::5].T.astype(float)
    voxels = transform(np.linalg.inv(grid.affine) @ start @ template.affine, corners)
    room = ROOM_MM / grid.voxel_mm
    box, affine = cropped(volume, grid.affine, voxels.min(axis=1) - room, voxels.max(axis=1) + room)
    n_x, n_y, n_z = box.shape
    return box, Grid((n_x, n_y, n_z), affine)


def _carried_depth(warp: Normalisation, grid: Grid, template: HeadTemplate) -> Floats:
    """Depth in the template's brain that the warp carries to ``grid``, mm.

    Looked up on every other voxel: both the warp and the depth are smooth.
    """
    n_x, n_y, n_z = (-(-n // 2) + 1 for n in grid.shape)
    coarse = Grid((n_x, n_y, n_z), grid.affine @ np.diag([2.0, 2.0, 2.0, 1.0]))
    where = warp.to_template(coarse.points())
    far = float(template.depth_mm.min())
    depth_mm = sample_volume(template.depth_mm - far, template.affine, where, order=1) + far
    fine = zoom(depth_mm.reshape(coarse.shape), [(2 * n - 1) / n for n in coarse.shape], order=1)
    return np.asarray(fine[: grid.shape[0], : grid.shape[1], : grid.shape[2]])


def _corrected_surface(volume: Floats, depth_mm: Floats, voxel_mm: Floats) -> Mask:
    """Brain by the image's own intensities, at most ``GROWTH_MM`` outside the template's."""
    model = fit_tissues(volume, depth_mm > 0, voxel_mm)
    allowed = depth_mm > -GROWTH_MM
    tissue = allowed & _is_tissue(volume / model.bias(volume.shape), model)
    core = distance_transform_edt(tissue, sampling=voxel_mm) > BRIDGE_MM
    core = _largest_component(core | (tissue & (depth_mm > DEEP_MM)))
    near_core = distance_transform_edt(~core, sampling=voxel_mm) <= BRIDGE_MM + 0.5
    closed = _closed(_largest_component(tissue & near_core), voxel_mm)
    return _largest_component(closed & allowed)


def _is_tissue(corrected: Floats, model: TissueModel) -> Mask:
    """Brighter than fluid, and not as bright as fat."""
    fluid, grey, white = np.exp(model.means)
    lowest = min((fluid + grey) / 2, 0.7 * grey)
    return np.asarray((corrected > lowest) & (corrected < white * np.exp(4 * model.deviations[2])))


def _closed(brain: Mask, voxel_mm: Floats) -> Mask:
    """Close over sulci and ventricles, with a margin for voxels lost to partial volume."""
    pad = int(np.ceil(CLOSING_MM / voxel_mm.min())) + 1
    padded = np.pad(brain, pad)
    near = distance_transform_edt(~padded, sampling=voxel_mm) <= CLOSING_MM
    closed = distance_transform_edt(near, sampling=voxel_mm) > CLOSING_MM - MARGIN_MM
    filled = binary_fill_holes(closed | padded)
    inner = slice(pad, -pad)
    return np.asarray(filled[inner, inner, inner])


def _on_grid(mask: Mask, grid: Grid, shape: tuple[int, ...], affine: Floats) -> Mask:
    to_mask = np.linalg.inv(grid.affine) @ affine
    share = affine_transform(
        mask.astype(np.float32), to_mask[:3, :3], to_mask[:3, 3], output_shape=shape, order=1
    )
    return np.asarray(share > 0.5)
