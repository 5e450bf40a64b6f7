"""Read and write NIfTI images, and write slices of them."""

import gzip
import math
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
from nibabel.filebasedimages import ImageFileError
from nibabel.spatialimages import HeaderDataError, HeaderTypeError
from nibabel.wrapstruct import WrapStructError

from notears_pfl.acquisition import LONGEST_TR, SHORTEST_TR
from notears_pfl.errors import ImageError, MachineError
from notears_pfl.io.atomic import whole_file
from notears_pfl.io.machine import blaming_the_machine

SECONDS = {"sec": 1.0, "msec": 1e-3, "usec": 1e-6}
LARGEST_INT16 = int(np.iinfo(np.int16).max)
# What nibabel, gzip and zlib raise for bytes that are not a whole NIfTI image. An OSError here is
# theirs and has no number: the system's have been handled before.
DAMAGE = (
    EOFError, HeaderDataError, HeaderTypeError, ImageFileError, KeyError, OSError, OverflowError,
    TypeError, ValueError, WrapStructError, struct.error, zlib.error,
)  # fmt: skip
# Largest ratio of unzipped to zipped size.
GROWTH = {".gz": 1032, ".bz2": math.inf, ".zst": math.inf}
CHUNK = 2**20


@dataclass(frozen=True)
class Image:
    """Voxels of shape (nx, ny, nz, …) and their 4 × 4 affine to RAS+ mm.

    ``repetition_time`` is the header's, in seconds; None if it has none.
    """

    data: np.ndarray
    affine: np.ndarray
    repetition_time: float | None = None


def read_image(path: str | Path, *, oriented: bool = False) -> Image:
    """Read a NIfTI image whole; integer images without scaling keep their type.

    If it must be ``oriented``, as a scan must, refuse a header without an orientation: left and
    right would be a guess.
    """
    try:
        with blaming_the_machine(path, "read"):
            image = nib.nifti1.load(path)
            return _checked(image, path, oriented)
    except (ImageError, MachineError):
        raise
    except DAMAGE as error:
        raise _damaged(path, error) from error


def read_bare_image(path: str | Path) -> Image:
    """Read an oriented NIfTI image from a file whose name does not say that it is one."""
    try:
        with blaming_the_machine(path, "read"):
            image = nib.nifti1.Nifti1Image.from_bytes(Path(path).read_bytes())
            return _checked(image, path, oriented=True)
    except (ImageError, MachineError):
        raise
    except DAMAGE as error:
        raise _damaged(path, error) from error


def compress(source: str | Path, path: str | Path) -> None:
    """Copy a file to ``path`` through gzip, the same bytes every time."""
    with (
        whole_file(path) as temporary,
        open(temporary, "wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=0) as zipped,
    ):
        for chunk in _chunks(source):
            zipped.write(chunk)


def read_volume(path: str | Path, *, oriented: bool = False) -> Image:
    """Read an image of one volume, oriented if asked for; refuse one with several."""
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
        Whether to store 16-bit integers with a scale factor: half the space, with rounding errors
        of at most 1/65534 of the largest value.
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


def write_arrays(arrays: Mapping[str, Any], path: str | Path) -> None:
    """Write ``arrays`` by name as a compressed NPZ, the same bytes every time."""
    with whole_file(path) as temporary:
        np.savez_compressed(temporary, **arrays)


def read_arrays(path: str | Path) -> dict[str, np.ndarray] | None:
    """Read the arrays of an NPZ by name; None if the file is empty because its subject failed."""
    if not Path(path).stat().st_size:
        return None
    with np.load(path) as arrays:
        return dict(arrays)


def _chunks(path: str | Path) -> Iterator[bytes]:
    """Read a file piece by piece, so that errors of reading are not taken for errors of writing."""
    with blaming_the_machine(path, "read"), open(path, "rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk


def _checked(image: nib.nifti1.Nifti1Pair, path: str | Path, oriented: bool) -> Image:
    _check_size(image, path)
    data = np.asanyarray(image.dataobj)
    if oriented and not (image.header["sform_code"] or image.header["qform_code"]):
        msg = (
            f"{path}: a stored orientation was needed, but sform_code and qform_code are both 0: "
            "which side is left is unknown. Convert the scan again with a tool that keeps it, such "
            "as dcm2niix."
        )
        raise ImageError(msg)
    return Image(data, np.asarray(image.affine), _repetition_time(image.header))


def _check_size(image: nib.nifti1.Nifti1Pair, path: str | Path) -> None:
    """Refuse a header that declares more voxels than its file can hold.

    Reading them would exhaust the memory, and the machine would be blamed for a damaged file.
    """
    needed = math.prod(map(int, image.shape)) * image.get_data_dtype().itemsize
    voxels = Path(image.file_map["image"].filename or path)
    size = voxels.stat().st_size
    if needed > size * GROWTH.get(voxels.suffix, 1):
        msg = f"its header declares {needed} bytes of voxels, the file has {size} bytes in all"
        raise ImageFileError(msg)


def _repetition_time(header: nib.nifti1.Nifti1Header) -> float | None:
    """Repetition time of the header in seconds; None if it is not plausible.

    Tools that do not know it leave the unit unknown or write 0 or 1, and some write a wrong unit.
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
