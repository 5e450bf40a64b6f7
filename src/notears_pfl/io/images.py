"""Read and write NIfTI images, read their headers alone, and write slices of them."""

import contextlib
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
from nibabel.imageglobals import LoggingOutputSuppressor
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


@dataclass(frozen=True)
class Header:
    """What a NIfTI header says of its image.

    Parameters
    ----------
    shape : tuple of int
        Number of voxels along each axis, and of volumes.
    affine : ndarray of shape (4, 4)
        To RAS+ mm: the sform if there is one, else the qform.
    sform, qform : ndarray of shape (4, 4), optional
        The two stored orientations; None if not set, or if a qform is no rotation.
    codes : tuple of int
        Space of the sform and of the qform: 0 if not set, 1 for the scanner's.
    repetition_time : float, optional
        Seconds; None if the header has no plausible one.
    """

    shape: tuple[int, ...]
    affine: np.ndarray
    sform: np.ndarray | None
    qform: np.ndarray | None
    codes: tuple[int, int]
    repetition_time: float | None


def read_image(path: str | Path, *, oriented: bool = False) -> Image:
    """Read a NIfTI image whole; integer images without scaling keep their type.

    If it must be ``oriented``, as a scan must, refuse a header without an orientation: left and
    right would be a guess.
    """
    with _refusing_damage(path):
        return _checked(nib.nifti1.load(path), path, oriented)


def read_bare_image(path: str | Path) -> Image:
    """Read an oriented NIfTI image from a file whose name does not say that it is one."""
    with _refusing_damage(path):
        image = nib.nifti1.Nifti1Image.from_bytes(Path(path).read_bytes())
        return _checked(image, path, oriented=True)


def read_header(path: str | Path, *, bare: bool = False) -> Header:
    """Read what the header of a NIfTI image says; of its voxels, only check that they may be there.

    The name of a ``bare`` file does not say that it is an image.
    """
    # What nibabel repairs in a header is in the log of the job that reads the image.
    with _refusing_damage(path), LoggingOutputSuppressor():
        # A pipe in its place would wait for ever.
        if not Path(path).is_file():
            msg = "it is no file"
            raise ImageFileError(msg)
        if bare:
            with open(path, "rb") as file:
                image = nib.nifti1.Nifti1Image.from_stream(file)
        else:
            image = nib.nifti1.load(path)
        _check_size(image, path)
        header = image.header
        qform = None
        # Rounding can spoil the rotation of a qform; a stored sform is then used alone.
        with contextlib.suppress(HeaderDataError):
            qform = header.get_qform(coded=True)[0]
        return Header(
            shape=tuple(map(int, image.shape)),
            affine=np.asarray(image.affine),
            sform=header.get_sform(coded=True)[0],
            qform=qform if qform is not None and np.isfinite(qform).all() else None,
            codes=(int(header["sform_code"]), int(header["qform_code"])),
            repetition_time=_repetition_time(header),
        )


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
    data = image.data.reshape(volume_shape(image.data.shape, path))
    return Image(data=data, affine=image.affine)


def volume_shape(shape: tuple[int, ...], path: str | Path) -> tuple[int, ...]:
    """Shape (nx, ny, nz) of an image of one volume; refuse an image with several, or a slice."""
    first = shape[:3]
    if len(first) < 3 or min(first) < 2 or math.prod(shape) != math.prod(first):
        msg = f"{path}: one volume was needed, the shape is {shape}. Give a 3D image."
        raise ImageError(msg)
    return first


def check_orientation(codes: tuple[int, int], path: str | Path) -> None:
    """Refuse a scan whose header stores no orientation: left and right would be a guess."""
    if not any(codes):
        msg = (
            f"{path}: a stored orientation was needed, but sform_code and qform_code are both 0: "
            "which side is left is unknown. Convert the scan again with a tool that keeps it, such "
            "as dcm2niix."
        )
        raise ImageError(msg)


def axes(affine: np.ndarray) -> str:
    """Directions of the three axes: RAS if they go right, forwards and up; ? for no direction."""
    return "".join(code or "?" for code in nib.orientations.aff2axcodes(affine))


def write_image(
    data: np.ndarray,
    affine: np.ndarray,
    path: str | Path,
    *,
    repetition_time: float | None = None,
    vectors: bool = False,
    step: float | None = None,
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
    step : float, optional
        Stores 16-bit integers with a scale factor: values are rounded to multiples of ``step``, or
        of the largest value / 32767 if that is more. Rounded noise takes little space. An image
        with values that are not finite is stored as it is.
    """
    if data.dtype == bool:
        data = data.astype(np.uint8)
    factor = 1.0
    if step is not None and np.isfinite(data).all():
        factor = max(step, float(np.abs(data).max()) / LARGEST_INT16) or 1.0
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


def image_in_memory(data: np.ndarray) -> nib.nifti2.Nifti2Image:
    """Image without a file, for libraries that take images in place of arrays."""
    return nib.nifti2.Nifti2Image(data, np.eye(4))


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
    if oriented:
        check_orientation((image.header["sform_code"], image.header["qform_code"]), path)
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


@contextlib.contextmanager
def _refusing_damage(path: str | Path) -> Iterator[None]:
    """Refuse a file whose bytes are not a whole NIfTI image, unless the machine failed."""
    try:
        with blaming_the_machine(path, "read"):
            yield
    except (ImageError, MachineError):
        raise
    except DAMAGE as error:
        msg = (
            f"{path}: cannot be read as a NIfTI image ({error}). "
            "The file is truncated or damaged: copy or convert it again."
        )
        raise ImageError(msg) from error
