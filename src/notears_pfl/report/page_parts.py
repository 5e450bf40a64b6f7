"""The parts of a page: sections, figures with their captions, and tables of formatted cells."""

import argparse
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

MISSING = "–"
NOT_RUN = Markup(
    "Not run. Run <code>{target}</code>, then <code>{study}</code> to include the results here."
)
OUTDATED = Markup(
    "Not shown: the existing results do not match the current study. Changed since they were "
    "computed: {changed}. Run <code>{target}</code> to update them, then <code>{study}</code> to "
    "include them here."
)
MAX_CHANGES_NAMED = 5
# Sites, or what is said of each, that a line names; files whose checksums the page shows.
MOST_NAMED, MOST_FILES = 12, 200
# Rows from which readers page through a table, and from which its rows are loaded from files beside
# the page only when they are wanted; that many are in the page all the same.
MANY_ROWS, MOST_ROWS, FIRST_ROWS = 60, 1000, 15
# Rows of such a file, and records of the connections.
ROWS_PER_PART, RECORDS_PER_PART = 2000, 200


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
    """A figure of the page: its image, its size in pixels, texts and file name.

    ``source`` is a data URL, or the address of the image's file if ``linked``.
    """

    name: str
    caption: Caption
    source: str
    width: int
    height: int
    linked: bool = False


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

    Readers can sort, search and page through ``interactive`` tables and those of many rows, and
    filter them by the columns whose titles are in ``filters``. ``file`` is the file of results
    with all rows, which the page names where it does not hold them itself; ``file_note`` says in
    what the file's rows differ.
    """

    name: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    interactive: bool = False
    filters: Sequence[str] = ()
    file: str = ""
    file_note: str = ""

    @property
    def is_paged(self) -> bool:
        """Whether readers page through the table."""
        return self.interactive or len(self.rows) > MANY_ROWS

    @property
    def n_parts(self) -> int:
        """Number of files that hold the rows; none if all rows are in the page."""
        return -(-len(self.rows) // ROWS_PER_PART) if len(self.rows) > MOST_ROWS else 0

    @property
    def rows_in_page(self) -> Sequence[Sequence[Cell]]:
        """Rows in the page itself."""
        return self.rows[:FIRST_ROWS] if self.n_parts else self.rows

    @property
    def n_extra(self) -> int:
        """Number of columns that are shown only when asked for."""
        return sum(column.extra for column in self.columns)


def page_table(
    name: str, caption: str, frame: pd.DataFrame, titles: Mapping[str, str],
    formats: Mapping[str, str] | None = None, interactive: bool = False,
    extra: Collection[str] = (), file: str = "",
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
        file=file,
    )


@dataclass(frozen=True)
class Records:
    """What the page's script shows about the rows of a table, by place.

    They are in the page, or in files beside it if ``apart``.
    """

    name: str
    items: Sequence[Mapping[str, Any]]
    apart: bool = False
    per_part: int = RECORDS_PER_PART

    @property
    def n_parts(self) -> int:
        """Number of files that hold the records; none if all are in the page."""
        return -(-len(self.items) // self.per_part) if self.apart else 0


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


def first_of(names: Sequence[str], most: int = MOST_NAMED) -> str:
    """Name all, or the first and how many more there are."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def reason_not_shown(target: str, changed: Sequence[str] | None, command: str = "") -> Markup:
    """Say why the results of a target are not shown: not run, or outdated by what ``changed``.

    ``command`` is that of the run, whose settings files the commands to run repeat.
    """
    words = {"target": command_for(target, command), "study": command_for("", command)}
    if not changed:
        return NOT_RUN.format(**words)
    return OUTDATED.format(changed=first_of(changed, MAX_CHANGES_NAMED), **words)


def command_for(target: str, command: str) -> str:
    """Command that runs a ``target`` of the study that ``command`` ran; all of it if empty.

    Without the study's settings, a command would run another study into the same results.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--configfile", "--configfiles", nargs="*", action="extend", default=[])
    parser.add_argument("--config", "-C", nargs="*", action="extend", default=[])
    parser.add_argument("--directory", "-d")
    parser.add_argument("--snakefile", "-s")
    given, _ = parser.parse_known_args(command.split())
    files = [name for name in given.configfile if name.endswith((".yaml", ".yml", ".json"))]
    if len(files) == 1 and not given.config and not given.directory:
        return f"notears-pfl study run {files[0]}" + (f" -- {target}" if target else "")
    own = {
        "--snakefile": [given.snakefile] if given.snakefile else [],
        "--configfile": files,
        "--config": [value for value in given.config if "=" in value],
        "--directory": [given.directory] if given.directory else [],
    }
    options = [word for option, values in own.items() if values for word in (option, *values)]
    return " ".join(["snakemake", *([target] if target else []), *options, "--cores", "all"])
