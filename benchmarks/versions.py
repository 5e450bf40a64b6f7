"""Run a benchmark script with an earlier version of the package, beside the present one."""

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent


@contextlib.contextmanager
def source_of(commit: str | None) -> Iterator[Path]:
    """Folder with the package as it was at a commit, or as it is now."""
    if commit is None:
        yield ROOT / "src"
        return
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(
            ["git", "-C", ROOT, "archive", commit, "src"], check=True, stdout=subprocess.PIPE
        )
        subprocess.run(["tar", "x", "-C", folder], input=archive.stdout, check=True)
        yield Path(folder) / "src"


def rows_of(source: Path, script: str, *arguments: str) -> list[list[str]]:
    """Tab-separated lines that a script prints with the package in the folder ``source``."""
    done = subprocess.run(
        [sys.executable, script, *arguments],
        env={**os.environ, "PYTHONPATH": str(source)},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return [line.split("\t") for line in done.stdout.splitlines()]
