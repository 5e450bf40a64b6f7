"""Registration by greedy: images and matrices in, matrices and maps out, the same every time."""

import contextlib
import ctypes
import io
import os
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import SimpleITK
from numpy.typing import NDArray
from picsl_greedy import Greedy3D

from notears_pfl.geometry import Floats, transform
from notears_pfl.preproc.resample import Grid, Normalisation

# One thread, one seed and no jitter give the same bytes every time.
REPEATABLE = "-V 0 -threads 1 -seed 1 -jitter 0"
# Random rigid matrices that are tried: how many, and their standard deviation in degrees and mm.
SEARCH = (100, 10.0, 10.0)
# Iterations of each affine step on voxels of 8 and of 4 mm: more at 4 mm change nothing.
AFFINE_ITERATIONS = (40, 5)
LPS = np.diag([-1.0, -1.0, 1.0, 1.0])


class Registration:
    """A ``moving`` image to be registered to a ``fixed`` one; each comes with its grid.

    ``masks`` are images on the fixed grid, by name; the metric is computed where they are not
    zero. Matrices and maps go from fixed to moving coordinates, in RAS+ millimetres.
    """

    def __init__(
        self,
        fixed: tuple[Floats, Grid],
        moving: tuple[Floats, Grid],
        masks: Mapping[str, NDArray[Any]] | None = None,
    ):
        self.grid = fixed[1]
        self.images = {"fixed": itk_image(*fixed), "moving": itk_image(*moving)}
        for name, mask in (masks or {}).items():
            self.images[name] = itk_image(mask, self.grid)

    def matrix(
        self,
        degrees_of_freedom: int,
        metric: str,
        iterations: tuple[int, ...],
        start: Floats,
        *,
        mask: str | None = None,
        search: tuple[int, float, float] | None = None,
    ) -> Floats:
        """Find the rigid (6 degrees of freedom) or affine (12) matrix, from ``start``.

        ``iterations`` are per level, from coarse to fine. ``search`` first tries a number of
        random matrices around the start, with standard deviations in degrees and mm.
        """
        tries = f"-search {search[0]} {search[1]:g} {search[2]:g} " if search else ""
        found = self._execute(
            f"-a -dof {degrees_of_freedom} {_metric(metric, mask)} -n {_levels(iterations)} "
            f"-ia {{matrix}} {tries}-o found",
            start,
        )
        return np.asarray(found, dtype=float)

    def affine(self, start: Floats, *, wide: str | None = None, near: str | None = None) -> Floats:
        """Find the affine matrix from a rough ``start``, on images of about 4 mm.

        Mutual information over the mask ``wide`` brings the images together, rigidly and then
        affinely; local correlation over the mask ``near`` makes the fit exact.
        """
        rigid = self.matrix(6, "NMI", AFFINE_ITERATIONS, start, mask=wide, search=SEARCH)
        affine = self.matrix(12, "NMI", AFFINE_ITERATIONS, rigid, mask=wide)
        return self.matrix(12, "NCC 3x3x3", AFFINE_ITERATIONS, affine, mask=near)

    def warp(
        self,
        metric: str,
        iterations: tuple[int, ...],
        affine: Floats,
        smoothing_voxels: tuple[float, float],
        *,
        mask: str | None = None,
    ) -> Normalisation:
        """Find a diffeomorphic map after ``affine``.

        ``smoothing_voxels`` smooth the update and the whole field.
        """
        found = self._execute(
            f"{_metric(metric, mask)} -n {_levels(iterations)} -it {{matrix}} "
            f"-s {smoothing_voxels[0]}vox {smoothing_voxels[1]}vox -o found",
            affine,
        )
        lps = SimpleITK.GetArrayFromImage(found).transpose(2, 1, 0, 3)
        points = self.grid.points()
        warped = points + (lps * np.array([-1, -1, 1])).reshape(-1, 3).T
        displacement = (transform(affine, warped) - points).T.reshape(*self.grid.shape, 3)
        return Normalisation(displacement.astype(np.float32), self.grid, affine)

    def _execute(self, command: str, matrix: Floats) -> Any:
        """Run greedy; ``{matrix}`` in the command stands for a file, which it wants."""
        greedy, unheard = Greedy3D(), io.StringIO()
        with tempfile.TemporaryDirectory() as folder, _silence():
            path = f"{folder}/matrix.txt"
            np.savetxt(path, matrix)
            command = f"{REPEATABLE} {command.format(matrix=path)}"
            greedy.execute(command, unheard, unheard, found=None, **self.images)
        return greedy["found"]


def itk_image(array: NDArray[Any], grid: Grid) -> SimpleITK.Image:
    """Make an image as ITK wants it: axes reversed, LPS+ coordinates."""
    image = SimpleITK.GetImageFromArray(np.asarray(array, dtype=np.float32).transpose())
    lps = LPS @ grid.affine
    image.SetSpacing(grid.voxel_mm.tolist())
    image.SetOrigin(lps[:3, 3].tolist())
    image.SetDirection((lps[:3, :3] / grid.voxel_mm).ravel().tolist())
    return image


def _metric(metric: str, mask: str | None) -> str:
    return f"-i fixed moving {f'-gm {mask} ' if mask else ''}-m {metric}"


def _levels(iterations: tuple[int, ...]) -> str:
    return "x".join(str(n) for n in iterations)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Keep greedy's C code, which bypasses Python's streams, from writing to the terminal."""
    saved = [os.dup(1), os.dup(2)]
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        try:
            for stream in (1, 2):
                os.dup2(nowhere.fileno(), stream)
            yield
        finally:
            # What it has printed but not written yet must go nowhere, too.
            ctypes.CDLL(None).fflush(None)
            for stream, original in zip((1, 2), saved, strict=True):
                os.dup2(original, stream)
                os.close(original)
