"""T1w brain to template: affine, then diffeomorphic, by greedy (Yushkevich et al.)."""

import contextlib
import os
from collections.abc import Iterator

import numpy as np
import SimpleITK
from picsl_greedy import Greedy3D

from notears_pfl.geometry import transform
from notears_pfl.preproc.options import NormaliseOptions
from notears_pfl.preproc.resample import Grid, downsample
from notears_pfl.preproc.rigid import Floats
from notears_pfl.preproc.warp import Normalisation

# One thread, one seed and no jitter: the same bytes every time.
REPEATABLE = "-V 0 -threads 1 -seed 1 -jitter 0"
LPS = np.diag([-1.0, -1.0, 1.0, 1.0])
# A level of registration is added below each of these voxel sizes, mm.
LEVELS_MM = (6.0, 3.0)
COARSEST_MM = 4.0


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
