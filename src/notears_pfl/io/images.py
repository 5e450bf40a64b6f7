"""Read and write NIfTI images."""

import gzip
import math
import shutil
from dataclasses import dataclass
from pathlib import Path

import nibabel as nib
import numpy as np

from notears_pfl.acquisition import LONGEST_TR, SHORTEST_TR
from notears_pfl.errors import ImageError
from notears_pfl.io.atomic import whole_file

SECONDS = {"sec": 1.0, "msec": 1e-3, "usec": 1e-6}
LARGEST_INT16 = int(np.iinfo(np.int16).max)


@dataclass(frozen=True)
class Image:
    """Voxels of shape (nx, ny, nz, …) and where they are: the 4 × 4 affine to RAS+ mm.

    ``repetition_time`` is that of the header in seconds, None where it tells none.
    """

    data: np.ndarray
    affine: np.ndarray
    repetition_time: float | None = None


def read_image(path: str | Path, *, oriented: bool = False) -> Image:
    """Read a NIfTI image whole; integer images without scaling keep their type.

    One that must be ``oriented``, as a scan must, is refused where its header does not say how
    it lies: left and right would be a guess.
    """
    try:
        image = nib.nifti1.load(path)
        data = np.asanyarray(image.dataobj)
    except FileNotFoundError:
        raise
    except Exception as error:
        raise _damaged(path, error) from error
    return _checked(image, data, path, oriented)


def read_bare_image(path: str | Path) -> Image:
    """Read an oriented NIfTI image from a file whose name does not say that it is one."""
    try:
        image = nib.nifti1.Nifti1Image.from_bytes(Path(path).read_bytes())
        data = np.asanyarray(image.dataobj)
    except FileNotFoundError:
        raise
    except Exception as error:
        raise _damaged(path, error) from error
    return _checked(image, data, path, oriented=True)


def compress(source: str | Path, path: str | Path) -> None:
    """Copy a file to ``path`` through gzip, the same bytes every time."""
    with (
        whole_file(path) as temporary,
        open(source, "rb") as plain,
        open(temporary, "wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=0) as zipped,
    ):
        shutil.copyfileobj(plain, zipped)


def read_volume(path: str | Path, *, oriented: bool = False) -> Image:
    """Read one volume, oriented if need be; an image with several is refused."""
    image = read_image(path, oriented=oriented)
    first = image.data.shape[:3]
    data = image.data.reshape(first) if image.data.size == math.prod(first) else image.data
    if data.ndim != 3 or min(data.shape) < 2:
        msg = f"{path}: one volume was needed, the shape is {image.data.shape}. Give a 3D image."
        raise ImageError(msg)
    return Image(data=data, affine=image.affine)


def write_image(
    data: np.ndarray,
    affine: np.ndarray,
    path: str | Path,
    *,
    repetition_time: float | None = None,
    vectors: bool = False,
    compact: bool = False,
) -> None:
    """Write ``data`` as NIfTI, in scanner space, the same bytes every time.

    Parameters
    ----------
    data : ndarray of shape (nx, ny, nz[, n_volumes]) or, for vectors, (nx, ny, nz, 3)
        Voxels, stored in their own type; booleans as bytes.
    affine : ndarray of shape (4, 4)
        To RAS+ mm.
    path : path
        Ends in ``.nii`` or ``.nii.gz``.
    repetition_time : float, optional
        Seconds between volumes.
    vectors : bool
        Whether the last axis holds the components of a displacement.
    compact : bool
        Whether to store whole numbers up to 32767 and the factor between them and the values,
        which keeps a share of 1/65534 of the largest, whatever the unit, in half the space.
    """
    if data.dtype == bool:
        data = data.astype(np.uint8)
    factor = 1.0
    if compact:
        factor = float(np.abs(data).max()) / LARGEST_INT16 or 1.0
        data = np.rint(data / factor).astype(np.int16)
    image = nib.nifti1.Nifti1Image(data[:, :, :, None, :] if vectors else data, affine)
    image.set_sform(affine, code=1)
    image.set_qform(affine, code=1)
    image.header.set_xyzt_units("mm", "sec" if repetition_time else "unknown")
    if repetition_time:
        image.header.set_zooms((*image.header.get_zooms()[:3], repetition_time))
    if vectors:
        image.header.set_intent("vector")
    image.header.set_slope_inter(factor, 0)
    with whole_file(path) as temporary:
        nib.save(image, temporary)


def _checked(
    image: nib.nifti1.Nifti1Pair, data: np.ndarray, path: str | Path, oriented: bool
) -> Image:
    if oriented and not (image.header["sform_code"] or image.header["qform_code"]):
        msg = (
            f"{path}: a stored orientation was needed, but sform_code and qform_code are both 0: "
            "which side is left is unknown. Convert the scan again with a tool that keeps it, such "
            "as dcm2niix."
        )
        raise ImageError(msg)
    return Image(data, np.asarray(image.affine), _repetition_time(image.header))


def _repetition_time(header: nib.nifti1.Nifti1Header) -> float | None:
    """Seconds between volumes by the header, None where it cannot be believed.

    Tools that do not know it leave the unit unknown or write 0 or 1, and some name a wrong unit.
    """
    unit, sizes = header.get_xyzt_units()[1], header.get_zooms()
    if unit not in SECONDS or len(sizes) < 4:
        return None
    seconds = round(float(sizes[3]) * SECONDS[unit], 6)
    return seconds if SHORTEST_TR <= seconds < LONGEST_TR and seconds != 1 else None


def _damaged(path: str | Path, error: Exception) -> ImageError:
    return ImageError(
        f"{path}: cannot be read as a NIfTI image ({error}). "
        "The file is truncated or damaged: copy or convert it again."
    )
