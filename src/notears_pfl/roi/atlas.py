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

# Largest distance of a region's centre from its coordinate in the table, mm. AAL's coordinates are
# its own centres; the surrogate's regions end halfway between coordinates and at the brain mask;
# the published coordinates of other atlases may be the peaks or seeds of their regions.
FARTHEST_MM = {"AAL": 3.0, "surrogate": 15.0, "other": 10.0}
# Other atlases called AAL, by their number of regions.
RELATIVES = {90: "AAL without the cerebellum", 120: "AAL2", 166: "AAL3", 170: "AAL3"}
# SHA-256 of files that are known to be AAL.
KNOWN_FILES = {
    "b512dcd3f36b77f56be7a9a038134096e66314b7e8c31d25875b96bcf6991454": (
        "aal.nii.gz of MRIcron, as in Debian's mricron-data 1.2.20211006"
    )
}
AAL_REMEDY = (
    "Give the AAL of 116 regions in MNI space, such as aal.nii.gz of MRIcron (mricron-data)"
)
REMEDY = "Take the image and the table of the same atlas (rois.atlas, rois.table)"


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
    family: str,
    codes: Sequence[int] = (),
) -> tuple[NDArray[np.int16], NDArray[np.float64]]:
    """Renumber the regions from 1, in the order of the ROI table.

    AAL is distributed with codes 1 to 116 and with codes 2001 to 9170. The table assigns a code to
    each region; every region must also lie where the table says.

    Parameters
    ----------
    labels : ndarray of shape (x, y, z)
        Region codes, 0 outside.
    names, coordinates, codes
        Columns of the ROI table; without codes, they are 1, 2, …
    family : str
        ``AAL``, ``surrogate`` or ``other``.

    Returns
    -------
    labels : ndarray of shape (x, y, z)
    offsets_mm : ndarray of shape (n_rois, 3)
        From each region's coordinate in the table to its centre.
    """
    remedy = AAL_REMEDY if family == "AAL" else REMEDY
    own = _codes(labels, names, codes, family)
    position = np.zeros(max(own) + 1, dtype=np.int16)
    position[own] = np.arange(1, len(own) + 1)
    ordered: NDArray[np.int16] = position[labels.astype(int)]
    found_mm = region_centres(ordered, affine, range(1, len(names) + 1))
    table_mm = np.asarray(coordinates, dtype=float)
    offsets_mm = np.asarray(found_mm - table_mm)
    farthest = FARTHEST_MM[family]
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
            f"{_listed(far)}. {remedy}."
        )
        raise SignalError(msg)
    return ordered, offsets_mm


def region_centres(
    labels: Integers, affine: np.ndarray, codes: Sequence[int]
) -> NDArray[np.float64]:
    """Centres of mass (n, 3) of the regions with these codes, in world coordinates, mm."""
    centres = np.array(center_of_mass(labels > 0, labels, codes))
    return np.asarray(transform(affine, centres.T).T, dtype=float)


def present_codes(labels: np.ndarray, remedy: str = REMEDY) -> list[int]:
    """Codes of the regions in an image of labels, ascending; refuse other values."""
    found = np.unique(labels)
    if not np.array_equal(found, np.rint(found)) or found[0] < 0:
        strange = found[(found % 1 != 0) | (found < 0)][:3]
        msg = f"The image has values such as {strange}, not labels. {remedy}."
        raise SignalError(msg)
    return [int(code) for code in found if code > 0]


def _codes(
    labels: np.ndarray, names: Sequence[str], codes: Sequence[int], family: str
) -> list[int]:
    """Find the code in the image of every region of the table."""
    counted = list(range(1, len(names) + 1))
    if family != "AAL":
        own = list(codes) or counted
        _check_codes(set(present_codes(labels)), dict(zip(own, names, strict=True)), bool(codes))
        return own
    present = set(present_codes(labels, AAL_REMEDY))
    if len(present) != len(names):
        other = RELATIVES.get(len(present))
        looks = f": this is {other}" if other else ""
        msg = (
            f"The image has {len(present)} regions, the ROI table {len(names)}{looks}. "
            f"{AAL_REMEDY}."
        )
        raise SignalError(msg)
    for possible in (counted, list(codes)):
        if present == set(possible):
            return possible
    strange = sorted(present - set(codes))
    msg = (
        f"Labels {strange[:5]} of the image are neither 1 to {len(names)} nor AAL's codes in the "
        f"ROI table (column aal_code). {AAL_REMEDY}."
    )
    raise SignalError(msg)


def _check_codes(present: set[int], names: Mapping[int, str], has_codes: bool) -> None:
    """Refuse an image in which codes of the table are missing, or that has others."""
    missing = [f"{code} ({name})" for code, name in names.items() if code not in present]
    extra = [str(code) for code in sorted(present - set(names))]
    found = []
    if missing:
        found.append(f"{len(missing)} codes of the ROI table are missing: {_listed(missing)}")
    if extra:
        found.append(f"{len(extra)} codes are not in the table: {_listed(extra)}")
    if found:
        column = "column code" if has_codes else "it has no column code, so 1, 2, … were expected"
        msg = (
            f"The image has {len(present)} regions, the ROI table {len(names)} ({column}). "
            f"{'; '.join(found)}. {REMEDY}, or list all its regions and select fewer (column "
            "selected)."
        )
        raise SignalError(msg)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")


def check_names(found: Mapping[int, str], codes: Sequence[int], names: Sequence[str]) -> None:
    """Refuse labels in which a code has another name than in the ROI table."""
    wrong = [
        f"{code} is {found.get(code, 'missing')!r}, not {name!r}"
        for code, name in zip(codes, names, strict=True)
        if found.get(code) != name
    ]
    if wrong:
        msg = f"{len(wrong)} labels are not AAL's: {'; '.join(wrong[:5])}. {AAL_REMEDY}."
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
    origin: str,
    description: Mapping[str, str],
    names: Sequence[str],
    offsets_mm: NDArray[np.float64],
    sha256: str,
) -> dict[str, Any]:
    """Content of the atlas's sidecar; ``sha256`` is the digest of its file."""
    distances = np.linalg.norm(offsets_mm, axis=1)
    return {
        "name": atlas_name(origin, description),
        "space": description["space"],
        "sha256": sha256,
        "known_file": KNOWN_FILES.get(sha256),
        "codes": {name: code for code, name in enumerate(names, start=1)},
        "largest_offset_mm": float(distances.max()),
        "mean_offset_mm": float(distances.mean()),
        "mean_offset_xyz_mm": [round(float(mm), 4) for mm in offsets_mm.mean(axis=0)],
    }


def atlas_name(origin: str, description: Mapping[str, str]) -> str:
    """Name of the atlas for the methods text."""
    if description["family"] == "surrogate":
        return description["title"]
    if description["family"] == "AAL":
        return "AAL for SPM12, by nilearn" if origin == "nilearn" else f"AAL from {origin}"
    return f"{description['title']}, from {origin}"


def labels_at(labels: Integers, affine: np.ndarray, points: np.ndarray) -> NDArray[np.int32]:
    """Region code of the voxel nearest to each of the world ``points`` (3, n); 0 outside."""
    voxels = transform(np.linalg.inv(affine), points)
    sampled: NDArray[np.int32] = map_coordinates(
        labels.astype(np.int32), voxels, order=0, mode="constant", cval=0
    )
    return sampled
