"""The parts of a page: sections, figures with their captions, and tables of formatted cells."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

MISSING = "–"
NOT_RUN = (
    "Not run. Run `snakemake --cores all {target}`, then `snakemake --cores all` to include the "
    "results here."
)
OUTDATED = (
    "Not shown: the existing results do not match the current study. Changed since they were "
    "computed: {changed}. Run `snakemake --cores all {target}` to update them, then `snakemake "
    "--cores all` to include them here."
)
MAX_CHANGES_NAMED = 5


@dataclass(frozen=True)
class Section:
    """A section of the page: the template ``sections/<name>.html`` filled with ``content``.

    ``missing`` says why a section has nothing to show; its template is then not used.
    """

    name: str
    title: str
    content: Mapping[str, Any] = field(default_factory=dict)
    missing: str = ""


@dataclass(frozen=True)
class Caption:
    """Alternative text and caption of a figure, with placeholders for a study's own words.

    ``conclude`` says in one sentence what to conclude from the figure, and what not.
    The page fills the placeholders from the study's results. Snakemake's captions in
    ``workflow/report`` are generated from the same text (``tools/report_captions.py``).
    """

    alt: str
    text: str
    conclude: str = ""

    def filled(self, **words: Any) -> "Caption":
        """Replace the placeholders."""
        texts = (self.alt, self.text, self.conclude)
        return Caption(*(text.format(**words) for text in texts))


@dataclass(frozen=True)
class Picture:
    """A figure of the page: its image as a data URL, its size, texts and file name."""

    name: str
    caption: Caption
    source: str
    width: int
    height: int


@dataclass(frozen=True)
class SubjectCard:
    """A subject at a glance: its status with the reason, its cautions and small pictures.

    ``address`` is empty if the subject has no page. ``pictures`` are by title; None where there is
    no picture.
    """

    participant: str
    address: str
    status: str
    reason: str
    cautions: str
    pictures: Mapping[str, Picture | None]


@dataclass(frozen=True)
class SetAside:
    """Subjects that failed or were excluded by a quality limit, and the contact sheets of all.

    ``cards`` are those of the first subjects out of ``n``; ``sheets`` are addresses by site,
    ``outlines`` the colours and names of the outlines.
    """

    cards: Sequence[SubjectCard]
    n: int
    sheets: Mapping[str, str]
    outlines: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Column:
    """Title of a column, and whether it holds numbers (aligned right).

    The page shows ``extra`` columns only when asked to, and in print.
    """

    title: str
    numeric: bool = False
    extra: bool = False


@dataclass(frozen=True)
class Cell:
    """Text of a cell, the value that it is sorted by, and whether it is flagged."""

    text: str | Markup
    order: str | float | None = None
    flagged: bool = False


@dataclass(frozen=True)
class PageTable:
    """A table of the page.

    Readers can sort, search and page through ``interactive`` tables, and filter them by the
    columns whose titles are in ``filters``.
    """

    name: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    interactive: bool = False
    filters: Sequence[str] = ()

    @property
    def n_extra(self) -> int:
        """Number of columns that are shown only when asked for."""
        return sum(column.extra for column in self.columns)


def page_table(
    name: str, caption: str, frame: pd.DataFrame, titles: Mapping[str, str],
    formats: Mapping[str, str] | None = None, interactive: bool = False,
    extra: Collection[str] = (),
) -> PageTable:  # fmt: skip
    """Show the columns of ``frame`` that have a title, numbers by their format (``".2f"``).

    The ``extra`` ones are shown only when asked for.
    """
    shown = [column for column in titles if column in frame]
    formats = formats or {}
    return PageTable(
        name,
        caption,
        [Column(titles[c], pd.api.types.is_numeric_dtype(frame[c]), c in extra) for c in shown],
        [
            [cell(value, formats.get(c, "")) for c, value in zip(shown, row, strict=True)]
            for row in frame[shown].itertuples(index=False, name=None)
        ],
        interactive,
    )


def link(text: str, address: str) -> Markup:
    """Text that links to ``address``."""
    return Markup('<a href="{}">{}</a>').format(address, text)


def cell(value: Any, form: str = "") -> Cell:
    """Format a value; missing values are shown as a dash."""
    if isinstance(value, Cell):
        return value
    if value is None or (not isinstance(value, str) and pd.isna(value)):
        return Cell(MISSING, "")
    if isinstance(value, bool):
        return Cell("yes" if value else "no")
    if isinstance(value, int | float | np.number):
        return Cell(format(value, form or "g").replace("-", "−"), float(value))
    return Cell(str(value))


def reason_not_shown(target: str, changed: Sequence[str] | None) -> str:
    """Say why the results of a target are not shown: not run, or outdated by what ``changed``."""
    if not changed:
        return NOT_RUN.format(target=target)
    more = len(changed) - MAX_CHANGES_NAMED
    named = ", ".join(changed[:MAX_CHANGES_NAMED]) + (f" and {more} more" if more > 0 else "")
    return OUTDATED.format(target=target, changed=named)
