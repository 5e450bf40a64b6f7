"""Work on the subjects of a batch in one job, and list what was made of them.

A rule that works on several subjects has one output: the list of its batch, a table with one row
per file of each subject (path, size, SHA-256). Rules that read these files take the list as
input; a file that is not the one on the list is refused. So Snakemake plans batches instead of
subjects, and no file is lost or damaged in silence.

Beside the lists, each subject has a receipt: a digest of all that its files were made from. When
a batch runs again, after a kill or because one subject's image has changed, subjects whose receipt
and files still hold are not computed again.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from notears_pfl.errors import MachineError, SignalError, StorageError
from notears_pfl.io.atomic import whole_file
from notears_pfl.io.fingerprint import file_digest
from notears_pfl.io.machine import OF_THE_FILE, blaming_the_machine
from notears_pfl.io.sidecars import read_sidecar, write_json

FOLDER = "results/batches/"
COLUMNS = ("participant_id", "file", "path", "bytes", "sha256")
# Set by the workflow if the user forces jobs to run: then every subject is computed again.
FORCE = "NOTEARS_PFL_FORCE"
# Set by the workflow if working files are to be removed as soon as they have been used.
DISCARD = "NOTEARS_PFL_DISCARD"
# Parameters that say who is in a batch and where the files are; the rest is science and code.
OF_SUBJECTS = ("subjects", "takes", "makes", "each")


class Listed(NamedTuple):
    """A file of a subject as it was made; a row of a list."""

    participant: str
    file: str
    path: str
    size: int
    sha256: str


class Files(dict[str, Any]):
    """Files by name, also as attributes, like the input and output of a rule."""

    def __getattr__(self, name: str) -> Any:
        """Give the file of this name."""
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def but(self, name: str) -> list[str]:
        """All files except one."""
        return [path for key, path in self.items() if key != name]


@dataclass(frozen=True)
class Subject:
    """One subject of a batch: its name (``sub-…``), files, and parameters of its own."""

    name: str
    input: Files
    output: Files
    params: Files


@dataclass(frozen=True)
class Batch:
    """The subjects of one job.

    Parameters
    ----------
    inputs, params : mapping
        Named inputs and parameters of the rule. Inputs that are lists of batches are checked, not
        read; single files are shared by the subjects. ``params`` has the ``subjects`` and, in
        their order, what each ``takes`` and ``makes`` by name, and parameters of ``each``.
        ``working`` names the files that serve other steps only.
    output : path
        The list to write.
    working : path, optional
        The list to write of working files.
    """

    inputs: Mapping[str, Any]
    params: Mapping[str, Any]
    output: Path
    working: Path | None = None

    @classmethod
    def of(cls, rule: Any) -> "Batch":
        """Take the batch of a running rule, the object ``snakemake`` of its script."""
        named = (dict(rule.input.items()), dict(rule.params.items()))
        return cls(*named, *map(Path, rule.output))

    @cached_property
    def shared(self) -> dict[str, str]:
        """Single files that all subjects use, by name."""
        return {
            name: str(path)
            for name, path in self.inputs.items()
            if isinstance(path, str) and not is_list(path)
        }

    @cached_property
    def subjects(self) -> list[Subject]:
        """All subjects, with their files."""
        kinds = {kind: self.params.get(kind, {}) for kind in OF_SUBJECTS[1:]}
        own = [
            {kind: {name: values[i] for name, values in table.items()}
             for kind, table in kinds.items()}
            for i in range(len(self.params["subjects"]))
        ]  # fmt: skip
        return [
            Subject(f"sub-{name}", Files(self.shared | files["takes"]), Files(files["makes"]),
                    Files(files["each"]))
            for name, files in zip(self.params["subjects"], own, strict=True)
        ]  # fmt: skip

    def only(self) -> Subject:
        """Give the subject of a rule that works on one, after a check of its files."""
        (subject,) = self.subjects
        self._key(subject)
        return subject

    def unfinished(self) -> Iterator[Subject]:
        """Give the subjects whose files must be made; when the last is done, write the list.

        A subject counts as done when the caller asks for the next: an error in between leaves the
        batch unlisted, and those before it are not computed again. Working files that the batch
        was made from are then removed, if the user does not keep them.
        """
        rows: list[Listed] = []
        for subject in self.subjects:
            receipt = self.output.parent / f"{subject.name}.json"
            key = self._key(subject)
            made = _receipted(receipt, key, subject)
            if made is None:
                print(f"{subject.name}:")
                yield subject
                made = [_listed(subject.name, *item) for item in subject.output.items()]
                write_json({"MadeFrom": key, "Files": [list(row) for row in made]}, receipt)
            else:
                print(f"{subject.name}: unchanged, not computed again")
            rows += made
        self._write_lists(rows)
        if os.environ.get(DISCARD) and "working" in self.inputs:
            remove_used((row.path for row in read_list(self.inputs["working"])), by=self.output)

    def _write_lists(self, rows: Sequence[Listed]) -> None:
        working = self.params.get("working", ())
        if self.working:
            write_list([row for row in rows if row.file in working], self.working)
        write_list([row for row in rows if row.file not in working], self.output)

    @cached_property
    def _science(self) -> str:
        """Settings, code and shared files, as text."""
        settings = {key: v for key, v in self.params.items() if key not in OF_SUBJECTS}
        shared = {name: file_digest(path) for name, path in self.shared.items()}
        return json.dumps([settings, shared], sort_keys=True, default=str)

    @cached_property
    def _expected(self) -> dict[str, Listed]:
        """Files on the lists among the inputs, by path."""
        lists = [path for value in self.inputs.values() for path in _flat(value) if is_list(path)]
        return {row.path: row for path in lists for row in read_list(path)}

    def _key(self, subject: Subject) -> str:
        """Digest of all that the subject's files are made from; check those on lists."""
        own = {}
        for name, value in subject.input.items():
            if name not in self.shared:
                own[name] = [(str(path), self._checked_digest(path)) for path in _flat(value)]
        text = json.dumps([subject.name, own, subject.params, subject.output], default=str)
        return hashlib.sha256(f"{self._science}{text}".encode()).hexdigest()

    @cached_property
    def _digests(self) -> dict[str, str | None]:
        """Digests of input files, by path: subjects may share one, such as an archive."""
        return {}

    def _checked_digest(self, path: str) -> str | None:
        if path not in self._digests:
            self._digests[path] = _digest(path)
        digest = self._digests[path]
        if path in self._expected and digest != self._expected[path].sha256:
            raise _changed(path)
        return digest


class ListedFiles(Mapping[str, str]):
    """Paths of one kind of file by participant, from the lists of batches.

    A path is given only if the file is the one on the list. Of files of several runs, whose lists
    name the run after the participant, the first run's is given.
    """

    def __init__(self, lists: Iterable[str], file: str, participants: Sequence[str]):
        rows: dict[str, list[Listed]] = {}
        for row in (row for path in lists for row in read_list(path) if row.file == file):
            rows.setdefault(row.participant.partition("_")[0], []).append(row)
        self._rows = {name: rows[name] for name in participants}

    def __getitem__(self, participant: str) -> str:
        """Give the participant's file, after a check of its content."""
        return self._checked(self._rows[participant][0])

    def runs(self, participant: str) -> list[str]:
        """Give the files of all runs of a participant, after a check of their content."""
        return [self._checked(row) for row in self._rows[participant]]

    def _checked(self, row: Listed) -> str:
        with blaming_the_machine(row.path, "read"):
            if file_digest(row.path) != row.sha256:
                raise _changed(row.path)
        return row.path

    def __iter__(self) -> Iterator[str]:
        """Go through the participants in the order asked for."""
        return iter(self._rows)

    def __len__(self) -> int:
        """Count the participants."""
        return len(self._rows)


def listed_files(
    lists: Mapping[str, Sequence[str]], files: Mapping[str, tuple[str, str]],
    participants: Sequence[str],
) -> dict[str, dict[str, str]]:  # fmt: skip
    """Files of each participant by kind; of several runs, those of the first.

    ``lists`` are lists of batches by the rule that wrote them; ``files`` gives, for each kind, the
    rule and the name that the file has on its lists.
    """
    found = _of_kinds(lists, files, participants)
    return {who: {kind: paths[who] for kind, paths in found.items()} for who in participants}


def listed_runs(
    lists: Mapping[str, Sequence[str]], files: Mapping[str, tuple[str, str]],
    participants: Sequence[str],
) -> dict[str, dict[str, list[str]]]:  # fmt: skip
    """Files of all runs of each participant by kind."""
    found = _of_kinds(lists, files, participants)
    return {who: {kind: paths.runs(who) for kind, paths in found.items()} for who in participants}


def _of_kinds(
    lists: Mapping[str, Sequence[str]], files: Mapping[str, tuple[str, str]],
    participants: Sequence[str],
) -> dict[str, ListedFiles]:  # fmt: skip
    return {
        kind: ListedFiles(lists[rule], name, participants) for kind, (rule, name) in files.items()
    }


def is_list(path: str) -> bool:
    """Whether a path is that of the list of a batch."""
    return str(path).startswith(FOLDER) and str(path).endswith(".tsv")


def write_list(rows: Iterable[Listed], path: str | Path) -> None:
    """Write the list of a batch."""
    lines = ["\t".join(COLUMNS), *("\t".join(map(str, row)) for row in rows)]
    with whole_file(path) as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")


def read_list(path: str | Path) -> list[Listed]:
    """Read the list of a batch."""
    with blaming_the_machine(path, "read"):
        lines = Path(path).read_text(encoding="utf-8").splitlines()[1:]
    rows = [line.split("\t") for line in lines]
    return [Listed(who, file, name, int(size), sha) for who, file, name, size, sha in rows]


def remove_untrue_lists(folder: str | Path) -> list[str]:
    """Remove the lists in ``folder`` whose files are missing or have another size; say which.

    The size is enough for a glance at thousands of files; readers compare the content.
    """
    told = []
    for path in sorted(Path(folder).glob("*/*.tsv")):
        lost = [row.path for row in read_list(path) if _size(row.path) != row.size]
        if lost:
            path.unlink()
            more = f" and {len(lost) - 1} more files" if len(lost) > 1 else ""
            told.append(f"{lost[0]}{more}: missing or changed since made; made again if needed")
    return told


def remove_used(paths: Iterable[str], by: str | Path) -> None:
    """Remove files that are older than the list ``by``: the batch that makes it has used them.

    Newer ones wait for the batch to run again; without the list, all of them do.
    """
    for path in paths:
        with blaming_the_machine(path, "written"), contextlib.suppress(FileNotFoundError):
            if Path(path).stat().st_mtime_ns <= Path(by).stat().st_mtime_ns:
                Path(path).unlink()


def _receipted(receipt: Path, key: str, subject: Subject) -> list[Listed] | None:
    """Files of a subject if its receipt and all of them still hold."""
    if os.environ.get(FORCE) or not receipt.is_file():
        return None
    # What cannot be read, for whatever reason, is made again.
    try:
        content = read_sidecar(receipt)
        if content.get("MadeFrom") != key:
            return None
        rows = [Listed(*row) for row in content["Files"]]
        whole = all(_digest(row.path) == row.sha256 for row in rows)
    except (SignalError, MachineError):
        return None
    return rows if whole and {row.path for row in rows} == {*subject.output.values()} else None


def _listed(participant: str, file: str, path: str) -> Listed:
    with blaming_the_machine(path, "read"):
        return Listed(participant, file, path, os.stat(path).st_size, file_digest(path))


def _size(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except OSError:
        return None


def _digest(path: str | Path) -> str | None:
    """SHA-256 of a file, or of all files in a folder; None if there is no such file.

    A file that cannot be used, such as a folder in its place, is for the subject's own step to
    report.
    """
    path = Path(path)
    if not path.exists():
        return None
    try:
        with blaming_the_machine(path, "read"):
            if not path.is_dir():
                return file_digest(path)
            files = sorted(p for p in path.iterdir() if p.is_file())
            found = [f"{file.name} {file_digest(file)}" for file in files]
            return hashlib.sha256("\n".join(found).encode()).hexdigest()
    except OSError as error:
        if error.errno in OF_THE_FILE:
            return None
        raise


def _changed(path: str | Path) -> StorageError:
    return StorageError(
        f"{path}: is not the file that the workflow made: it was changed or damaged since. Delete "
        "it and run again; it is then made again."
    )


def _flat(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)
