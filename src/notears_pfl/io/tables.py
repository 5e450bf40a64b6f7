"""Read and write the tables that travel between rules."""

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pandas as pd

from notears_pfl.errors import TableError
from notears_pfl.io.atomic import whole_file

# Columns that hold names: the subject 0051 is not number 51, and a site may be called NA.
LABELS = (
    "participant_id", "site", "group", "set", "abbreviation", "roi", "from", "to", "variable",
)  # fmt: skip


def read_relmat(path: str | Path) -> pd.DataFrame:
    """Read a weighted adjacency matrix, rows and columns labelled by ROI.

    Entry (i, j) is the weight of the edge from ROI i to ROI j.
    """
    relmat = pd.read_csv(path, sep="\t", index_col=0)
    relmat.index = pd.Index(_text(path, [0]).iloc[:, 0].tolist(), name=relmat.index.name)
    for row, column in zip_longest(relmat.index, relmat.columns):
        if row != column:
            msg = (
                f"{path}: rows and columns must list the same ROIs in the same order; "
                f"row {row!r} meets column {column!r}. Delete the file and run again."
            )
            raise TableError(msg)
    return relmat


def read_table(path: str | Path, text: Iterable[str] = ()) -> pd.DataFrame:
    """Read a TSV; ``n/a`` and empty cells are missing.

    Columns of ``LABELS`` and ``text`` are never numbers, and in them only those cells are missing.
    """
    try:
        table = pd.read_csv(path, sep="\t", na_values=["n/a"])
    except FileNotFoundError:
        msg = f"{path}: no such table. Create it, or correct its path in the configuration."
        raise TableError(msg) from None
    except ValueError as error:
        # Empty, ragged, or not UTF-8.
        msg = (
            f"{path}: no table can be read ({str(error).strip()}). It must be tab-separated text "
            "in UTF-8 with a line of column names: export or copy it again."
        )
        raise TableError(msg) from error
    named = [column for column in dict.fromkeys((*LABELS, *text)) if column in table]
    return table.assign(**_text(path, named)) if named else table


def read_confounds(path: str | Path, numbers: Sequence[str]) -> pd.DataFrame:
    """Read fMRIPrep's confounds; those of the columns ``numbers`` that it has must be numeric."""
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


def _text(path: str | Path, columns: list[Any]) -> pd.DataFrame:
    """Read columns as they are written, but for blanks around them."""
    cells = pd.read_csv(path, sep="\t", usecols=columns, dtype=str, keep_default_na=False)
    bare = cells.apply(lambda column: column.str.strip())
    return bare.mask(bare.isin(["", "n/a"]))


def write_table(table: pd.DataFrame, path: str | Path, *, index: bool = True) -> None:
    """Write ``table`` as TSV, floats exact to the last bit, missing values as ``n/a``."""
    with whole_file(path) as temporary:
        table.to_csv(
            temporary,
            sep="\t",
            index=index,
            float_format="%.17g",
            na_rep="n/a",
            lineterminator="\n",
        )
