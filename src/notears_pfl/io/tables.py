"""Read and write the tables that travel between rules, and those that users bring."""

import csv
import io
import re
from collections.abc import Callable, Container, Iterable, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from notears_pfl.errors import TableError
from notears_pfl.io.atomic import whole_file
from notears_pfl.io.text import (
    MissingError,
    UnreadableError,
    read_first_line,
    read_text,
    shortened,
)

# Columns that hold names: the subject 0051 is not number 51, and a site may be called NA.
LABELS = (
    "participant_id", "site", "group", "set", "abbreviation", "roi", "from", "to", "variable",
)  # fmt: skip
# Longer numbers are beyond what a computer calculates with.
MOST_DIGITS = 300
_ENDLESS = re.compile(rf"[0-9]{{{MOST_DIGITS},}}")
# Digits that give a number back to the last bit.
EXACT = "%.17g"
OTHER_MARKS = {";": "semicolons (;)", "\t": "tabs", ",": "commas"}
SEPARATED = {"\t": "tab-separated", ",": "comma-separated"}
# Text that a spreadsheet would run: the sign of a formula, also behind blanks or in full width,
# and after it what makes it neither a number nor a sign alone.
_FORMULA = re.compile(
    r"'*\s*[=+\-@＝＋－＠](?!\s*\Z)"
    r"(?!(?<=[+\-])((\d+\.?\d*|\.\d+)(e[+\-]?\d+)?|inf|infinity|nan)\s*\Z)",
    re.IGNORECASE,
)


def read_relmat(path: str | Path) -> pd.DataFrame:
    """Read a weighted adjacency matrix, rows and columns labelled by ROI.

    Entry (i, j) is the weight of the edge from ROI i to ROI j.
    """
    text = table_text(path)
    relmat = _parsed(text, path, index_col=0)
    relmat.index = pd.Index(_text(text, path).iloc[:, 0].tolist(), name=relmat.index.name)
    for row, column in zip_longest(relmat.index, relmat.columns):
        if row != column:
            msg = (
                f"{path}: rows and columns must list the same ROIs in the same order; "
                f"row {row!r} meets column {column!r}. Delete the file and run again."
            )
            raise TableError(msg)
    return relmat


def read_table(
    path: str | Path, text: Iterable[str] = (), only: Container[str] | None = None
) -> pd.DataFrame:
    """Read a TSV, or a CSV by its name; ``n/a`` and empty cells are missing.

    Columns of ``LABELS`` and ``text`` are never numbers, and in them only those cells are missing.
    Of other columns than ``only``, if given, the cells are counted and not kept.
    """
    separator = "," if str(path).endswith(".csv") else "\t"
    content = table_text(path, separator)
    usecols = None if only is None else lambda name: restored(name) in only
    table = _parsed(content, path, separator, na_values=["n/a"], usecols=usecols)
    named = [column for column in dict.fromkeys((*LABELS, *text)) if column in table]
    return table.assign(**_text(content, path, separator)[named]) if named else table


def read_if_given(path: str | Path | Sequence[str]) -> pd.DataFrame | None:
    """Read a table; None where a rule has no such input."""
    return read_table(str(path)) if path else None


def read_columns(path: str | Path, separator: str) -> pd.DataFrame:
    """Read columns of numbers under their names, whatever these are."""
    return _parsed(table_text(path, separator), path, separator, na_values=["n/a"])


def read_names(path: str | Path, separator: str) -> pd.DataFrame:
    """Read the names of columns as :func:`read_columns` does, and no rows."""
    return _parsed(table_text(path, separator, read_first_line), path, separator, nrows=0)


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


def read_regions(path: str | Path) -> pd.DataFrame:
    """Read a table of regions that was checked, and complete it."""
    return completed_regions(read_table(path), path)


def completed_regions(table: pd.DataFrame, path: str | Path) -> pd.DataFrame:
    """Fill in what a table of regions may leave out: numbers, names, lobes, which are selected.

    A column ``network`` stands in for ``lobe``.
    """
    if "lobe" not in table and "network" not in table:
        msg = (
            f"{path}: a column 'lobe' or 'network' is needed: reports sort and colour regions by "
            "it. Add one; where there is neither, write left and right."
        )
        raise TableError(msg)
    known = {
        "index": range(1, len(table) + 1),
        "name": table["abbreviation"],
        "lobe": table.get("network"),
        "selected": True,
    }
    return table.assign(**{name: cells for name, cells in known.items() if name not in table})


def read_cells(path: str | Path) -> pd.DataFrame:
    """Read a TSV as it is written, every cell as text."""
    return _parsed(table_text(path), path, dtype=str, keep_default_na=False)


def read_rows(path: str | Path) -> list[list[str]]:
    """Read the cells of a TSV line by line, whatever its shape; blank lines have none."""
    return _rows(_table_file(path, "\t"), path, "\t")


def table_text(
    path: str | Path, separator: str = "\t", read: Callable[[str | Path], str] = read_text
) -> str:
    """Text of a table with a line of different names, and as many cells in every line.

    The library that makes numbers of it would rename columns and fill up lines in silence.
    """
    text = _table_file(path, separator, read)
    names, *rows = [row for row in _rows(text, path, separator) if row] or [[]]
    if not names:
        raise TableError(_no_table(path, "it is empty", separator))
    if found := other_separator([names, *rows], separator):
        needed = SEPARATED[separator].removesuffix("-separated")
        msg = (
            f"{path}: the columns are separated by {found}, but {needed}s are needed. Save the "
            "table as TSV (tabs), or as CSV with commas between columns and points in numbers."
        )
        raise TableError(msg)
    places: dict[str, int] = {}
    for place, name in enumerate(names, start=1):
        if name.strip() and places.setdefault(name, place) != place:
            msg = (
                f"{path}: columns {places[name]} and {place} are both called {shortened(name)}. "
                "Rename or remove one."
            )
            raise TableError(msg)
    for number, row in enumerate(rows, start=1):
        if len(row) != len(names):
            reason = f"row {number} has {len(row)} cells under {len(names)} names"
            raise TableError(_no_table(path, reason, separator))
        if max(map(len, row)) > MOST_DIGITS and any(map(_ENDLESS.search, row)):
            reason = f"row {number} has a number of more than {MOST_DIGITS} digits"
            raise TableError(_no_table(path, reason, separator))
    return text


def other_separator(rows: Sequence[Sequence[str]], separator: str) -> str:
    """Name what separates the columns of a table that has a single one with ``separator``."""
    lines = [separator.join(row) for row in rows[:3]]
    for mark, called in OTHER_MARKS.items():
        counts = {line.count(mark) for line in lines}
        if mark != separator and len(lines) > 1 and len(counts) == 1 and min(counts) > 0:
            return called if len(rows[0]) == 1 else ""
    return ""


def _table_file(
    path: str | Path, separator: str, read: Callable[[str | Path], str] = read_text
) -> str:
    try:
        return read(path)
    except MissingError as error:
        msg = f"{path}: no such table. Create it, or correct its path in the configuration."
        raise TableError(msg) from error
    except UnreadableError as error:
        raise TableError(_no_table(path, str(error), separator)) from error


def _rows(text: str, path: str | Path, separator: str) -> list[list[str]]:
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    # Without quotes, a table is split where its separators are, which takes half the time.
    is_plain = '"' not in text and "\r" not in text
    rows = (line.split(separator) for line in text.split("\n")) if is_plain else lines
    try:
        # Blanks alone make no line, as for the library below.
        return [row if len(row) > 1 or "".join(row).strip() else [] for row in rows]
    except csv.Error as error:
        reason = f"line {lines.line_num}: {error}"
        raise TableError(_no_table(path, reason, separator)) from error


def _no_table(path: str | Path, reason: str, separator: str) -> str:
    return (
        f"{path}: cannot be read as a table ({reason}). It must be {SEPARATED[separator]} text in "
        "UTF-8 with a line of column names: export or copy it again."
    )


def _parsed(text: str, path: str | Path, separator: str = "\t", **options: Any) -> pd.DataFrame:
    """Table of a text that was looked through."""
    try:
        table = pd.read_csv(io.StringIO(text), sep=separator, **options)
    except (ValueError, OverflowError) as error:
        raise TableError(_no_table(path, str(error).strip(), separator)) from error
    return _changed(table, restored) if "'" in text else table


def _text(text: str, path: str | Path, separator: str = "\t") -> pd.DataFrame:
    """Read cells as they are written, but for blanks around them."""
    cells = _parsed(text, path, separator, dtype=str, keep_default_na=False)
    bare = cells.apply(lambda column: column.str.strip())
    return bare.mask(bare.isin(["", "n/a"]))


def write_table(table: pd.DataFrame, path: str | Path, *, index: bool = True) -> None:
    """Write ``table`` as TSV, floats exact to the last bit, missing values as ``n/a``.

    Text that a spreadsheet would run as a formula gets an apostrophe, which our readers remove.
    """
    changed = _changed(table, harmless)
    form: dict[str, Any] = {"sep": "\t", "index": index, "lineterminator": "\n"}
    with whole_file(path) as temporary:
        if index or not _are_finite_numbers(changed):
            changed.to_csv(temporary, float_format=EXACT, na_rep="n/a", **form)
            return
        # Series, of which there are many: a line at a time takes a third of the time.
        line = "\t".join([EXACT] * changed.shape[1]) + "\n"
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            file.write(changed.iloc[:0].to_csv(**form))
            file.writelines(line % tuple(row) for row in changed.to_numpy().tolist())


def _are_finite_numbers(table: pd.DataFrame) -> bool:
    """Whether all cells of a table are finite floating-point numbers."""
    is_float = [dtype in (np.float32, np.float64) for dtype in table.dtypes]
    return any(is_float) and all(is_float) and bool(np.isfinite(table.to_numpy()).all())


def harmless(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet would run as a formula.

    Breaks inside a cell become line feeds: a carriage return would begin a new row.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return f"'{text}" if _FORMULA.match(text) else text


def restored(text: str) -> str:
    """Remove the apostrophe of ``harmless``."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def _changed(table: pd.DataFrame, change: Callable[[str], str]) -> pd.DataFrame:
    """Change every text of a table: cells, labels of rows, and names of columns."""
    changed = table.copy(deep=False)
    for place, (_, column) in enumerate(table.items()):
        old = [] if pd.api.types.is_numeric_dtype(column) else column.tolist()
        new = [change(cell) if isinstance(cell, str) else cell for cell in old]
        if new != old:
            changed.isetitem(place, pd.Series(new, dtype=column.dtype).array)
    changed.index = _renamed(table.index, change)
    changed.columns = _renamed(table.columns, change)
    return changed


def _renamed(labels: pd.Index, change: Callable[[str], str]) -> pd.Index:
    if pd.api.types.is_numeric_dtype(labels):
        return labels
    return labels.map(lambda label: change(label) if isinstance(label, str) else label)
