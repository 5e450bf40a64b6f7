"""The pages of the documentation, their code blocks, and the site that Sphinx makes of them."""

import importlib.util
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "config/README.md")),
        *(path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts),
    ]
)


@dataclass(frozen=True)
class Block:
    """A block of code on a page; ``language`` is empty for indented ones: commands."""

    page: str
    line: int
    language: str
    text: str


def blocks(language):
    """List the blocks of all pages in a language."""
    found = []
    for page in PAGES:
        name = page.relative_to(ROOT).as_posix()
        for token in MarkdownIt().parse(page.read_text(encoding="utf-8")):
            if token.type in ("fence", "code_block"):
                block = Block(name, token.map[0] + 1, token.info.strip(), token.content)
                if block.language == language:
                    found.append(block)
    return found


def code_spans(page, starts=""):
    """List the pieces of code in the text of a page that start in a certain way."""
    spans = []
    for token in MarkdownIt().enable("table").parse(page.read_text(encoding="utf-8")):
        children = token.children or []
        spans += [child.content for child in children if child.type == "code_inline"]
    return [span for span in spans if re.match(starts, span)]


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """Build the site as `make docs` does; return its folder and what Sphinx said."""
    if importlib.util.find_spec("sphinx") is None:
        message = "Sphinx is missing: `make lock` adds what the dev group needs"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
    folder = tmp_path_factory.mktemp("site")
    command = ["--quiet", "--nitpicky", "--fail-on-warning", "--keep-going", "--conf-dir", "docs"]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *command, ".", folder],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return folder, done
