"""Write the image and the table of regions of an atlas: a ready one, or any labelled image."""

from pathlib import Path

import pandas as pd

from notears_pfl.command.workflow import READY_ATLASES
from notears_pfl.errors import ConfigError, TableError
from notears_pfl.io.images import read_volume, write_image
from notears_pfl.io.tables import read_table, write_table
from notears_pfl.roi.ready import fetch_ready, power_spheres, table_of_regions


def write_atlas(name: str, folder: Path, image: Path | None, labels: Path | None) -> int:
    """Write NAME.nii.gz and NAME.tsv, from a download or from the user's image and labels."""
    if (image is None) != (labels is None) or (image is None and name not in READY_ATLASES):
        msg = (
            f"atlas {name}: known without files are {', '.join(READY_ATLASES)}. For any other, "
            "give both --image and --labels."
        )
        raise ConfigError(msg)
    if image is None and name == "Power264":
        regions, affine, table = power_spheres()
    else:
        if image is not None and labels is not None:
            path = image
            known = _labels(labels)
        else:
            path, known = fetch_ready(name)
        volume = read_volume(path)
        regions, affine = volume.data.astype("int32"), volume.affine
        table = table_of_regions(volume.data, affine, known)
        if left_out := len(known) - len(table):
            print(f"{left_out} labels without a voxel in {path} were left out of the table.")
    folder.mkdir(parents=True, exist_ok=True)
    write_image(regions, affine, folder / f"{name}.nii.gz")
    write_table(table, folder / f"{name}.tsv", index=False)
    print(f"{len(table)} regions: {folder / name}.nii.gz and .tsv")
    return 0


def _labels(path: Path) -> pd.DataFrame:
    """Codes and names of the user's regions, without the background."""
    table = read_table(path)
    missing = [column for column in ("index", "name") if column not in table]
    if missing:
        msg = (
            f"{path}: a list of labels needs the columns index and name; {' and '.join(missing)} "
            f"is missing, the table has {', '.join(map(str, table.columns))}. Rename its columns."
        )
        raise TableError(msg)
    words = table["index"][pd.to_numeric(table["index"], errors="coerce").isna()]
    if len(words):
        msg = (
            f"{path}: the column index must hold the numbers of the image's regions, found "
            f"{words.iloc[0]!r}. Correct the column."
        )
        raise TableError(msg)
    return table.rename(columns={"index": "code"}).query("code > 0")
