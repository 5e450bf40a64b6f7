"""The T1w image of a subject: brain, bias field, tissues and registration to the template."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from notears_pfl.geometry import Floats, nearest_ras
from notears_pfl.preproc.brain import (
    Brain,
    brain_sentence,
    find_brain,
    is_stripped,
    stripped_brain,
    volume_ml,
    zero_background,
)
from notears_pfl.preproc.normalise import (
    NormaliseOptions,
    normalise,
    normalise_sentence,
    smallest_jacobian,
    template_agreement,
)
from notears_pfl.preproc.resample import (
    Grid,
    Normalisation,
    downsample,
    mean_edge_mm,
    sample_volume,
)
from notears_pfl.preproc.template import BrainTemplate, HeadTemplate
from notears_pfl.preproc.tissues import (
    TissueModel,
    bias_sentence,
    fit_tissues,
    refit_tissues,
    tissue_probabilities,
    tissues_sentence,
)

Programs = Mapping[str, Callable[..., Any]]

# Programs that can do a step in place of our own code, by the setting's value.
ANATOMICAL_PROGRAMS = {
    "bias": {"ants": "notears_pfl.preproc.engines.ants.correct_bias"},
    "brain": {
        "fsl": "notears_pfl.preproc.engines.fsl.find_brain",
        "deepbet": "notears_pfl.preproc.engines.deepbet.find_brain",
    },
    "tissues": {
        "fsl": "notears_pfl.preproc.engines.fsl.find_tissues",
        "ants": "notears_pfl.preproc.engines.ants.find_tissues",
    },
    "normalise": {
        "ants": "notears_pfl.preproc.engines.ants.normalise",
        "spm": "notears_pfl.preproc.engines.spm.normalise",
    },
}
# Tissue maps guide the registration of BOLD; finer than this, or 1.5 voxels, they only cost time.
TISSUE_MM, TISSUE_FACTOR = 2.0, 1.5
# Grey values up to the brightest tissue of the brain, this quantile: rounding then errs by 0.4 % of
# it, where the noise of an image of 1 mm is 1 to 2 %.
GREY_LEVELS, BRIGHTEST = 128, 0.99


@dataclass(frozen=True)
class Anatomy:
    """The preprocessed T1w image and its quality figures.

    ``t1w`` and ``brain`` (x, y, z) are on the image's own grid, its axes reordered to run right,
    forwards and up (``affine``); ``tissues`` (3, x, y, z), the probabilities of cerebrospinal
    fluid, grey and white matter, are on ``grid``.
    """

    t1w: NDArray[np.float32]
    brain: NDArray[np.bool_]
    affine: Floats
    tissues: NDArray[np.float32]
    grid: Grid
    normalisation: Normalisation
    quality: Mapping[str, Any]

    def grey_step(self) -> float:
        """Step to which stored intensities may be rounded: far below the noise of a T1w image."""
        return float(np.quantile(self.t1w[self.brain], BRIGHTEST)) / GREY_LEVELS


def prepare_anatomy(
    t1w: Floats,
    affine: Floats,
    template: BrainTemplate,
    head: HeadTemplate,
    options: NormaliseOptions,
    programs: Programs | None = None,
) -> Anatomy:
    """Extract the brain, correct the bias field, register to the template, segment tissues.

    ``programs`` do the steps of ``ANATOMICAL_PROGRAMS`` in place of our own code. The order in
    which voxels are stored makes no difference.
    """
    programs = programs or {}
    t1w, affine = nearest_ras(t1w, affine)
    voxel_mm = np.linalg.norm(affine[:3, :3], axis=0)
    t1w, nan_background = zero_background(np.asarray(t1w, dtype=np.float32), voxel_mm)
    if "bias" in programs:
        t1w = programs["bias"](t1w, affine)
    stripped = is_stripped(t1w, voxel_mm)
    extracted = _extract(t1w, affine, stripped, head, programs)
    brain = extracted.mask
    model = fit_tissues(t1w, brain, voxel_mm)
    bias = model.bias(t1w.shape)
    bias_spread = float(bias[brain].std())
    corrected = t1w / bias
    del bias
    brain_only = corrected * brain, affine
    pair = (*brain_only, template.t1w, template.affine)
    normalisation = (
        programs["normalise"](*pair)
        if "normalise" in programs
        else normalise(*pair, options, extracted.start)
    )
    tissues, grid = _tissue_maps(corrected, brain, affine, model, normalisation, template, programs)
    quality = {
        "already_stripped": stripped,
        "background_was_nan": nan_background,
        **extracted.figures,
        "brain_ml": round(volume_ml(brain, voxel_mm), 1),
        "bias_spread": round(bias_spread, 4),
        "tissue_model_converged": model.converged,
        "affine_volume": round(float(np.linalg.det(normalisation.affine[:3, :3])), 4),
        "smallest_jacobian": smallest_jacobian(normalisation, template),
        "template_agreement_affine": template_agreement(
            *brain_only, normalisation.affine_only(), template
        ),
        "template_agreement": template_agreement(*brain_only, normalisation, template),
    }
    return Anatomy(corrected, brain, affine, tissues, grid, normalisation, quality)


def _extract(
    t1w: Floats, affine: Floats, stripped: bool, head: HeadTemplate, programs: Programs
) -> Brain:
    """Find the brain; no program is asked to strip an image that shows only a brain."""
    if stripped:
        return stripped_brain(t1w)
    if "brain" in programs:
        return Brain(programs["brain"](t1w, affine), None, {})
    return find_brain(t1w, affine, head)


def anatomical_methods(
    options: NormaliseOptions, quality: Mapping[str, Any], programs: Mapping[str, str]
) -> dict[str, str]:
    """Methods: the sentences on the T1w image; ``programs`` are the names of those that ran."""
    stripped = quality["already_stripped"], quality["background_was_nan"]
    bias = {"bias": bias_sentence(programs["bias"])} if "bias" in programs else {}
    return bias | {
        "brain": brain_sentence(*stripped, programs.get("brain")),
        "tissues": tissues_sentence(programs.get("tissues")),
        "normalise": normalise_sentence(options, programs.get("normalise")),
    }


def _tissue_maps(
    corrected: Floats,
    brain: NDArray[np.bool_],
    affine: Floats,
    model: TissueModel,
    normalisation: Normalisation,
    template: BrainTemplate,
    programs: Programs,
) -> tuple[NDArray[np.float32], Grid]:
    """Tissue probabilities on a grid of 2 mm or 1.5 voxels, with the template's as priors."""
    tissue_mm = max(TISSUE_MM, TISSUE_FACTOR * mean_edge_mm(affine))
    intensity, grid = downsample(corrected, affine, tissue_mm)
    share, _ = downsample(brain.astype(np.float32), affine, tissue_mm)
    inside = share > 0.5
    tissues = np.zeros((3, *grid.shape), dtype=np.float32)
    if "tissues" in programs:
        tissues[:, inside] = programs["tissues"](intensity * inside, grid.affine, inside)
        return tissues, grid
    where = normalisation.to_template(grid.points()[:, inside.ravel()])
    priors = np.stack(
        [sample_volume(tissue, template.affine, where, order=1) for tissue in template.tissues()]
    )
    intensities = intensity[inside]
    refitted = refit_tissues(model, intensities, priors)
    tissues[:, inside] = tissue_probabilities(intensities, refitted, priors)
    return tissues, grid
