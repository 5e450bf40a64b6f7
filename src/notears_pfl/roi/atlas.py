"""The atlas: downloading AAL, regions in the order of the ROI table, and where they are."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import center_of_mass, map_coordinates

from notears_pfl.errors import DatasetError, SignalError
from notears_pfl.geometry import transform

Integers = NDArray[np.integer]

# Largest distance of a region's centre from its coordinate in the table, mm. The coordinates are
# AAL's own; the surrogate's regions end halfway between coordinates and at the brain mask.
FARTHEST_MM = {"surrogate": 15.0}
FARTHEST_AAL_MM = 3.0
# Other atlases called AAL, by their number of regions.
RELATIVES = {90: "AAL without the cerebellum", 120: "AAL2", 166: "AAL3", 170: "AAL3"}
# SHA-256 of files that are known to be AAL.
KNOWN_FILES = {
    "b512dcd3f36b77f56be7a9a038134096e66314b7e8c31d25875b96bcf6991454": (
        "aal.nii.gz of MRIcron, as in Debian's mricron-data 1.2.20211006"
    )
}
REMEDY = "Give the AAL of 116 regions in MNI space, such as aal.nii.gz of MRIcron (mricron-data)"


def fetch_aal(folder: str | Path | None = None) -> tuple[Path, dict[int, str]]:
    """Download AAL for SPM12, or find nilearn's copy of it; return the image and its labels.

    Parameters
    ----------
    folder : path, optional
        Where to keep it; nilearn's own folder, ``~/nilearn_data``, if not given.
    """
    # Late: only the rule that downloads the atlas needs nilearn.
    from nilearn import datasets

    try:
        atlas = datasets.fetch_atlas_aal(version="SPM12", data_dir=folder, verbose=0)
    except Exception as error:
        msg = (
            f"AAL could not be downloaded ({type(error).__name__}: {error}). Run once where there "
            "is a network, or get the file another way (aal.nii.gz of MRIcron; Debian: "
            "mricron-data), and name it in rois.atlas."
        )
        raise DatasetError(msg) from error
    labels = {int(i): str(name) for i, name in zip(atlas.indices, atlas.labels, strict=True)}
    return Path(atlas.maps), {code: name for code, name in labels.items() if code > 0}


def order_regions(
    labels: np.ndarray,
    affine: np.ndarray,
    names: Sequence[str],
    coordinates: Any,
    atlas: str,
    aal_codes: Sequence[int] = (),
) -> tuple[NDArray[np.int16], NDArray[np.float64]]:
    """Renumber the regions from 1, in the order of the ROI table.

    AAL is distributed with codes 1 to 116 and with codes 2001 to 9170. The table assigns a code to
    each region; every region must also lie where the table says.

    Parameters
    ----------
    labels : ndarray of shape (x, y, z)
        Region codes, 0 outside.
    names, coordinates, aal_codes
        Columns of the ROI table.

    Returns
    -------
    labels : ndarray of shape (x, y, z)
    offsets_mm : ndarray of shape (n_rois, 3)
        From each region's coordinate in the table to its centre.
    """
    codes = _codes(labels, names, aal_codes)
    position = np.zeros(max(codes) + 1, dtype=np.int16)
    position[codes] = np.arange(1, len(codes) + 1)
    ordered: NDArray[np.int16] = position[labels.astype(int)]
    centres = np.array(center_of_mass(ordered > 0, ordered, range(1, len(names) + 1)))
    found_mm, table_mm = transform(affine, centres.T).T, np.asarray(coordinates, dtype=float)
    offsets_mm = np.asarray(found_mm - table_mm)
    farthest = FARTHEST_MM.get(atlas, FARTHEST_AAL_MM)
    distances = np.linalg.norm(offsets_mm, axis=1)
    far = [
        f"{name} {mm:.0f} mm" for name, mm in zip(names, distances, strict=True) if mm > farthest
    ]
    mirrored = np.linalg.norm(found_mm * [-1, 1, 1] - table_mm, axis=1)
    if far and np.all(mirrored <= farthest):
        msg = (
            "Left and right are swapped: mirrored, all regions are where the ROI table has them. "
            "The image's affine has lost or gained a sign along x. Correct it or take another."
        )
        raise SignalError(msg)
    if far:
        msg = (
            f"{len(far)} of {len(names)} regions are not where the ROI table has them: "
            f"{', '.join(far)}. {REMEDY}."
        )
        raise SignalError(msg)
    return ordered, offsets_mm


def _codes(labels: np.ndarray, names: Sequence[str], aal_codes: Sequence[int]) -> list[int]:
    """Find the code in the image of every region of the table."""
    found = np.unique(labels)
    if not np.array_equal(found, np.rint(found)) or found[0] < 0:
        msg = f"The image has values such as {found[found % 1 != 0][:3]}, not labels. {REMEDY}."
        raise SignalError(msg)
    present = {int(code) for code in found if code > 0}
    if len(present) != len(names):
        other = RELATIVES.get(len(present))
        looks = f": this is {other}" if other else ""
        msg = f"The image has {len(present)} regions, the ROI table {len(names)}{looks}. {REMEDY}."
        raise SignalError(msg)
    for codes in (list(range(1, len(names) + 1)), list(aal_codes)):
        if present == set(codes):
            return codes
    strange = sorted(present - set(aal_codes))
    msg = (
        f"Labels {strange[:5]} of the image are neither 1 to {len(names)} nor AAL's codes in the "
        f"ROI table (column aal_code). {REMEDY}."
    )
    raise SignalError(msg)


def check_names(found: Mapping[int, str], codes: Sequence[int], names: Sequence[str]) -> None:
    """Refuse labels in which a code has another name than in the ROI table."""
    wrong = [
        f"{code} is {found.get(code, 'missing')!r}, not {name!r}"
        for code, name in zip(codes, names, strict=True)
        if found.get(code) != name
    ]
    if wrong:
        msg = f"{len(wrong)} labels are not AAL's: {'; '.join(wrong[:5])}. {REMEDY}."
        raise SignalError(msg)


def check_digest(sha256: str, wanted: str | None) -> None:
    """Refuse a file that is not the one that ``rois.atlas_sha256`` asks for."""
    if wanted and sha256 != wanted.lower():
        msg = (
            f"The file's SHA-256 is {sha256}, rois.atlas_sha256 asks for {wanted}. Take the file "
            "that was meant, or correct the setting."
        )
        raise SignalError(msg)


def describe_atlas(
    atlas: str, names: Sequence[str], offsets_mm: NDArray[np.float64], sha256: str
) -> dict[str, Any]:
    """Content of the atlas's sidecar; ``sha256`` is the digest of its file."""
    distances = np.linalg.norm(offsets_mm, axis=1)
    return {
        "name": atlas_name(atlas),
        "sha256": sha256,
        "known_file": KNOWN_FILES.get(sha256),
        "codes": {name: code for code, name in enumerate(names, start=1)},
        "largest_offset_mm": float(distances.max()),
        "mean_offset_mm": float(distances.mean()),
        "mean_offset_xyz_mm": [round(float(mm), 4) for mm in offsets_mm.mean(axis=0)],
    }


def atlas_name(atlas: str) -> str:
    """Name of the atlas for the methods text."""
    if atlas == "surrogate":
        return "surrogate parcellation grown from AAL's coordinates"
    return "AAL for SPM12, by nilearn" if atlas == "nilearn" else f"AAL from {atlas}"


def labels_at(labels: Integers, affine: np.ndarray, points: np.ndarray) -> NDArray[np.int32]:
    """Region code of the voxel nearest to each of the world ``points`` (3, n); 0 outside."""
    voxels = transform(np.linalg.inv(affine), points)
    sampled: NDArray[np.int32] = map_coordinates(
        labels.astype(np.int32), voxels, order=0, mode="constant", cval=0
    )
    return sampled
