"""The messages and files that the documentation names are those of the code."""

import ast
import re
from functools import cache

import pytest

from .conftest import ROOT, code_spans

TROUBLE, OUTPUTS = (ROOT / f"docs/guide/{name}.md" for name in ("troubleshooting", "outputs"))


@cache
def words_of_the_code():
    """Join all texts of the package, the rules and the Makefile, without what is filled in."""
    texts = []
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = [v.value if isinstance(v, ast.Constant) else "…" for v in node.values]
                texts.append("".join(parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
    for path in [*(ROOT / "workflow/rules").glob("*.smk"), ROOT / "Makefile"]:
        # Neighbouring pieces of one text.
        texts.append(re.sub(r'"\s*\n\s*f?"', "", path.read_text(encoding="utf-8")))
    return "\n".join(texts)


def messages():
    """List the messages in the first columns, but for Snakemake's own."""
    text = TROUBLE.read_text(encoding="utf-8").split("## Snakemake's own messages")[0]
    return re.findall(r"^\| `(.+?)` \|", text, re.MULTILINE)


@pytest.mark.parametrize("message", messages())
def test_the_code_has_the_message(message):
    for piece in re.split(r"\s*…\s*|\{.*?\}", message):
        assert piece in words_of_the_code()


def test_most_kinds_of_trouble_are_listed():
    assert len(messages()) > 40


def plain(path):
    """Write the parts of a path that differ from case to case as the documentation does."""
    names = {
        "group": "G", "site": "S", "subject": "X", "only": "X", "run": "task-rest", "batch": "N",
        "experiment": "EXPERIMENT",
    }  # fmt: skip
    path = re.sub(r"\{+(PLAN|self)\.atlas\.name\}+", "ATLAS", path)
    for name, letter in names.items():
        path = re.sub(r"\{+" + name + r"\}+", letter, path)
    return path


@cache
def paths_of_the_rules():
    """List the paths below results that the rules name."""
    files = [*(ROOT / "workflow/rules").glob("*.smk"), ROOT / "src/notears_pfl/study/plan.py"]
    text = "".join(path.read_text("utf-8") for path in files)
    return {plain(path) for path in re.findall(r'"(results/[^"]+)"', text)}


@pytest.mark.parametrize("path", sorted(set(code_spans(OUTPUTS, "results/"))))
def test_a_rule_makes_the_file(path):
    path = path.rstrip("…").replace("RULE", "anatomical")

    # A rule may name the folder alone.
    made = paths_of_the_rules()
    assert any(own.startswith(path) or path.startswith(f"{own}/") for own in made)


def test_every_table_of_the_results_is_described():
    page = OUTPUTS.read_text(encoding="utf-8")
    tables = {p for p in paths_of_the_rules() if p.endswith((".tsv", ".html"))}
    inner = re.compile(
        r"results/(batches|compare/draws/|simulate/runs|federated|phantom/truth|preproc)"
    )

    missing = [p for p in sorted(tables) if not inner.match(p) and p.split("/")[-1] not in page]

    assert missing == []
