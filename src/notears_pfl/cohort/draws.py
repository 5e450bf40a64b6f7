"""Draws of validation subjects for the comparison of methods (section 5.2).

A draw has four sets of subjects: a given number of patients and of controls from every site, as in
the paper, and two disjoint sets of the same sizes from patients and controls together. The latter
are drawn regardless of group, which makes the permutation test valid.
"""

from collections.abc import Iterable, Sequence
from math import comb

import pandas as pd

from notears_pfl.cohort.split import VALIDATION
from notears_pfl.seeds import stream

# Sets drawn from both groups together. Group labels have no underscore, so names cannot clash.
MIXED = ("mixed_1", "mixed_2")


def draw_subjects(
    cohort: pd.DataFrame, groups: tuple[str, str], sites: Sequence[str], sizes: tuple[int, int],
    numbers: Iterable[int], seed: int,
) -> pd.DataFrame:  # fmt: skip
    """Draw validation subjects, without replacement within a draw.

    Parameters
    ----------
    cohort : DataFrame
        ``participant_id``, ``site``, ``group`` and ``split``.
    groups : tuple of str
        Patients and controls.
    sites : sequence of str
        Sites of the study.
    sizes : tuple of int
        Patients and controls to draw at each site; all of them if there are fewer.
    numbers : iterable of int
        Numbers of the draws. A draw depends on its number only, not on how many there are.
    seed : int
        Seed of the study.

    Returns
    -------
    DataFrame
        Columns ``draw``, ``set`` (a group or one of ``MIXED``), ``site`` and
        ``participant_id``.
    """
    rows = []
    for draw in numbers:
        for site in sites:
            pools = [_validation_subjects(cohort, site, group) for group in groups]
            taken = [min(size, len(pool)) for size, pool in zip(sizes, pools, strict=True)]
            for group, pool, size in zip(groups, pools, taken, strict=True):
                rng = stream(seed, "draw", str(draw), site, group)
                rows += [(draw, group, site, name) for name in rng.permutation(pool)[:size]]
            pooled = sorted(name for pool in pools for name in pool)
            both = stream(seed, "draw", str(draw), site, "mixed").permutation(pooled)
            rows += [(draw, MIXED[0], site, name) for name in both[: taken[0]]]
            rows += [(draw, MIXED[1], site, name) for name in both[taken[0] : sum(taken)]]
    return pd.DataFrame(rows, columns=["draw", "set", "site", "participant_id"])


def describe_draws(
    draws: pd.DataFrame, cohort: pd.DataFrame, groups: tuple[str, str], sites: Sequence[str],
    sizes: tuple[int, int],
) -> pd.DataFrame:  # fmt: skip
    """Count the different draws of each site and group, and note where there are too few.

    Returns
    -------
    DataFrame
        Columns ``site``, ``group``, ``n_validation`` (validation subjects), ``n_drawn`` (subjects
        per draw), ``n_possible`` (possible draws), ``n_distinct`` (different draws made), ``note``.
    """
    rows = []
    n_draws = draws["draw"].nunique()
    for site in sites:
        for group, size in zip(groups, sizes, strict=True):
            of = draws[(draws["site"] == site) & (draws["set"] == group)]
            made = {frozenset(names) for _, names in of.groupby("draw")["participant_id"]}
            available, taken = len(_validation_subjects(cohort, site, group)), len(of) // n_draws
            possible = comb(available, taken)
            rows.append(
                {
                    "site": site,
                    "group": group,
                    "n_validation": available,
                    "n_drawn": taken,
                    "n_possible": possible,
                    "n_distinct": len(made),
                    "note": _note(available, taken, size, possible, n_draws),
                }
            )
    return pd.DataFrame(rows)


def _note(available: int, taken: int, size: int, possible: int, n_draws: int) -> str:
    notes = []
    if taken < size:
        notes.append(f"{available} of the {size} subjects that a draw should have")
    if possible == 1:
        notes.append("every draw is the same")
    elif possible < n_draws:
        notes.append(f"only {possible} different draws are possible, so some of {n_draws} repeat")
    return "; ".join(notes)


def _validation_subjects(cohort: pd.DataFrame, site: str, group: str) -> list[str]:
    """Ids of the validation subjects of a site and group, in alphabetical order."""
    of = (cohort["site"] == site) & (cohort["group"] == group) & (cohort["split"] == VALIDATION)
    return sorted(cohort.loc[of, "participant_id"])
