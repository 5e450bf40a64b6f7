"""Tables of the page: frames turned into titled columns of formatted cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from markupsafe import Markup

MISSING = "–"


@dataclass(frozen=True)
class Column:
    """Title of a column, and whether it holds numbers (set flush right)."""

    title: str
    numeric: bool = False


@dataclass(frozen=True)
class Cell:
    """What a cell shows, what it is sorted by, and whether it stands out."""

    text: str | Markup
    order: str | float | None = None
    flagged: bool = False


@dataclass(frozen=True)
class PageTable:
    """A table as the page shows it.

    ``interactive`` tables can be sorted, searched and paged through, and narrowed by the columns
    whose titles are ``filters``.
    """

    name: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    interactive: bool = False
    filters: Sequence[str] = ()


def page_table(
    name: str, caption: str, frame: pd.DataFrame, titles: Mapping[str, str],
    formats: Mapping[str, str] | None = None, interactive: bool = False,
) -> PageTable:  # fmt: skip
    """Show the columns of ``frame`` that have a title, numbers by their format (``".2f"``)."""
    shown = [column for column in titles if column in frame]
    formats = formats or {}
    return PageTable(
        name,
        caption,
        [Column(titles[c], pd.api.types.is_numeric_dtype(frame[c])) for c in shown],
        [
            [cell(value, formats.get(c, "")) for c, value in zip(shown, row, strict=True)]
            for row in frame[shown].itertuples(index=False, name=None)
        ],
        interactive,
    )


def link(text: str, address: str) -> Markup:
    """Text that leads to ``address``."""
    return Markup('<a href="{}">{}</a>').format(address, text)


def cell(value: Any, form: str = "") -> Cell:
    """Format a value; what is missing shows as a dash and sorts last."""
    if isinstance(value, Cell):
        return value
    if value is None or (not isinstance(value, str) and pd.isna(value)):
        return Cell(MISSING, "")
    if isinstance(value, bool):
        return Cell("yes" if value else "no")
    if isinstance(value, int | float):
        return Cell(format(value, form or "g").replace("-", "−"), float(value))
    return Cell(str(value))
