"""Registration of the T1w brain to MNI space: affine, then diffeomorphic, by greedy."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from notears_pfl.geometry import Floats
from notears_pfl.preproc.greedy import Registration
from notears_pfl.preproc.resample import (
    Grid,
    Normalisation,
    cropped,
    downsample,
    mean_edge_mm,
    sample_volume,
)
from notears_pfl.preproc.template import BrainTemplate

# Each of these voxel sizes adds a level of registration if the working voxels are finer, mm.
LEVELS_MM = (6.0, 3.0)
# Largest working voxels: at 4 mm, images of 2 mm overlap less with the template (by .03, Dice).
COARSEST_MM = 2.5
# Voxels on which a start is found where none is given, mm.
START_MM = 4.0
# The map covers the template's brain and this much around it; signals up to 8 mm away are smoothed.
ROOM_MM = 12.0
# Step to which stored displacements are rounded. On the phantom, voxels of the resampled BOLD image
# change by 0.03 at most, where the image itself is rounded to whole numbers; ROI signals by 0.0003
# standard deviations.
WARP_STEP_MM = 1 / 1024


@dataclass(frozen=True)
class NormaliseOptions:
    """How brains are normalised; not in the configuration.

    Registration works on voxels ``working_factor`` times as large as the mean edge of a T1w
    voxel, but no larger than 2.5 mm. Iterations are per level, from coarse to fine, each twice as
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
    start: Floats | None = None,
) -> Normalisation:
    """Register the brain ``t1w`` to the brain ``template``; both are zero outside the brain.

    ``start`` (4, 4) is an affine from template to T1w coordinates that is nearly right. Without
    it, one is found from the centres of mass on.
    """
    if start is None:
        start = _affine_start(t1w, t1w_affine, template, template_affine)
    edge_mm = mean_edge_mm(t1w_affine)
    working_mm = max(edge_mm, min(options.working_factor * edge_mm, COARSEST_MM))
    # Outside the brain there is nothing to match, only voxels to compute.
    fixed, fixed_affine = _around_brain(template, template_affine)
    registration = Registration(
        downsample(fixed, fixed_affine, working_mm), downsample(t1w, t1w_affine, working_mm)
    )
    levels = 1 + sum(working_mm < limit for limit in LEVELS_MM)
    metric = f"NCC {options.radius}x{options.radius}x{options.radius}"
    affine = registration.matrix(12, metric, options.affine_iterations[:levels], start)
    smoothing = (options.smooth_update, options.smooth_total)
    return registration.warp(metric, options.warp_iterations[:levels], affine, smoothing)


def _around_brain(template: Floats, affine: Floats) -> tuple[Floats, Floats]:
    """Crop the template to its brain, with room for the voxels that smoothing reaches."""
    voxels, room = np.argwhere(template > 0), ROOM_MM / np.linalg.norm(affine[:3, :3], axis=0)
    return cropped(template, affine, voxels.min(axis=0) - room, voxels.max(axis=0) + room)


def _affine_start(
    t1w: Floats, t1w_affine: Floats, template: Floats, template_affine: Floats
) -> Floats:
    fixed = downsample(template, template_affine, START_MM)
    moving = downsample(t1w, t1w_affine, START_MM)
    start = np.eye(4)
    start[:3, 3] = _centre_of_mass(*moving) - _centre_of_mass(*fixed)
    return Registration(fixed, moving).affine(start)


def _centre_of_mass(volume: Floats, grid: Grid) -> Floats:
    return np.asarray(grid.points() @ volume.ravel() / volume.sum(dtype=float))


def template_agreement(
    brain: Floats, affine: Floats, normalisation: Normalisation, template: BrainTemplate
) -> float:
    """Correlation of the template with the normalised ``brain``, over the template's brain."""
    points = normalisation.grid.points()[:, _in_brain(normalisation, template)]
    ours = sample_volume(brain, affine, normalisation.to_t1w(points), order=1)
    theirs = sample_volume(template.t1w, template.affine, points, order=1)
    return round(float(np.corrcoef(ours, theirs)[0, 1]), 4)


def smallest_jacobian(normalisation: Normalisation, template: BrainTemplate) -> float:
    """Smallest Jacobian determinant within the template's brain, relative to the affine's."""
    inside = _in_brain(normalisation, template)
    relative = normalisation.jacobian().ravel()[inside] / np.linalg.det(
        normalisation.affine[:3, :3]
    )
    return round(float(relative.min()), 3)


def _in_brain(normalisation: Normalisation, template: BrainTemplate) -> NDArray[np.bool_]:
    """Tell which voxels of the normalisation's grid lie in the template's brain, in C order."""
    points = normalisation.grid.points()
    return sample_volume(template.brain.astype(float), template.affine, points, order=1) > 0.5


def normalise_sentence(options: NormaliseOptions, program: str | None = None) -> str:
    """Methods: template and kind of registration."""
    if program:
        return f"The brain was registered to MNI space by {program}."
    return (
        "The brain was registered to the ICBM 2009a MNI152 template by an affine and then a "
        "diffeomorphic transformation (greedy, local normalised cross-correlation with a radius "
        f"of {options.radius} voxels)."
    )
