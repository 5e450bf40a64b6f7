"""Exclusion criteria: decide for every subject whether it is included, or why not."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

# Start of the reason of a subject that passes the criteria, but is left over by matching.
NO_PARTNER = "no partner"


@dataclass(frozen=True)
class Limits:
    """Limits of the quality figures; the settings of ``cohort.limits``."""

    max_mean_fd_mm: float
    max_share_fd_above: float
    min_volumes: int
    min_bold_t1w_agreement: float = 0.75
    min_brain_coverage: float = 0.6
    min_brain_ml: float = 900
    max_brain_ml: float = 2700
    min_head_agreement: float = 0.45
    min_surface_correction: float = 0.75
    max_surface_correction: float = 1.3
    min_template_agreement_affine: float = 0.3
    min_template_agreement: float = 0.55
    min_affine_volume: float = 0.5
    max_affine_volume: float = 1.4
    min_jacobian: float = 0.03


@dataclass(frozen=True)
class Criterion:
    """A column of the cohort's table, the name of its limit, and how a reason words it.

    A ``limit`` that starts with ``min_`` is the smallest value of an included subject, one that
    starts with ``max_`` the largest.
    """

    column: str
    limit: str
    words: str
    form: str = ".2f"
    unit: str = ""

    def reason(self, value: float, limits: Limits) -> str | None:
        """Reason to exclude a subject with this value; None for a good or missing one."""
        limit = getattr(limits, self.limit)
        smallest = self.limit.startswith("min_")
        if not (value < limit if smallest else value > limit):
            return None
        sign = "<" if smallest else ">"
        text = self.form if self.form.endswith("%") else "g"
        return f"{self.words} {value:{self.form}} {sign} {limit:{text}}{self.unit}"


CRITERIA = (
    Criterion("mean_fd_mm", "max_mean_fd_mm", "motion: mean FD", unit=" mm"),
    Criterion(
        "share_fd_above", "max_share_fd_above", "motion: share of volumes above 0.5 mm", ".0%"
    ),
    Criterion("n_volumes", "min_volumes", "too few volumes:", ".0f"),
    Criterion("brain_ml", "min_brain_ml", "brain extraction: volume", ".0f", " ml"),
    Criterion("brain_ml", "max_brain_ml", "brain extraction: volume", ".0f", " ml"),
    Criterion("head_agreement", "min_head_agreement", "brain extraction: agreement with the head "
              "template"),
    Criterion("surface_correction", "min_surface_correction", "brain extraction: correction of the "
              "surface"),
    Criterion("surface_correction", "max_surface_correction", "brain extraction: correction of the "
              "surface"),
    Criterion("template_agreement_affine", "min_template_agreement_affine", "normalisation: "
              "agreement with the template, affine"),
    Criterion("template_agreement", "min_template_agreement", "normalisation: agreement with the "
              "template"),
    Criterion("affine_volume", "min_affine_volume", "normalisation: volume by the affine"),
    Criterion("affine_volume", "max_affine_volume", "normalisation: volume by the affine"),
    Criterion("smallest_jacobian", "min_jacobian", "normalisation: smallest Jacobian", ".3f"),
    Criterion("bold_t1w_agreement", "min_bold_t1w_agreement", "registration: agreement of BOLD "
              "and T1w"),
    Criterion("brain_coverage", "min_brain_coverage", "coverage: share of the brain"),
)  # fmt: skip


def exclusion_reasons(
    subjects: pd.DataFrame, groups: tuple[str, str], sites: Sequence[str], limits: Limits
) -> pd.Series:
    """Give the reasons to exclude each subject; an empty text means that it is included.

    Parameters
    ----------
    subjects : DataFrame
        One row per subject with ``site``, ``group``, ``not_enrolled`` (why it was never
        processed, or empty), ``failure`` (why its processing failed, or empty) and the columns of
        ``CRITERIA``. A missing figure excludes no one.
    groups : tuple of str
        Labels of the patients and of the controls.
    sites : sequence of str
        The sites that have both groups.
    limits : Limits
        Limits of the quality figures.
    """
    reasons = [
        "; ".join(_reasons(row, groups, sites, limits)) for row in subjects.to_dict("records")
    ]
    return pd.Series(reasons, index=subjects.index, dtype=object)


def _reasons(
    row: Mapping[Hashable, Any], groups: tuple[str, str], sites: Sequence[str], limits: Limits
) -> list[str]:
    if row["not_enrolled"]:
        return [f"not enrolled: {row['not_enrolled']}"]
    if row["failure"]:
        return [f"failed: {row['failure']}"]
    reasons = []
    if row["group"] not in groups:
        reasons.append(f"group {row['group']!r} is neither {groups[0]} nor {groups[1]}")
    if row["site"] not in sites:
        reasons.append(f"site {row['site']} lacks one of the groups")
    found = (
        criterion.reason(row[criterion.column], limits)
        for criterion in CRITERIA
        if criterion.column in row
    )
    return reasons + [reason for reason in found if reason]
