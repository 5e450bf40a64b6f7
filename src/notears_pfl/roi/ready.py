"""Atlases that nilearn knows, and the table of regions of any labelled image."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from notears_pfl.errors import DatasetError, SignalError
from notears_pfl.geometry import transform
from notears_pfl.names import abbreviation
from notears_pfl.roi.atlas import present_codes, region_centres

# The grid of the 2 mm image of MNI152 in FSL, and the spheres of Power et al. 2011.
GRID_SHAPE, GRID_AFFINE = (91, 109, 91), np.diag([2.0, 2.0, 2.0, 1.0])
GRID_AFFINE[:3, 3] = [-90, -126, -72]
SPHERE_MM = 5.0
# Regions this near to the middle are on neither side, mm.
MIDDLE_MM = 3.0


def fetch_ready(name: str, folder: str | Path | None = None) -> tuple[Path, pd.DataFrame]:
    """Download an atlas, or find nilearn's copy; return its image and labels.

    Parameters
    ----------
    name : str
        ``AAL3`` or ``Schaefer`` and a number of parcels.
    folder : path, optional
        Where to keep it; nilearn's own folder, ``~/nilearn_data``, if not given.

    Returns
    -------
    image : path
    labels : DataFrame
        ``code`` and ``name`` of every region, without the background.
    """
    # Late: only those who want an atlas need nilearn.
    from nilearn import datasets

    options: dict[str, Any] = {"data_dir": folder, "verbose": 0}
    try:
        if name == "AAL3":
            atlas = datasets.fetch_atlas_aal(version="3v2", **options)
        else:
            n = int(name.removeprefix("Schaefer"))
            atlas = datasets.fetch_atlas_schaefer_2018(n_rois=n, resolution_mm=2, **options)
    except Exception as error:
        msg = (
            f"{name} could not be downloaded ({type(error).__name__}: {error}). Run once where "
            "there is a network, or get the image and the list of its labels another way and name "
            "them (--image, --labels)."
        )
        raise DatasetError(msg) from error
    labels = pd.DataFrame({"code": atlas.lut["index"].astype(int), "name": atlas.lut["name"]})
    return Path(atlas.maps), labels[labels["code"] > 0].reset_index(drop=True)


def power_spheres() -> tuple[NDArray[np.int16], NDArray[np.float64], pd.DataFrame]:
    """Spheres around the 264 coordinates of Power et al. 2011, which nilearn ships.

    Returns
    -------
    labels : ndarray of shape (91, 109, 91)
    affine : ndarray of shape (4, 4)
    table : DataFrame
        Table of regions, with the published coordinates.
    """
    from nilearn import datasets

    rois = datasets.fetch_coords_power_2011().rois
    coordinates, numbers = rois[["x", "y", "z"]].to_numpy(dtype=float), rois["roi"].tolist()
    labels = spheres(coordinates, SPHERE_MM, GRID_SHAPE, GRID_AFFINE)
    names = pd.DataFrame({"code": numbers, "name": [f"Power {n}" for n in numbers]})
    return labels, GRID_AFFINE, _table(names, coordinates)


def spheres(
    coordinates: NDArray[np.floating], radius_mm: float, shape: Sequence[int], affine: np.ndarray
) -> NDArray[np.int16]:
    """Image of spheres around coordinates (n, 3): voxels by the nearest one, numbered from 1."""
    labels = np.zeros(tuple(shape), dtype=np.int16)
    nearest = np.full(labels.shape, np.inf)
    voxels = np.indices(labels.shape).reshape(3, -1)
    points = transform(affine, voxels.astype(float))
    for number, centre in enumerate(coordinates, start=1):
        distance = np.linalg.norm(points - centre[:, None], axis=0).reshape(labels.shape)
        inside = (distance <= radius_mm) & (distance < nearest)
        labels[inside], nearest[inside] = number, distance[inside]
    return labels


def table_of_regions(image: np.ndarray, affine: np.ndarray, labels: pd.DataFrame) -> pd.DataFrame:
    """Table of the regions of an image: coordinates are their centres.

    Parameters
    ----------
    image : ndarray of shape (x, y, z)
        Region codes, 0 outside.
    labels : DataFrame
        ``code`` and ``name``; ``network`` or ``lobe``, if known. Names such as
        ``7Networks_LH_Vis_1`` give the network.

    Returns
    -------
    DataFrame
        Columns of a table of regions, without ``selected``.
    """
    present, known = present_codes(image), set(labels["code"])
    unnamed = sorted(set(present) - known)
    if unnamed:
        msg = (
            f"{len(unnamed)} of the image's {len(present)} codes have no name in the list of "
            f"labels, such as {unnamed[:5]}. Take the list of the same atlas."
        )
        raise SignalError(msg)
    found = labels[labels["code"].isin(present)].reset_index(drop=True)
    centres = region_centres(image, affine, found["code"].tolist())
    return _table(found, centres)


def _table(labels: pd.DataFrame, coordinates: NDArray[np.floating]) -> pd.DataFrame:
    """Columns of a table of regions from their codes, names and coordinates (n, 3)."""
    networks = labels["name"].str.extract(r"^\d+Networks_[LR]H_([A-Za-z]+)")[0]
    table = pd.DataFrame({
        "index": range(1, len(labels) + 1),
        "abbreviation": labels["name"].map(abbreviation),
        "name": labels["name"],
    })  # fmt: skip
    x = coordinates[:, 0]
    sides = np.select([x < -MIDDLE_MM, x > MIDDLE_MM], ["Left", "Right"], "Midline")
    for column in ("network", "lobe"):
        if column in labels:
            table[column] = labels[column]
    if not {"network", "lobe"} & set(table):
        if networks.notna().all():
            table["network"] = networks
        else:
            table["lobe"] = sides
    table[["x", "y", "z"]] = coordinates.round(2)
    return table.assign(code=labels["code"])
