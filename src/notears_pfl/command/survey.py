"""Look at a folder of data: what kind of data it holds, its tables, tasks and timing.

Nothing is decided here that the study's own readers decide: these check the settings that are
written from a survey.
"""

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from notears_pfl.command.guesses import (
    GROUP_NAMES,
    KNOWN_COLUMNS,
    MOTION,
    SITE_NAMES,
    Groups,
    guess_columns,
    guess_groups,
    named_column,
    named_like_groups,
)
from notears_pfl.errors import DatasetError, PflError, TableError
from notears_pfl.io.bids_tree import NOT_OF_RUNS, BidsFile, BidsTree
from notears_pfl.io.series_files import FORMS, PLACEHOLDER, SEPARATORS, archive_names
from notears_pfl.io.sidecars import read_metadata
from notears_pfl.io.tables import read_table
from notears_pfl.study.srpbs import PARTICIPANTS, PROTOCOLS

SERIES, ARCHIVE, ID = tuple(FORMS), ".npz", "participant_id"
# Series without a line of names.
PLAIN = (".1D", ".txt")
DEEPEST, NO_DATA = 2, {".snakemake", "config", "logs", "results"}
ID_NAME = re.compile(r"(?i)(^|_)(sub|subj|subject|participant)s?(_|$|id)|(^|_)id$")
NUMBER = re.compile(r"(?i)[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|[+-]?(nan|inf)")
# A single file may have a number, such as an age, in its name by chance.
FEWEST_FILES = 2
# Of more tables without a column of groups, each is taken for the series of a subject.
MOST_TABLES = 5


@dataclass
class Survey:
    """What a folder holds.

    Parameters
    ----------
    folder : Path
        The folder.
    kind : str
        ``source.kind`` of the data.
    datasets : dict
        Folder of each dataset by site; a single dataset of several sites has an empty name.
    participants : Path
        Table of participants, the first one if every dataset has its own.
    table : DataFrame
        Content of the table, or of all.
    id_column : str
        Column with the names of the subjects.
    series : str
        Files of ROI series, as ``source.series``.
    layout : str
        ``source.layout``: the program that made the series, if they are in its output folder.
    variants : Counter
        Numbers of tables of series by what tells those of a run apart, such as the atlas.
    entities : dict
        What the names of the most frequent of these have, if there are several.
    tasks, times, spaces : Counter
        Tasks of the BOLD runs, their repetition times in seconds, and fMRIPrep's spaces.
    n_several, n_untimed : int
        Subjects with several runs of a task, and runs without slice times.
    has_own_tables : bool
        Whether every dataset has a table of participants.
    """

    folder: Path
    kind: str
    datasets: dict[str, Path] = field(default_factory=dict)
    participants: Path | None = None
    table: pd.DataFrame = field(default_factory=pd.DataFrame)
    id_column: str = ID
    series: str = ""
    layout: str = ""
    variants: Counter[str] = field(default_factory=Counter)
    entities: dict[str, str] = field(default_factory=dict)
    tasks: Counter[str] = field(default_factory=Counter)
    times: Counter[float] = field(default_factory=Counter)
    spaces: Counter[str] = field(default_factory=Counter)
    n_several: int = 0
    n_untimed: int = 0
    has_own_tables: bool = False

    @property
    def site_column(self) -> str | None:
        """Column with the site."""
        return named_column(self.table, SITE_NAMES, fewest=1)

    @property
    def group_column(self) -> str | None:
        """Column with the group."""
        return named_column(self.table, GROUP_NAMES, fewest=2)

    @property
    def values(self) -> dict[str, int]:
        """Values of the group column and their numbers of subjects, the most frequent first."""
        if self.group_column is None:
            return {}
        counts = Counter(self.table[self.group_column].dropna().str.strip())
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    @property
    def groups(self) -> Groups | None:
        """What the values of the group column seem to mean."""
        return guess_groups(self.group_column or "", self.values)

    @property
    def columns(self) -> dict[str, str]:
        """Columns of the table that the workflow knows under another name, {old: new}."""
        if self.kind == "srpbs" or (self.has_own_tables and len(self.datasets) > 1):
            return {}
        # Where there are images, or XCP-D's files, the workflow measures or reads head motion.
        is_told = self.kind == "timeseries" and self.layout != "xcpd"
        others = self.table.drop(columns=self._described)
        return guess_columns(others, [c for c in KNOWN_COLUMNS if is_told or c != MOTION])

    @property
    def unused(self) -> list[str]:
        """Columns of the table that no setting names."""
        used = {*self._described, *self.columns, *KNOWN_COLUMNS}
        if self.group_column is None:
            used |= {*named_like_groups(self.table)}
        return [name for name in map(str, self.table) if name not in used]

    @property
    def _described(self) -> list[str]:
        """Columns that tell the subject, its files, its site and its group."""
        named = [self.id_column, self.site_column, self.group_column]
        return [
            name for name in map(str, self.table) if name in named or f"{{{name}}}" in self.series
        ]


def survey(folder: Path, participants: Path | None = None) -> Survey:
    """Find out what ``folder`` holds; ``participants`` is a table outside it."""
    if folder.is_file():
        msg = (
            f"{folder}: this is a file, but a folder was needed. Name the one that holds it: "
            f"{folder.parent}"
        )
        raise DatasetError(msg)
    if not folder.is_dir():
        msg = f"{folder}: no such folder. Name the folder of your data."
        raise DatasetError(msg)
    found = (
        _release(folder) or _layout(folder) or _datasets(folder) or _series(folder, participants)
    )
    if found is None:
        msg = (
            f"{folder}: no data that the workflow reads: no folders sub-… with images (BIDS or "
            f"fMRIPrep) or series (XCP-D, giga_connectome), no {PROTOCOLS} (SRPBS), and no table "
            f"of participants beside ROI series ({', '.join(SERIES)}), with a column of the names "
            f"of the series, or a column {ID} or one of {', '.join(GROUP_NAMES)}. "
            f"It has {_names(folder)}. Name the folder that holds them."
        )
        raise DatasetError(msg)
    found.participants = participants or found.participants or _participants_of(found)
    if found.participants is None:
        msg = (
            f"{folder}: no {PARTICIPANTS} says who is a patient. Write one with the columns {ID}, "
            "site and group, or name yours with --participants."
        )
        raise DatasetError(msg)
    own = [root / PARTICIPANTS for root in found.datasets.values()]
    shared = participants is not None or not all(path.is_file() for path in own)
    tables = [found.participants] if shared or not own else own
    found.has_own_tables = not shared
    # As text, so that 01 and 1 stay what they are.
    columns = [name for table in tables for name in read_table(table).columns]
    found.table = pd.concat([read_table(table, text=columns) for table in tables])
    return found


def _release(folder: Path) -> Survey | None:
    """Recognise the SRPBS release."""
    if not (folder / PARTICIPANTS).is_file() or not (folder / PROTOCOLS).is_file():
        return None
    return Survey(folder, "srpbs", {"": folder}, folder / PARTICIPANTS)


def _layout(folder: Path) -> Survey | None:
    """Recognise the output of XCP-D or giga_connectome by its tables of series."""
    tree = BidsTree(folder)
    tables = {
        who: [
            table
            for table in tree.files(who, "func", "timeseries", (".tsv",))
            if {"atlas", "seg"} & {*table.entities} and table.entities.get("stat", "mean") == "mean"
        ]
        for who in tree.subjects()
    }
    every = [table for own in tables.values() for table in own]
    if not every:
        return None
    names = _first_line(every[0].path, SEPARATORS[".tsv"])
    # giga_connectome names no regions.
    is_counted = bool(names) and all(map(str.isdigit, names))
    layout = "giga_connectome" if is_counted else "xcpd"
    looked = Survey(folder, "timeseries", {"": folder}, layout=layout)
    for own in tables.values():
        looked.tasks.update({table.entities.get("task", "") for table in own})
    kinds = [{k: v for k, v in table.entities.items() if k in NOT_OF_RUNS} for table in every]
    keys = dict.fromkeys(key for kind in kinds for key in kind)
    differ = [key for key in keys if len({kind.get(key) for kind in kinds}) > 1]
    chosen = [{key: kind[key] for key in differ if key in kind} for kind in kinds]
    if differ:
        called = ["_".join(f"{key}-{kind[key]}" for key in kind) for kind in chosen]
        looked.variants = Counter(called)
        looked.entities = chosen[called.index(looked.variants.most_common(1)[0][0])]
    return looked


def _datasets(folder: Path) -> Survey | None:
    """Recognise a BIDS dataset, raw or by fMRIPrep, or a folder with one per site."""
    trees = {"": BidsTree(folder)}
    if not trees[""].subjects():
        inside = {path.name: BidsTree(path) for path in sorted(folder.iterdir()) if path.is_dir()}
        trees = {name: tree for name, tree in inside.items() if tree.subjects()}
    images = {
        (site, who): tree.images(who, "func", "bold")
        for site, tree in trees.items()
        for who in tree.subjects()
    }
    # A raw image has no desc-: other programs' output, such as XCP-D's, is no dataset to process.
    if all("desc" in image.entities and not _is_derived(image)
           for found in images.values() for image in found):  # fmt: skip
        return None
    is_derived = any(_is_derived(image) for found in images.values() for image in found)
    kind = "fmriprep" if is_derived else "bids"
    looked = Survey(folder, kind, {site: tree.root for site, tree in trees.items()})
    for (site, _), found in images.items():
        runs = [image for image in found if _is_derived(image)] if is_derived else found
        _count_runs(looked, trees[site], runs)
    return looked


def _is_derived(image: BidsFile) -> bool:
    return image.entities.get("desc") == "preproc" and "space" in image.entities


def _count_runs(looked: Survey, tree: BidsTree, runs: Sequence[BidsFile]) -> None:
    """Add a subject's runs to what is known of the dataset."""
    tasks = Counter(run.entities.get("task", "") for run in runs)
    looked.tasks.update(tasks.keys())
    looked.spaces.update({run.entities["space"] for run in runs if "space" in run.entities})
    n_spaces = max(1, len({run.entities.get("space") for run in runs}))
    looked.n_several += any(count > n_spaces for count in tasks.values())
    for run in runs:
        # What cannot be read is listed by the checks of the study.
        try:
            metadata = read_metadata(tree.sidecars(run))
        except PflError:
            continue
        looked.times[metadata.get("RepetitionTime", float("nan"))] += 1
        looked.n_untimed += "SliceTiming" not in metadata


def _participants_of(found: Survey) -> Path | None:
    """Table of participants of BIDS datasets; fMRIPrep's is often above or in the raw data."""
    first = next(iter(found.datasets.values()), found.folder)
    above = [found.folder, found.folder.parent, found.folder.parent.parent]
    places = [first, *above, first / "sourcedata/raw", first / "sourcedata"]
    return next((p / PARTICIPANTS for p in places if (p / PARTICIPANTS).is_file()), None)


def _series(folder: Path, participants: Path | None) -> Survey | None:
    """Recognise ROI series with a table of participants."""
    files = sorted(path for path in _files_below(folder) if path.suffix in SERIES)
    tables = [participants] if participants else [file for file in files if _has_subjects(file)]
    if not tables:
        # The group may have any name, if another column has the names of the series.
        own = [file for file in files if file.suffix in SEPARATORS and file.parent == folder]
        tables = own if len(own) <= MOST_TABLES else []
    archives, damaged = _archives(files)
    unreadable: list[TableError] = []
    for table in tables:
        try:
            content = read_table(table)
            content = read_table(table, text=content.columns)
        except TableError as error:
            unreadable.append(error)
            continue
        others = [file for file in files if file != table]
        column, pattern = _named_series(content, folder, others, archives)
        if pattern:
            ids = _ids_beside(content, column)
            series = pattern.replace(PLACEHOLDER, f"{{{column}}}") if ids != column else pattern
            return Survey(folder, "timeseries", {}, table, id_column=ids, series=series)
    series_files = (
        file for file in files
        if file != participants and not _has_subjects(file) and not _is_prose(file)
    )  # fmt: skip
    example = next(series_files, None)
    if damaged:
        raise damaged[0]
    # Without series, a table may be about anything, unless the user has named it.
    if unreadable and len(unreadable) == len(tables) and (participants or example or archives):
        raise unreadable[0]
    if participants and example:
        msg = (
            f"{participants}: no column has the names of the series in {folder}, such as "
            f"{example.name}; its columns are {', '.join(map(str, content))}. Add a column with "
            "the name that each subject's file, or array, has."
        )
        raise DatasetError(msg)
    return None


def _archives(files: Sequence[Path]) -> tuple[dict[str, list[str]], list[TableError]]:
    """Names of the arrays in every archive, and what is wrong with those that are damaged."""
    names, damaged = {}, []
    for file in (file for file in files if file.suffix == ARCHIVE):
        try:
            names[str(file)] = archive_names(file)
        except TableError as error:
            damaged.append(error)
    return names, damaged


def _named_series(
    table: pd.DataFrame,
    folder: Path,
    files: Sequence[Path],
    archives: Mapping[str, Collection[str]],
) -> tuple[str, str]:
    """Column with the names of most subjects' series, and their pattern; empty without any.

    Of columns with as many, the one with the longest names counts: a number of the subject may
    also be that of a run.
    """
    best, column, pattern = (FEWEST_FILES, 0.0), "", ""
    for name in [ID] if ID in table else map(str, table.columns):
        # Subjects without a file may share a word for that, as no_filename in ABIDE's table.
        ids = table[name].dropna()
        ids = ids[~ids.duplicated(keep=False)]
        for found, count in _patterns(ids, folder, files, archives).items():
            if (count, ids.str.len().mean()) > best:
                best = (count, ids.str.len().mean())
                column, pattern = name, found
    return column, pattern


def _ids_beside(table: pd.DataFrame, column: str) -> str:
    """Column that tells all subjects apart: ``column``, or else one with a name for that."""
    others = [name for name in map(str, table.columns) if ID_NAME.search(name)]
    apart = (name for name in (column, *others) if table[name].notna().all())
    return next((name for name in apart if table[name].is_unique), column)


def _has_subjects(path: Path) -> bool:
    """Whether a file is a table of participants, by its first line."""
    if path.suffix not in SEPARATORS:
        return False
    names = {name.lower() for name in _first_line(path, SEPARATORS[path.suffix])}
    return ID in names or not names.isdisjoint(GROUP_NAMES)


def _first_line(path: str | Path, separator: str) -> list[str]:
    """Cells of the first line of a table; none of a link to a file that was not fetched."""
    if not Path(path).is_file():
        return []
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        return [cell.strip("\"'") for cell in file.readline().strip().split(separator)]


def _is_prose(path: Path) -> bool:
    """Whether a text file begins with words, as README.txt does, and not with numbers."""
    if path.suffix not in PLAIN or not path.is_file():
        return False
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        cells = next(filter(None, (line.partition("#")[0].split() for line in file)), [])
    return not all(map(NUMBER.fullmatch, cells))


def _patterns(
    ids: pd.Series,
    folder: Path,
    files: Sequence[Path],
    archives: Mapping[str, Collection[str]],
) -> dict[str, int]:
    """Count the ids that fit each possible ``source.series``: a pattern of paths, or an archive."""
    spelled = {name: own for own in ids for name in _spellings(own)}
    if not spelled:
        return {}
    any_name = _anywhere(spelled)
    fit: dict[str, set[str]] = {}
    for file in (file for file in files if file.suffix != ARCHIVE):
        path = file.relative_to(folder)
        found = any_name.search(path.name)
        # Files with the same name in every subject's folder.
        whole = next((part for part in path.parts if part in spelled), None)
        if found or whole:
            own = spelled[found[0] if found else str(whole)]
            fit.setdefault(str(folder / _with_placeholder(path, own)), set()).add(own)
    for archive, names in archives.items():
        fit[archive] = {spelled[name] for name in names if name in spelled}
    return {pattern: len(owners) for pattern, owners in fit.items()}


def _with_placeholder(path: Path, own: str) -> Path:
    """Put the placeholder for a subject into a path, once in every folder and in the name."""
    name = _anywhere(_spellings(own))
    texts = [found[0] for part in path.parts if (found := name.search(part))]
    # What all have in common: as in the table, or without sub-.
    common = own if all(own in text for text in texts) else own.removeprefix("sub-")
    return Path(*(
        name.sub(lambda found: found[0].replace(common, PLACEHOLDER), part, count=1)
        for part in path.parts
    ))  # fmt: skip


def _spellings(own: str) -> list[str]:
    """Names of a subject in paths, by its id in the table."""
    bare = own.removeprefix("sub-")
    return [f"sub-{bare}", bare]


def _anywhere(names: Iterable[str]) -> re.Pattern[str]:
    """Find one of ``names`` that is no part of a longer word, the longest if several begin."""
    longest = sorted(names, key=len, reverse=True)
    return re.compile(rf"(?<![A-Za-z0-9])({'|'.join(map(re.escape, longest))})(?![A-Za-z0-9])")


def _files_below(folder: Path) -> Iterator[Path]:
    """Files in a folder and, two levels deep, in those within it."""
    for root, folders, files in os.walk(folder):
        depth = len(Path(root).relative_to(folder).parts)
        # Not the results of a run in the same folder.
        folders[:] = [] if depth >= DEEPEST else sorted({*folders} - NO_DATA)
        yield from (Path(root) / name for name in sorted(files) if not name.startswith("."))


def _names(folder: Path) -> str:
    names = sorted(os.listdir(folder))
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "") if names else "nothing"
