"""The anatomical half of a subject: brain, tissues and the way to the template."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from notears_pfl.preproc.brain import find_brain, is_stripped, volume_ml, zero_background
from notears_pfl.preproc.cautions import is_usual
from notears_pfl.preproc.normalise import normalise
from notears_pfl.preproc.options import NormaliseOptions
from notears_pfl.preproc.resample import Grid, downsample, sample_volume
from notears_pfl.preproc.rigid import Floats
from notears_pfl.preproc.tissues import TissueModel, fit_tissues, tissue_probabilities
from notears_pfl.preproc.warp import BrainTemplate, Normalisation, affine_only

# Tissue maps guide BOLD to T1w; finer than this, or than 1.5 voxels, they only cost time.
TISSUE_MM, TISSUE_FACTOR = 2.0, 1.5


@dataclass(frozen=True)
class Anatomy:
    """What the functional half needs of the T1w image, and how good it is.

    ``t1w`` and ``brain`` (x, y, z) are on the image's own grid, ``tissues`` (3, x, y, z) of
    fluid, grey and white matter on ``grid``.
    """

    t1w: NDArray[np.float32]
    brain: NDArray[np.bool_]
    tissues: NDArray[np.float32]
    grid: Grid
    normalisation: Normalisation
    quality: Mapping[str, Any]


@dataclass(frozen=True)
class AnatomicalSteps:
    """The functions that do the work; others of the same signature stand for other engines."""

    correct_bias: Callable[[Floats, Floats], Floats] = lambda t1w, affine: t1w
    find_brain: Callable[[Floats, Floats], NDArray[np.bool_]] = find_brain
    find_tissues: Callable[[Floats, Floats, NDArray[np.bool_], TissueModel, Floats], Floats] = (
        lambda brain, affine, inside, model, priors: tissue_probabilities(
            brain[inside], model, priors
        )
    )
    normalise: Callable[[Floats, Floats, Floats, Floats, NormaliseOptions], Normalisation] = (
        normalise
    )


OWN = AnatomicalSteps()


def prepare_anatomy(
    t1w: Floats,
    affine: Floats,
    template: BrainTemplate,
    options: NormaliseOptions,
    steps: AnatomicalSteps = OWN,
) -> Anatomy:
    """Extract the brain, even out the bias, register to the template, tell tissues apart."""
    voxel_mm = np.linalg.norm(affine[:3, :3], axis=0)
    t1w, nan_background = zero_background(np.asarray(t1w, dtype=np.float32), voxel_mm)
    t1w = steps.correct_bias(t1w, affine)
    # No engine is asked to find the brain where there is nothing else.
    stripped = is_stripped(t1w, voxel_mm)
    brain = (find_brain if stripped else steps.find_brain)(t1w, affine)
    model = fit_tissues(t1w, brain, voxel_mm)
    corrected = t1w / model.bias(t1w.shape)
    normalisation = steps.normalise(
        corrected * brain, affine, template.t1w, template.affine, options
    )
    tissues, grid = _tissue_maps(corrected, brain, affine, model, normalisation, template, steps)
    brain_ml = round(volume_ml(brain, voxel_mm), 1)
    quality = {
        "already_stripped": stripped,
        "background_was_nan": nan_background,
        "brain_ml": brain_ml,
        "brain_volume_usual": is_usual("brain_ml", brain_ml),
        "bias_spread": round(float(model.bias(t1w.shape)[brain].std()), 4),
        "tissue_model_converged": model.converged,
        "smallest_jacobian": round(float(normalisation.jacobian().min()), 3),
        "template_agreement": {
            name: template_agreement(corrected * brain, affine, which, template)
            for name, which in (
                ("affine", affine_only(normalisation)),
                ("diffeomorphic", normalisation),
            )
        },
    }
    return Anatomy(corrected, brain, tissues, grid, normalisation, quality)


def _tissue_maps(
    corrected: Floats,
    brain: NDArray[np.bool_],
    affine: Floats,
    model: TissueModel,
    normalisation: Normalisation,
    template: BrainTemplate,
    steps: AnatomicalSteps,
) -> tuple[NDArray[np.float32], Grid]:
    """Tissue probabilities on a grid of 2 mm or 1.5 voxels, with the template's as priors."""
    edge_mm = float(np.linalg.norm(affine[:3, :3], axis=0).max())
    tissue_mm = max(TISSUE_MM, TISSUE_FACTOR * edge_mm)
    intensity, grid = downsample(corrected, affine, tissue_mm)
    share, _ = downsample(brain.astype(np.float32), affine, tissue_mm)
    inside = share > 0.5
    where = normalisation.to_template(grid.points()[:, inside.ravel()])
    priors = np.stack(
        [sample_volume(tissue, template.affine, where, order=1) for tissue in template.tissues()]
    )
    tissues = np.zeros((3, *grid.shape), dtype=np.float32)
    tissues[:, inside] = steps.find_tissues(intensity * inside, grid.affine, inside, model, priors)
    return tissues, grid


def template_agreement(
    brain: Floats, affine: Floats, normalisation: Normalisation, template: BrainTemplate
) -> float:
    """Correlation of the template with the brain brought to it, over the template's brain."""
    grid = normalisation.grid
    inside = sample_volume(template.brain.astype(float), template.affine, grid.points(), 1) > 0.5
    points = grid.points()[:, inside]
    ours = sample_volume(brain, affine, normalisation.to_t1w(points), order=1)
    theirs = sample_volume(template.t1w, template.affine, points, order=1)
    return round(float(np.corrcoef(ours, theirs)[0, 1]), 4)
