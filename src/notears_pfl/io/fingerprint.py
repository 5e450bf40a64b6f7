"""Fingerprint of the code behind a script, so that editing it reruns what depends on it."""

import hashlib
import re
from functools import cache
from pathlib import Path

PACKAGE = "notears_pfl"
# Expressions instead of a parser: every plan of a run looks through all of our code.
IMPORT_FROM = re.compile(
    rf"^(?P<indent>[ \t]*)from (?P<module>{PACKAGE}[\w.]*) import (?P<names>\([^)]*\)|[^\n]*)",
    re.MULTILINE,
)
IMPORT = re.compile(rf"^(?P<indent>[ \t]*)import (?P<module>{PACKAGE}[\w.]*)", re.MULTILINE)
QUOTED = re.compile(rf"[\"']({PACKAGE}(?:\.\w+)+)[\"']")


def code_fingerprint(script: str | Path, src: str | Path) -> str:
    """Hash ``script`` and every module of ours that it uses, directly or not."""
    contents = [path.read_bytes() for path in code_behind(script, src)]
    return hashlib.sha256(b"\0".join(contents)).hexdigest()[:12]


def folder_fingerprint(folder: str | Path) -> str:
    """Hash the names and contents of all files below ``folder``: templates, for example."""
    folder = Path(folder)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    contents = [str(path.relative_to(folder)).encode() + path.read_bytes() for path in files]
    return hashlib.sha256(b"\0".join(contents)).hexdigest()[:12]


def file_digest(path: str | Path) -> str:
    """SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def code_behind(script: str | Path, src: str | Path) -> list[Path]:
    """List ``script`` and the files below ``src`` that it uses, directly or not."""
    reached: set[Path] = set()
    waiting = {Path(script)}
    while waiting:
        path = waiting.pop()
        if path not in reached:
            reached.add(path)
            is_package = path.name == "__init__.py"
            waiting |= _used_files(path.read_bytes(), Path(src), is_package)
    return sorted(reached)


@cache  # rules share most of their modules
def _used_files(code: bytes, src: Path, is_package: bool) -> frozenset[Path]:
    """Files of our package that ``code`` imports or names, with the packages around them.

    Imports inside functions count, and so does text that names a module, such as the class that
    NVFLARE is told to load. They do not count in a package's ``__init__.py``: the estimator is
    exported that way, and every script would seem to use it.
    """
    text, names = code.decode(), set[str]()
    for found in (*IMPORT_FROM.finditer(text), *IMPORT.finditer(text)):
        if not (is_package and found["indent"]):
            module, members = found["module"], found.groupdict().get("names") or ""
            names |= {module, *(f"{module}.{name}" for name in re.findall(r"\w+", members))}
    for name in () if is_package else QUOTED.findall(text):
        names |= {name, name.rpartition(".")[0]}
    files = set()
    for name in names:
        parts = name.split(".")
        files |= {src.joinpath(*parts[:n], "__init__.py") for n in range(1, len(parts) + 1)}
        files.add(src.joinpath(*parts).with_suffix(".py"))
    return frozenset(file for file in files if file.is_file())
