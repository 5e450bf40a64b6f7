"""Check the headers of a study's images, against sidecars too, before any job starts."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

from notears_pfl.acquisition import check_slice_times
from notears_pfl.errors import MachineError, PflError
from notears_pfl.io.failures import naming
from notears_pfl.io.images import Header, axes, check_orientation, read_header, volume_shape
from notears_pfl.io.machine import blaming_the_machine
from notears_pfl.io.sidecars import check_header, read_timing
from notears_pfl.study.srpbs_to_bids import height_of_slices, ordered_volumes

# Edges of voxels, mm: wide enough for any scan of a head, 7 T or thick slices with gaps, and for
# the coarsest phantom (12 mm). Beyond them, lengths are in another unit.
T1W_EDGES_MM, BOLD_EDGES_MM = (0.3, 7.0), (0.5, 15.0)
# Smallest field of view of a T1w image, mm: a head is wider, even an infant's.
SMALLEST_HEAD_MM = 100.0
# Largest distance between sform and qform at a corner, mm: farther apart, atlas regions are missed.
SAME_PLACE_MM = 5.0
# Smallest volume of a voxel, as a share of a box with the same edges: 1 for right angles.
FLATTEST_VOXEL = 0.1
# Volumes that must be left once the first ones are discarded.
FEWEST_VOLUMES = 3


class HeaderChecks:
    """Problems that image headers show; each header is read once.

    Parameters
    ----------
    drop_volumes : int
        Volumes that are discarded at the start of a run (``preproc.drop_volumes``).
    needs_slice_times : bool
        Whether slice timing is corrected (``preproc.slice_timing``).
    """

    def __init__(self, drop_volumes: int, needs_slice_times: bool) -> None:
        self.drop_volumes = drop_volumes
        self.needs_slice_times = needs_slice_times
        self._found: dict[str, list[str]] = {}

    def t1w(self, path: str) -> list[str]:
        """Problems of a T1w image."""
        return self._once(path, lambda: t1w_problems(read_header(path), path))

    def bold(self, path: str, sidecars: Sequence[str]) -> list[str]:
        """Problems of a BOLD run, without its timing if there are no ``sidecars``."""

        def look() -> Iterator[str]:
            header = read_header(path)
            yield from bold_problems(header, path, self.drop_volumes)
            if sidecars:
                yield from _timing_problems(header, path, sidecars, self.needs_slice_times)

        return self._once(path, look)

    def volumes(self, folder: str) -> list[str]:
        """Problems of a run in bare files, one per volume; only the first header is read."""

        def look() -> Iterator[str]:
            with blaming_the_machine(folder, "read"), naming(folder):
                names = ordered_volumes(os.listdir(folder))
            first = str(Path(folder) / names[0])
            header = read_header(first, bare=True)
            shape = (*volume_shape(header.shape, first), len(names))
            found = list(bold_problems(replace(header, shape=shape), folder, self.drop_volumes))
            yield from found or _refusal(height_of_slices, header.affine, path=folder)

        return self._once(folder, look)

    def _once(self, path: str, look: Callable[[], Iterator[str]]) -> list[str]:
        if path not in self._found:
            problems = self._found[path] = []
            if not os.path.exists(path):
                problems.append(
                    f"{path} is a link to a file that is not here. Fetch the file, for example "
                    "with datalad get"
                )
                return list(problems)
            try:
                problems.extend(look())
            except MachineError:
                raise
            except PflError as error:
                problems.append(str(error))
        return list(self._found[path])


def t1w_problems(header: Header, path: str) -> Iterator[str]:
    """Describe what keeps a T1w image from being used, as far as its header shows."""
    yield from _refusal(volume_shape, header.shape, path)
    unusable = list(_orientation_problems(header, path))
    yield from unusable or _edge_problems(header, path, T1W_EDGES_MM, "T1w image")
    if unusable or len(header.shape) < 3:
        return
    size = np.array(header.shape[:3]) * _edges_mm(header)
    if size.min() < SMALLEST_HEAD_MM:
        yield (
            f"{path}: a T1w image must show the whole head, at least {SMALLEST_HEAD_MM:g} mm in "
            f"every direction; it measures {_times(size)} mm. Give the whole image, or convert the "
            "scan again if its voxel size is wrong"
        )


def bold_problems(header: Header, path: str, drop_volumes: int) -> Iterator[str]:
    """Describe what keeps a BOLD run from being used, as far as its header shows."""
    needed = drop_volumes + FEWEST_VOLUMES
    if len(header.shape) != 4 or min(header.shape[:3]) < 2:
        yield f"{path}: a 4D run was needed, the shape is {header.shape}. Give the 4D BOLD image"
    elif header.shape[3] < needed:
        yield (
            f"{path}: at least {needed} volumes were needed, since preproc.drop_volumes discards "
            f"{drop_volumes}; the run has {header.shape[3]}. Give the whole run, lower "
            "preproc.drop_volumes, or leave this run out"
        )
    unusable = list(_orientation_problems(header, path))
    yield from unusable or _edge_problems(header, path, BOLD_EDGES_MM, "BOLD run")


def _timing_problems(
    header: Header, path: str, sidecars: Sequence[str], needs_slice_times: bool
) -> Iterator[str]:
    """Describe how header and sidecars contradict each other."""
    timing = read_timing(sidecars, slices=needs_slice_times)
    tr = timing.repetition_time
    yield from _refusal(check_header, header.repetition_time, path, tr, sidecars)
    if timing.slice_times is not None and len(header.shape) > 2:
        yield from _refusal(check_slice_times, timing.slice_times, header.shape[2], tr, path=path)


def _orientation_problems(header: Header, path: str) -> Iterator[str]:
    """Describe an orientation that is not stored, is no orientation, or is stored twice."""
    yield from _refusal(check_orientation, header.codes, path)
    if not np.isfinite(header.affine).all() or _is_flat(header):
        yield (
            f"{path}: an affine with three different axes and finite numbers was needed, the "
            f"header has {np.round(header.affine[:3], 4).tolist()}. Convert the scan again"
        )
        return
    if header.sform is None or header.qform is None:
        return
    how = _contradiction(header.sform, header.qform, header)
    if how:
        codes = header.codes
        yield (
            f"{path}: one orientation was needed, but the sform (code {codes[0]}, axes "
            f"{axes(header.sform)}), which would be used, and the qform (code {codes[1]}, axes "
            f"{axes(header.qform)}) {how}. Find out which is right, and copy it to the other "
            "(fslorient -copysform2qform or -copyqform2sform), or convert the scan again"
        )


def _contradiction(sform: np.ndarray, qform: np.ndarray, header: Header) -> str:
    """How the two stored orientations contradict each other; empty if they do not."""
    if np.linalg.det(sform[:3, :3]) * np.linalg.det(qform[:3, :3]) < 0:
        return "are mirror images of each other: left and right are swapped in one of them"
    # With two codes they are two spaces on purpose, as after a reorientation in SPM.
    distance = _farthest_corner_mm(sform, qform, header.shape)
    if header.codes[0] == header.codes[1] and distance > SAME_PLACE_MM:
        return f"are up to {distance:.0f} mm apart at the image's corners"
    return ""


def _edge_problems(
    header: Header, path: str, bounds: tuple[float, float], what: str
) -> Iterator[str]:
    edges = _edges_mm(header)
    if edges.min() < bounds[0] or edges.max() > bounds[1]:
        yield (
            f"{path}: voxels of a {what} must have edges of {bounds[0]:g} to {bounds[1]:g} mm, "
            f"these have {_times(edges)} mm. Give another image, or convert the scan again if the "
            "header is wrong"
        )


def _refusal(check: Callable[..., object], *arguments: object, path: str = "") -> Iterator[str]:
    """Message with which ``check`` refuses its arguments, if it does; ``path`` is put before it."""
    try:
        with naming(path):
            check(*arguments)
    except MachineError:
        raise
    except PflError as error:
        yield str(error)


def _is_flat(header: Header) -> bool:
    box = float(np.prod(_edges_mm(header)))
    return abs(float(np.linalg.det(header.affine[:3, :3]))) <= FLATTEST_VOXEL * box


def _edges_mm(header: Header) -> np.ndarray:
    return np.asarray(np.linalg.norm(header.affine[:3, :3], axis=0))


def _farthest_corner_mm(one: np.ndarray, other: np.ndarray, shape: Sequence[int]) -> float:
    last = [n - 1 for n in (*shape, 1, 1, 1)[:3]]
    corners = np.array([(*voxel, 1) for voxel in product(*((0, n) for n in last))])
    return float(np.linalg.norm(corners @ (one - other)[:3].T, axis=1).max())


def _times(sizes: np.ndarray) -> str:
    return " × ".join(f"{size:.3g}" for size in sizes)
