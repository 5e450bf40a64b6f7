"""Cautions: the quality figures of a subject's report that are unusual.

Every figure of a report is listed here once: in ``LOOKS`` with its usual range, or in
``DESCRIBED`` if no value of it calls for a look. All limits stand here and not beside their steps,
so that reports can be judged without loading voxel code. A caution excludes nobody.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from notears_pfl.errors import NotConvergedWarning


@dataclass(frozen=True)
class Look:
    """A figure that calls for a look if it is false, or a number outside ``low`` to ``high``.

    ``words`` describe the finding, with ``{value}`` for the number; ``number`` computes it from a
    figure that is not a number itself.
    """

    words: str
    low: float = -np.inf
    high: float = np.inf
    form: str = ".2f"
    number: Callable[[Any], float] = float

    def caution(self, figure: Any) -> str | None:
        """Caution for an unusual figure; None for a usual or missing one."""
        if figure is None or figure is True:
            return None
        if figure is False:
            return f"{self.words}: look at the subject's figures."
        value = self.number(figure)
        # NaN is not usual either.
        if self.low <= value <= self.high:
            return None
        words = self.words.format(value=format(value, self.form))
        return f"{words} (usual: {self.usual()}): look at the subject's figures."

    def usual(self) -> str:
        """Describe the usual range."""
        if np.isinf(self.high):
            return f"{self.low:g} or more"
        return f"{self.low:g} to {self.high:g}"


# Limits from 28 real heads, one real scan and the phantom; few failures were seen. The phantom's
# largest brain has 2,134 ml; the smallest mask that included scalp had 2,171 ml.
LOOKS = {
    "brain_ml": Look("The brain has {value} ml", 1150, 2150, ".0f"),
    "tissue_model_converged": Look(
        "The model of the T1w image's tissues and bias did not converge"
    ),
    "template_agreement_affine": Look(
        "After affine registration alone, the T1w image correlates with the template by {value}",
        0.4,
    ),
    "template_agreement": Look(
        "After normalisation, the T1w image correlates with the template by {value}", 0.6
    ),
    "normalisation_affine": Look(
        "The brain has {value} times the template's volume by the affine part of the normalisation",
        0.6,
        1.25,
        number=lambda affine: float(np.linalg.det(np.asarray(affine)[:3, :3])),
    ),
    "smallest_jacobian": Look(
        "The normalisation compresses part of the brain to {value} of its volume", 0.1, form=".3f"
    ),
    "motion_converged": Look("The estimate of head motion did not converge in every volume"),
    "bold_t1w_converged": Look("The registration of BOLD to T1w did not converge"),
    "bold_t1w_agreement": Look(
        "The T1w image's tissues explain a share of {value} of the mean BOLD image", 0.1, form=".3f"
    ),
}
# Figures that are judged by another figure, by name.
JUDGED_BY = {"brain_volume_usual": "brain_ml"}
# Figures that describe the data or the processing, or that exclusion limits judge.
DESCRIBED = {
    "already_stripped", "background_was_nan", "bias_spread", "n_volumes", "repetition_time",
    "slice_reference_time", "voxel_mm", "mean_fd_power_mm", "share_fd_power_mm_above_0.5",
    "mean_fd_jenkinson_mm", "share_fd_jenkinson_mm_above_0.5", "mean_dvars_percent", "median_tsnr",
    "largest_translation_mm", "largest_rotation_deg", "brain_coverage", "coverage",
    "degrees_of_freedom", "n_regressors", "min_coverage", "non_steady_volumes",
}  # fmt: skip
# Parts of a report that are not figures.
TEXTS = {"status", "sources", "space", "why_none", "cautions", "engines", "methods"}


def is_usual(name: str, value: float) -> bool:
    """Tell whether a figure of ``LOOKS`` is within its usual range."""
    return LOOKS[name].caution(value) is None


def with_cautions(report: Mapping[str, Any]) -> dict[str, Any]:
    """Add cautions on a report's figures to those that it has, and warn about the new ones.

    Many such results are good: the quality figures and pictures show it.
    """
    known = list(report.get("cautions", []))
    told = {
        name: caution
        for name, figure in _flat(report)
        if name in LOOKS and (caution := LOOKS[name].caution(figure)) and caution not in known
    }
    for name, caution in told.items():
        kind = NotConvergedWarning if name.endswith("_converged") else UserWarning
        warnings.warn(caution, kind, stacklevel=2)
    return {**report, "cautions": [*known, *told.values()]}


def unlisted_figures(report: Mapping[str, Any]) -> list[str]:
    """Names in a report that this module does not list: figures that nobody would judge."""
    known = {*LOOKS, *JUDGED_BY, *DESCRIBED, *TEXTS}
    return [name for name, _ in _flat(report) if name not in known]


def _flat(report: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Figures by name; the report on the T1w image has two template agreements."""
    for name, figure in report.items():
        if name == "template_agreement" and isinstance(figure, Mapping):
            for stage, agreement in figure.items():
                yield name if stage == "diffeomorphic" else f"{name}_{stage}", agreement
        else:
            yield name, figure
