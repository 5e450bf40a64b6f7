"""Strata of subjects, within which labels are permuted."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from notears_pfl.cohort.covariates import subjects_without_values
from notears_pfl.errors import CohortError

# A column of numbers with more values than this is cut at its median.
MOST_VALUES = 5


def strata_of(subjects: pd.DataFrame, columns: Sequence[str]) -> np.ndarray:
    """Give every subject the number of its stratum: those that agree in all columns.

    A column of many numbers, such as age, is cut at the median of the site. Subjects without a
    value form a stratum of their own.
    """
    parts = pd.DataFrame(index=subjects.index)
    for name in columns:
        if name not in subjects or subjects[name].isna().all():
            msg = (
                f"evidence.strata: the participants table has no values in column {name!r}. "
                "Correct the name, or remove it."
            )
            raise CohortError(msg)
        values = subjects[name]
        if pd.api.types.is_numeric_dtype(values) and values.nunique() > MOST_VALUES:
            middle = values.groupby(subjects["site"]).transform("median")
            values = (values > middle).where(values.notna())
        parts[name] = values.astype(object).where(values.notna(), "unknown").astype(str)
    if parts.empty and not len(parts.columns):
        return np.zeros(len(subjects), dtype=int)
    return parts.groupby(list(parts.columns), sort=True).ngroup().to_numpy()


def strata_without_values(subjects: pd.DataFrame, columns: Sequence[str]) -> Iterator[str]:
    """Name the subjects of each column's stratum of unknown values."""
    consequence = "Their labels are permuted among themselves only, as a stratum of their own."
    return subjects_without_values(subjects, columns, "evidence.strata", consequence)
