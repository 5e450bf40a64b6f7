"""T1w brain to template: affine, then diffeomorphic, by greedy (Yushkevich et al.).

A template point p is found at p + v(p) in the T1w image, all in RAS+ millimetres.
"""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import SimpleITK
from numpy.typing import NDArray
from picsl_greedy import Greedy3D
from scipy.ndimage import map_coordinates

from notears_pfl.geometry import transform
from notears_pfl.preproc.resample import Grid, downsample
from notears_pfl.preproc.rigid import Floats

# One thread, one seed and no jitter: the same bytes every time.
REPEATABLE = "-V 0 -threads 1 -seed 1 -jitter 0"
LPS = np.diag([-1.0, -1.0, 1.0, 1.0])
# A level of registration is added below each of these voxel sizes, mm.
LEVELS_MM = (6.0, 3.0)
COARSEST_MM = 4.0


@dataclass(frozen=True)
class NormaliseOptions:
    """How brains are normalised; the fields are the keys of ``preproc.normalise``.

    Registration works on voxels ``working_factor`` times as large as the largest edge of the
    T1w image's, but no larger than 4 mm. Iterations are per level, from coarse to fine, each
    twice as fine as the one before: three levels for working voxels below 3 mm, two below 6 mm,
    one above. The smoothing of the update and of the whole field is in voxels, the ``radius``
    of the correlation too.
    """

    working_factor: float = 2.0
    affine_iterations: tuple[int, int, int] = (40, 10, 5)
    warp_iterations: tuple[int, int, int] = (60, 20, 10)
    radius: int = 2
    smooth_update: float = 1.732
    smooth_total: float = 0.7071


@dataclass(frozen=True)
class Normalisation:
    """The map from template to T1w: displacement v (x, y, z, 3) on a grid of the template.

    ``affine`` (4, 4) is the part of it that was found first.
    """

    displacement: NDArray[np.float32]
    grid: Grid
    affine: Floats

    @classmethod
    def from_field(cls, field: Floats, field_affine: Floats, affine: Floats) -> "Normalisation":
        """Make the map from a stored ``field`` (x, y, z, 1, 3) of displacements."""
        n_x, n_y, n_z = field.shape[:3]
        displacement = np.asarray(field, dtype=np.float32).reshape(n_x, n_y, n_z, 3)
        return cls(displacement, Grid((n_x, n_y, n_z), field_affine), np.asarray(affine))

    def to_t1w(self, points: Floats) -> Floats:
        """T1w coordinates of template ``points`` (3, n)."""
        voxels = transform(np.linalg.inv(self.grid.affine), points)
        shift = [
            map_coordinates(self.displacement[..., axis], voxels, order=1, mode="nearest")
            for axis in range(3)
        ]
        return np.asarray(points + np.stack(shift))

    def to_template(self, points: Floats, n_iterations: int = 6) -> Floats:
        """Template coordinates of T1w ``points`` (3, n), by fixed-point iteration."""
        back = np.linalg.inv(self.affine)
        found = transform(back, points)
        for _ in range(n_iterations):
            found = found - back[:3, :3] @ (self.to_t1w(found) - points)
        return found

    def jacobian(self) -> Floats:
        """Give the volume change of the map at each voxel; positive where nothing folds."""
        by_voxel = np.stack([np.gradient(self.displacement, axis=a) for a in range(3)], axis=-1)
        derivative = np.eye(3) + by_voxel @ np.linalg.inv(self.grid.affine[:3, :3])
        return np.asarray(np.linalg.det(derivative))


def normalise(
    t1w: Floats,
    t1w_affine: Floats,
    template: Floats,
    template_affine: Floats,
    options: NormaliseOptions,
) -> Normalisation:
    """Register the brain ``t1w`` to the brain ``template``, both zero outside."""
    edge_mm = float(np.linalg.norm(t1w_affine[:3, :3], axis=0).max())
    working_mm = max(edge_mm, min(options.working_factor * edge_mm, COARSEST_MM))
    fixed, grid = downsample(template, template_affine, working_mm)
    moving, moving_grid = downsample(t1w, t1w_affine, working_mm)
    images = {"fixed": _to_itk(fixed, grid), "moving": _to_itk(moving, moving_grid)}
    levels = 1 + sum(working_mm < limit for limit in LEVELS_MM)
    metric = f"-i fixed moving -m NCC {options.radius}x{options.radius}x{options.radius}"
    smoothing = f"-s {options.smooth_update}vox {options.smooth_total}vox"
    greedy = Greedy3D()
    with _silence():
        greedy.execute(
            f"{REPEATABLE} -a -dof 12 {metric} -n {_levels(options.affine_iterations, levels)} "
            "-ia-image-centers -o affine",
            affine=None,
            **images,
        )
        greedy.execute(
            f"{REPEATABLE} {metric} -n {_levels(options.warp_iterations, levels)} -it affine "
            f"{smoothing} -o warp",
            warp=None,
        )
    lps = SimpleITK.GetArrayFromImage(greedy["warp"]).transpose(2, 1, 0, 3)
    affine = np.asarray(greedy["affine"])
    points = grid.points()
    warped = points + (lps * np.array([-1, -1, 1])).reshape(-1, 3).T
    displacement = (transform(affine, warped) - points).T.reshape(*grid.shape, 3)
    return Normalisation(displacement.astype(np.float32), grid, affine)


def affine_only(normalisation: Normalisation) -> Normalisation:
    """Leave only the affine part of a map."""
    points = normalisation.grid.points()
    shift = transform(normalisation.affine, points) - points
    displacement = shift.T.reshape(*normalisation.grid.shape, 3).astype(np.float32)
    return Normalisation(displacement, normalisation.grid, normalisation.affine)


def _levels(iterations: tuple[int, ...], levels: int) -> str:
    return "x".join(str(n) for n in iterations[:levels])


def _to_itk(array: Floats, grid: Grid) -> SimpleITK.Image:
    image = SimpleITK.GetImageFromArray(np.asarray(array, dtype=np.float32).transpose())
    lps = LPS @ grid.affine
    image.SetSpacing(grid.voxel_mm.tolist())
    image.SetOrigin(lps[:3, 3].tolist())
    image.SetDirection((lps[:3, :3] / grid.voxel_mm).ravel().tolist())
    return image


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Keep greedy's optimiser, which writes past Python, from the terminal."""
    saved = [os.dup(1), os.dup(2)]
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        try:
            for stream in (1, 2):
                os.dup2(nowhere.fileno(), stream)
            yield
        finally:
            for stream, original in zip((1, 2), saved, strict=True):
                os.dup2(original, stream)
                os.close(original)
