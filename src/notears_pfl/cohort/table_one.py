"""Tables that describe the cohort: subjects remaining at each step, and table one."""

from collections.abc import Sequence

import pandas as pd

from notears_pfl.cohort.balance import standardised_difference
from notears_pfl.cohort.covariates import as_numbers
from notears_pfl.cohort.split import DISCOVERY, VALIDATION


def flow_table(subjects: pd.DataFrame) -> pd.DataFrame:
    """Count the subjects of each site and group at each step, from found to split.

    ``subjects`` has ``site``, ``group``, ``not_enrolled``, ``failure``, ``included``, ``split``.
    """
    steps = pd.DataFrame(
        {
            "found": True,
            "preprocessed": (subjects["failure"] == "") & (subjects["not_enrolled"] == ""),
            "included": subjects["included"],
            DISCOVERY: subjects["split"] == DISCOVERY,
            VALIDATION: subjects["split"] == VALIDATION,
        }
    )
    keys = [subjects["site"], subjects["group"]]
    return steps.groupby(keys, sort=False, dropna=False).sum().astype(int).reset_index()


def described_columns(subjects: pd.DataFrame, wanted: Sequence[str]) -> list[str]:
    """Columns for table one: motion, and those of ``wanted`` with at least one value."""
    columns = dict.fromkeys([*wanted, "mean_fd_mm"])
    return [name for name in columns if name in subjects and subjects[name].notna().any()]


def table_one(
    subjects: pd.DataFrame, groups: tuple[str, str], variables: Sequence[str]
) -> pd.DataFrame:
    """Describe patients and controls at each site, with standardised mean differences.

    Parameters
    ----------
    subjects : DataFrame
        The included subjects, with ``site``, ``group`` and the variables.
    groups : tuple of str
        Patients and controls.
    variables : sequence of str
        Columns to describe; a text column by the share of each of its values except the last.

    Returns
    -------
    DataFrame
        Columns ``site``, ``variable``; ``n_<group>``, ``mean_<group>``, ``sd_<group>`` for both
        groups; ``smd``, the standardised difference between them (:mod:`balance`).
    """
    numeric = as_numbers(subjects[list(variables)])
    rows = []
    for site, members in subjects.groupby("site", sort=False):
        for variable in map(str, numeric):
            row: dict[str, object] = {"site": site, "variable": variable}
            for group in groups:
                values = numeric[variable][members.index[members["group"] == group]].dropna()
                row[f"n_{group}"] = len(values)
                row[f"mean_{group}"], row[f"sd_{group}"] = values.mean(), values.std()
            row["smd"] = standardised_difference(
                numeric.loc[members.index, variable], members["group"] == groups[0], members["site"]
            )
            rows.append(row)
    moments_of = [f"{figure}_{group}" for group in groups for figure in ("n", "mean", "sd")]
    return pd.DataFrame(rows, columns=["site", "variable", *moments_of, "smd"])
