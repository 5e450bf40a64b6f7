"""Registration of the T1w brain to MNI space: affine, then diffeomorphic, by greedy."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import SimpleITK
from picsl_greedy import Greedy3D

from notears_pfl.geometry import Floats, transform
from notears_pfl.preproc.resample import Grid, Normalisation, downsample, sample_volume
from notears_pfl.preproc.template import BrainTemplate

# One thread, one seed and no jitter give the same bytes every time.
REPEATABLE = "-V 0 -threads 1 -seed 1 -jitter 0"
LPS = np.diag([-1.0, -1.0, 1.0, 1.0])
# Each of these voxel sizes adds a level of registration if the working voxels are finer, mm.
LEVELS_MM = (6.0, 3.0)
COARSEST_MM = 4.0


@dataclass(frozen=True)
class NormaliseOptions:
    """How brains are normalised; not in the configuration.

    Registration works on voxels ``working_factor`` times as large as the largest edge of a T1w
    voxel, but no larger than 4 mm. Iterations are per level, from coarse to fine, each twice as
    fine as the one before: three levels for working voxels below 3 mm, two below 6 mm, one
    above. The smoothing of the update and of the whole field is in voxels, and so is the
    ``radius`` of the correlation.
    """

    working_factor: float = 2.0
    affine_iterations: tuple[int, int, int] = (40, 10, 5)
    warp_iterations: tuple[int, int, int] = (60, 20, 10)
    radius: int = 2
    smooth_update: float = 1.732
    smooth_total: float = 0.7071


def normalise(
    t1w: Floats,
    t1w_affine: Floats,
    template: Floats,
    template_affine: Floats,
    options: NormaliseOptions,
) -> Normalisation:
    """Register the brain ``t1w`` to the brain ``template``; both are zero outside the brain."""
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


def template_agreement(
    brain: Floats, affine: Floats, normalisation: Normalisation, template: BrainTemplate
) -> float:
    """Correlation of the template with the normalised ``brain``, over the template's brain."""
    grid = normalisation.grid
    inside = sample_volume(template.brain.astype(float), template.affine, grid.points(), 1) > 0.5
    points = grid.points()[:, inside]
    ours = sample_volume(brain, affine, normalisation.to_t1w(points), order=1)
    theirs = sample_volume(template.t1w, template.affine, points, order=1)
    return round(float(np.corrcoef(ours, theirs)[0, 1]), 4)


def normalise_sentence(options: NormaliseOptions, program: str | None = None) -> str:
    """Methods: template and kind of registration."""
    if program:
        return f"The brain was registered to MNI space by {program}."
    return (
        "The brain was registered to the ICBM 2009a MNI152 template by an affine and then a "
        "diffeomorphic transformation (greedy, local normalised cross-correlation with a radius "
        f"of {options.radius} voxels)."
    )


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
    """Keep greedy, which bypasses Python's streams, from writing to the terminal."""
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
