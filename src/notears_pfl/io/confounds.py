"""Read the confounds that fMRIPrep has written beside a run."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from notears_pfl.errors import TableError
from notears_pfl.io.tables import read_table


def read_confounds(path: str | Path, numbers: Sequence[str]) -> pd.DataFrame:
    """Read a table of confounds; those columns of ``numbers`` that it has hold numbers alone."""
    table = read_table(path)
    for name in [name for name in numbers if name in table]:
        wrong = table[name].notna() & pd.to_numeric(table[name], errors="coerce").isna()
        if wrong.any():
            row = int(wrong.to_numpy().argmax())
            msg = (
                f"{path} row {row + 1}: {name} must be a number; found {table[name].iloc[row]!r}. "
                "Copy the file from fMRIPrep again."
            )
            raise TableError(msg)
    return table
