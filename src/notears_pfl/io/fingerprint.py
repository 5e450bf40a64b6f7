"""Fingerprint of the code behind a script, so that editing it reruns what depends on it."""

import ast
import hashlib
from functools import cache
from pathlib import Path

PACKAGE = "notears_pfl"


def code_fingerprint(script: str | Path, src: str | Path) -> str:
    """Hash ``script`` and every module of ours that it imports, directly or not."""
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
    """List ``script`` and the files below ``src`` that it imports, directly or not."""
    reached: set[Path] = set()
    waiting = {Path(script)}
    while waiting:
        path = waiting.pop()
        if path not in reached:
            reached.add(path)
            waiting |= _imported_files(path.read_bytes(), Path(src))
    return sorted(reached)


@cache  # rules share most of their modules
def _imported_files(code: bytes, src: Path) -> frozenset[Path]:
    """Files of our package that ``code`` imports, with the packages around them.

    Imports inside functions do not count: the package exports its estimator that way, and
    every script would seem to use it.
    """
    names: set[str] = set()
    for node in ast.parse(code).body:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    files = set()
    for name in names:
        parts = name.split(".")
        if parts[0] == PACKAGE:
            files |= {src.joinpath(*parts[:n], "__init__.py") for n in range(1, len(parts) + 1)}
            files.add(src.joinpath(*parts).with_suffix(".py"))
    return frozenset(file for file in files if file.is_file())
