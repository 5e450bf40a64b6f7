"""Fingerprint of the code behind a script, so that editing it reruns what depends on it."""

import ast
import hashlib
import re
from functools import cache
from pathlib import Path

PACKAGE = "notears_pfl"
MODULE_NAME = re.compile(rf"{PACKAGE}(\.\w+)+")


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
    names: set[str] = set()
    tree = ast.parse(code)
    for node in tree.body if is_package else ast.walk(tree):
        match node:
            case ast.Import():
                names |= {alias.name for alias in node.names}
            case ast.ImportFrom(module=str(module)):
                names |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
            case ast.Constant(value=str(text)) if MODULE_NAME.fullmatch(text):
                names |= {text, text.rpartition(".")[0]}
    files = set()
    for name in names:
        parts = name.split(".")
        if parts[0] == PACKAGE:
            files |= {src.joinpath(*parts[:n], "__init__.py") for n in range(1, len(parts) + 1)}
            files.add(src.joinpath(*parts).with_suffix(".py"))
    return frozenset(file for file in files if file.is_file())
