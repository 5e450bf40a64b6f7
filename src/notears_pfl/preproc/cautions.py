"""Cautions: the quality figures of a subject's report that are unusual.

Every figure of a report is listed here once: in ``LOOKS`` with its usual range, or in
``DESCRIBED`` if no value of it calls for a look. All limits stand here and not beside their steps,
so that reports can be judged without loading voxel code. A caution excludes nobody.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from notears_pfl.errors import NotConvergedWarning


@dataclass(frozen=True)
class Look:
    """A figure that calls for a look if it is false, or a number outside ``low`` to ``high``.

    ``words`` describe the finding, with ``{value}`` for the number.
    """

    words: str
    low: float = -np.inf
    high: float = np.inf
    form: str = ".2f"

    def caution(self, figure: Any) -> str | None:
        """Caution for an unusual figure; None for a usual or missing one."""
        if figure is None or figure is True:
            return None
        if figure is False:
            return f"{self.words}: look at the subject's figures."
        value = float(figure)
        # NaN is not usual either.
        if self.low <= value <= self.high:
            return None
        words = self.words.format(value=format(value, self.form))
        return f"{words} (usual: {self.usual()}): look at the subject's figures."

    def usual(self) -> str:
        """Describe the usual range."""
        if self.low == self.high:
            return f"{self.low:g}"
        if np.isinf(self.high):
            return f"{self.low:g} or more"
        return f"{self.low:g} to {self.high:g}"


# Usual ranges: from 54 real heads with skull (21 sources, 0.5 to 6 mm, young and old), four
# brains that came stripped, five pairs of BOLD and T1w of the same person, 146 pairs of different
# persons, and the phantom. ``cohort.limits`` excludes farther out.
LOOKS = {
    "brain_ml": Look("The brain has {value} ml", 1150, 2400, ".0f"),
    "head_agreement": Look(
        "The head correlates with the head template by {value}, around the brain", 0.6
    ),
    "surface_correction": Look(
        "Corrected by the image's own intensities, the brain has {value} times the volume that the "
        "head template gave it",
        0.9,
        1.2,
    ),
    "tissue_model_converged": Look(
        "The model of the T1w image's tissues and bias did not converge"
    ),
    "template_agreement_affine": Look(
        "After affine registration alone, the T1w image correlates with the template by {value}",
        0.4,
    ),
    "template_agreement": Look(
        "After normalisation, the T1w image correlates with the template by {value}", 0.65
    ),
    "affine_volume": Look(
        "The brain has {value} times the template's volume by the affine part of the normalisation",
        0.6,
        1.25,
    ),
    "smallest_jacobian": Look(
        "The normalisation compresses part of the brain to {value} of its volume", 0.1, form=".3f"
    ),
    "non_steady_kept": Look(
        "At the start of the run, {value} volumes look as if before the steady state and were not "
        "discarded (preproc.drop_volumes)",
        0,
        0,
        ".0f",
    ),
    "motion_converged": Look("The estimate of head motion did not converge in every volume"),
    "bold_t1w_converged": Look("The registration of BOLD to T1w did not converge"),
    "bold_t1w_agreement": Look(
        "Only a share of {value} of the white matter's surface shows the usual contrast in the "
        "BOLD image",
        0.78,
    ),
    "brain_coverage": Look(
        "The BOLD run covers a share of {value} of the brain: the rest has no signal or is outside "
        "the field of view",
        0.85,
    ),
}
# Figures of the T1w image that a subject's later reports repeat.
T1W_FIGURES = (
    "already_stripped", "brain_ml", "head_agreement", "surface_correction",
    "tissue_model_converged", "template_agreement_affine", "template_agreement", "affine_volume",
    "smallest_jacobian",
)  # fmt: skip
# Figures that describe the data or the processing, or that exclusion limits judge.
DESCRIBED = {
    "already_stripped", "SkullStripped", "background_was_nan", "bias_spread", "n_volumes",
    "repetition_time", "slice_reference_time", "voxel_mm", "mean_fd_power_mm",
    "share_fd_power_mm_above_0.5",
    "mean_fd_jenkinson_mm", "share_fd_jenkinson_mm_above_0.5", "mean_dvars_percent", "median_tsnr",
    "largest_translation_mm", "largest_rotation_deg", "coverage", "dropout",
    "normalisation_affine",
    "degrees_of_freedom", "degrees_of_freedom_in_band", "n_regressors", "min_coverage",
    "non_steady_volumes", "n_censored", "censored_volumes",
}  # fmt: skip
# Parts of a report that are not figures.
TEXTS = {
    "status", "sources", "runs", "space", "why_none", "cautions", "engines", "methods", "confounds",
}  # fmt: skip


def with_cautions(report: Mapping[str, Any]) -> dict[str, Any]:
    """Add cautions on a report's figures to those that it has, and warn about the new ones.

    Many such results are good: the quality figures and pictures show it.
    """
    known = list(report.get("cautions", []))
    told = {
        name: caution
        for name, figure in report.items()
        if name in LOOKS and (caution := LOOKS[name].caution(figure)) and caution not in known
    }
    for name, caution in told.items():
        kind = NotConvergedWarning if name.endswith("_converged") else UserWarning
        warnings.warn(caution, kind, stacklevel=2)
    return {**report, "cautions": [*known, *told.values()]}


def unlisted_figures(report: Mapping[str, Any]) -> list[str]:
    """Names in a report that this module does not list: figures that nobody would judge."""
    return [name for name in report if name not in {*LOOKS, *DESCRIBED, *TEXTS}]
