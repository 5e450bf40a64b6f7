"""The parcellation: its regions in the order of the ROI table, and where they are."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import center_of_mass, map_coordinates

from notears_pfl.errors import SignalError
from notears_pfl.geometry import transform

Integers = NDArray[np.integer]

# A region's centre may lie this far from the table's coordinate, mm. Those are AAL's own; the
# surrogate's regions meet half-way between coordinates and are cut by the brain mask.
FARTHEST_MM = {"surrogate": 15.0}
FARTHEST_AAL_MM = 3.0


def order_regions(
    labels: Integers, affine: np.ndarray, names: Sequence[str], coordinates: Any, atlas: str
) -> tuple[NDArray[np.int16], NDArray[np.float64]]:
    """Give the regions numbers from 1 in the order of the ROI table.

    AAL is distributed with codes 1 to 116 and with codes 2001 to 9170. Either ascends in the
    order of the table; that every region lies where the table says is checked, not assumed.

    Returns
    -------
    labels : ndarray of shape (x, y, z)
    offsets_mm : ndarray of shape (n_rois,)
        Distance of each region's centre from the table's coordinate.
    """
    codes = np.unique(labels[labels > 0])
    if len(codes) != len(names):
        msg = (
            f"The image has {len(codes)} regions, the ROI table {len(names)}. Give the AAL of 116 "
            "regions (not AAL2 or AAL3), such as aal.nii.gz of MRIcron."
        )
        raise SignalError(msg)
    position = np.searchsorted(codes, labels) + 1
    ordered = np.where(labels > 0, position, 0).astype(np.int16)
    centres = np.array(center_of_mass(ordered > 0, ordered, range(1, len(names) + 1)))
    offsets_mm = np.linalg.norm(transform(affine, centres.T).T - np.asarray(coordinates), axis=1)
    far = [
        f"{name} {mm:.0f} mm"
        for name, mm in zip(names, offsets_mm, strict=True)
        if mm > FARTHEST_MM.get(atlas, FARTHEST_AAL_MM)
    ]
    if far:
        msg = (
            f"{len(far)} of {len(names)} regions are not where the ROI table has them: "
            f"{', '.join(far)}. Give the AAL of 116 regions in MNI space."
        )
        raise SignalError(msg)
    return ordered, offsets_mm


def describe_atlas(
    atlas: str, names: Sequence[str], offsets_mm: NDArray[np.float64], sha256: str
) -> dict[str, Any]:
    """Content of the atlas's sidecar; ``sha256`` is the digest of its file."""
    return {
        "name": atlas_name(atlas),
        "sha256": sha256,
        "codes": {name: code for code, name in enumerate(names, start=1)},
        "largest_offset_mm": float(offsets_mm.max()),
        "mean_offset_mm": float(offsets_mm.mean()),
    }


def atlas_name(atlas: str) -> str:
    """Call the parcellation by its name, in words."""
    if atlas == "surrogate":
        return "surrogate parcellation grown from AAL's coordinates"
    return f"AAL from {atlas}"


def labels_at(labels: Integers, affine: np.ndarray, points: np.ndarray) -> NDArray[np.int32]:
    """Region code at each of the world ``points`` (3, n), of the nearest voxel; 0 outside."""
    voxels = transform(np.linalg.inv(affine), points)
    sampled: NDArray[np.int32] = map_coordinates(
        labels.astype(np.int32), voxels, order=0, mode="constant", cval=0
    )
    return sampled
