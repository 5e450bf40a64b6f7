"""Get the AAL parcellation from its makers, through nilearn."""

from pathlib import Path

from nilearn import datasets

from notears_pfl.errors import DatasetError


def fetch_aal(folder: str | Path | None = None) -> tuple[Path, dict[int, str]]:
    """Download AAL for SPM12, or find it where nilearn keeps it; give the image and its labels.

    Parameters
    ----------
    folder : path, optional
        Where to keep it; nilearn's own folder, ``~/nilearn_data``, if not given.
    """
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
