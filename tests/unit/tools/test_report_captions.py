"""Snakemake's captions are those of the report's page."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from jinja2 import Environment, StrictUndefined

from report_captions import report_captions

ROOT = Path(__file__).parents[3]
CAPTIONS = report_captions()


def test_the_caption_files_hold_the_captions_of_the_page():
    files = {path.name: path.read_text() for path in (ROOT / "workflow/report").iterdir()}

    assert files == CAPTIONS, "run make figures"


def test_every_caption_belongs_to_a_rule_and_every_rule_finds_its_caption():
    rules = "".join(path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk"))
    named = set(re.findall(r'caption=f?"\.\./report/([\w{}]+\.rst)"', rules))
    kinds = {f"network_{kind}.rst" for kind in ("brain", "circle", "matrix")}

    assert named - {"network_{kind}.rst"} | kinds == set(CAPTIONS)


@pytest.mark.parametrize("name", CAPTIONS)
def test_a_caption_is_filled_by_what_snakemake_knows(name):
    template = Environment(undefined=StrictUndefined).from_string(CAPTIONS[name])
    rule = SimpleNamespace(
        wildcards=SimpleNamespace(group="MDD", experiment="sites"),
        params=SimpleNamespace(groups=("MDD", "HC"), sites=["COI", "HUH"]),
    )

    text = template.render(snakemake=rule)

    assert not re.search(r"[{}]|\bn =", text)
    assert text.endswith(".")
