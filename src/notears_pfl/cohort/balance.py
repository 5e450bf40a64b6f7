"""Balance: how far patients and controls differ in covariates, within sites.

The standardised difference of a covariate at one site is

    d = (mean of patients − mean of controls) / s,   s² = (s_p² + s_c²) / 2

with s_p², s_c² the variances of the two groups. Over several sites, s_p² and s_c² are pooled within
sites (each site has its own mean), and differences are averaged with weights n_p n_c / (n_p + n_c),
as a regression on group and site would: sites that differ from each other, but not in their groups,
give d = 0.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from notears_pfl.cohort.covariates import as_numbers
from notears_pfl.cohort.exclusion import NO_PARTNER
from notears_pfl.cohort.split import DISCOVERY, VALIDATION

# Standardised differences above this may explain a difference between groups.
UNBALANCED = 0.2
# Subjects that a row describes. Without matching, no row is of those before it.
BEFORE, INCLUDED = "before matching", "included"
ALL_SITES = "all sites"


def within_site_sd(values: pd.Series, patients: pd.Series, sites: pd.Series) -> float:
    """Compute s, the spread within sites and groups; NaN where no site has two of a group."""
    spread = 0.0
    for own in (patients, ~patients):
        at = values[own].groupby(sites[own])
        freedom = (at.count() - 1).clip(lower=0)
        total = freedom.sum()
        spread += float((at.var() * freedom).sum() / total) / 2 if total else np.nan
    return float(np.sqrt(spread))


def standardised_difference(values: pd.Series, patients: pd.Series, sites: pd.Series) -> float:
    """Standardised difference d, patients minus controls.

    Infinite if the groups differ and no subject of a site and group differs from another; NaN if
    it is undefined: without such spread or difference, or with fewer than two values in a group.

    Parameters
    ----------
    values : Series of float
        The covariate; missing values have no part.
    patients : Series of bool
        Whether each subject is a patient.
    sites : Series
        Site of each subject.
    """
    total, weights = 0.0, 0.0
    for _, own in values.dropna().groupby(sites):
        p, c = own[patients[own.index]], own[~patients[own.index]]
        if len(p) and len(c):
            weight = len(p) * len(c) / (len(p) + len(c))
            total, weights = total + weight * (p.mean() - c.mean()), weights + weight
    s = within_site_sd(values, patients, sites)
    if not weights or np.isnan(s):
        return np.nan
    difference = total / weights
    if s > 0:
        return float(difference / s)
    return float(np.copysign(np.inf, difference)) if difference else np.nan


def balance_table(
    subjects: pd.DataFrame, groups: tuple[str, str], sites: Sequence[str], variables: Sequence[str]
) -> pd.DataFrame:
    """Standardised differences before and after matching and in both sets, by site and over all.

    Parameters
    ----------
    subjects : DataFrame
        The cohort: ``site``, ``group``, ``split``, ``included``, ``exclusion`` and the variables.
    groups : tuple of str
        Patients and controls.
    sites : sequence of str
        Sites of the study.
    variables : sequence of str
        Columns to compare; a text column by the share of each of its values except the last.

    Returns
    -------
    DataFrame
        Columns ``subjects`` (``before matching`` if any were set aside by it, ``included``,
        ``discovery``, ``validation``), ``site`` (or ``all sites``), ``variable``; ``n_<group>`` and
        ``missing_<group>``, subjects with and without a value; ``difference``, d; ``by_chance``,
        the absolute difference that groups of these sizes exceed in 5 % of random labellings,
        roughly; ``unbalanced``, whether d exceeds ``UNBALANCED`` either way.
    """
    left_over = subjects["exclusion"].str.startswith(NO_PARTNER)
    numbers = as_numbers(subjects.loc[subjects["included"] | left_over, list(variables)])
    stages = {
        BEFORE: subjects["included"] | left_over,
        INCLUDED: subjects["included"],
        DISCOVERY: subjects["split"] == DISCOVERY,
        VALIDATION: subjects["split"] == VALIDATION,
    }
    if not left_over.any():
        del stages[BEFORE]
    rows = []
    for stage, chosen in stages.items():
        for site in [*sites, ALL_SITES]:
            own = subjects[chosen & ((subjects["site"] == site) | (site == ALL_SITES))]
            patients = own["group"] == groups[0]
            for variable in map(str, numbers):
                values = numbers.loc[own.index, variable]
                known = [int(values[member].count()) for member in (patients, ~patients)]
                d = standardised_difference(values, patients, own["site"])
                row: dict[str, object] = {"subjects": stage, "site": site, "variable": variable}
                for group, n, member in zip(groups, known, (patients, ~patients), strict=True):
                    row |= {f"n_{group}": n, f"missing_{group}": int(member.sum()) - n}
                chance = 1.96 * np.sqrt(sum(1 / n for n in known)) if all(known) else np.nan
                unbalanced = bool(abs(d) > UNBALANCED)
                rows.append(row | {"difference": d, "by_chance": chance, "unbalanced": unbalanced})
    counts = [f"{figure}_{group}" for group in groups for figure in ("n", "missing")]
    figures = ["difference", "by_chance", "unbalanced"]
    return pd.DataFrame(rows, columns=["subjects", "site", "variable", *counts, *figures])
