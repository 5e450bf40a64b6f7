"""Exclusion criteria: decide for every subject whether it is included, or why not."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd


@dataclass(frozen=True)
class Limits:
    """Limits of the quality figures; the settings of ``cohort.limits``."""

    max_mean_fd_mm: float
    max_share_fd_above: float
    min_volumes: int
    min_bold_t1w_agreement: float


def exclusion_reasons(
    subjects: pd.DataFrame, groups: tuple[str, str], sites: Sequence[str], limits: Limits
) -> pd.Series:
    """Give the reasons to exclude each subject; an empty text means that it is included.

    Parameters
    ----------
    subjects : DataFrame
        One row per subject with ``site``, ``group``, ``not_enrolled`` (why it was never
        processed, or empty), ``failure`` (why its processing failed, or empty),
        ``mean_fd_mm``, ``share_fd_above``, ``n_volumes`` and ``bold_t1w_agreement``. A missing
        figure excludes no one.
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
    if row["mean_fd_mm"] > limits.max_mean_fd_mm:
        reasons.append(f"motion: mean FD {row['mean_fd_mm']:.2f} > {limits.max_mean_fd_mm} mm")
    if row["share_fd_above"] > limits.max_share_fd_above:
        share = f"{row['share_fd_above']:.0%} > {limits.max_share_fd_above:.0%}"
        reasons.append(f"motion: share of volumes above 0.5 mm {share}")
    if row["n_volumes"] < limits.min_volumes:
        reasons.append(f"too few volumes: {row['n_volumes']:.0f} < {limits.min_volumes}")
    if row["bold_t1w_agreement"] < limits.min_bold_t1w_agreement:
        agreement = f"{row['bold_t1w_agreement']:.3f} < {limits.min_bold_t1w_agreement}"
        reasons.append(f"registration: agreement of BOLD and T1w {agreement}")
    return reasons
