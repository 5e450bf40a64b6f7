"""The table of settings in config/README.md is the schema's and the default config's."""

import re
from pathlib import Path

import yaml

from notears_pfl.io.schema import read_schema
from settings_table import settings_table, with_table

ROOT = Path(__file__).parents[3]
SCHEMA = read_schema(ROOT / "workflow/schemas/config.schema.yaml")
CONFIG = ROOT / "config/config.yaml"


def test_the_readme_holds_the_table_that_the_schema_gives():
    text = (ROOT / "config/README.md").read_text(encoding="utf-8")
    table = settings_table(SCHEMA, yaml.safe_load(CONFIG.read_text(encoding="utf-8")))

    assert with_table(text, table) == text, "run make figures"


def test_the_table_has_a_row_for_every_leaf_with_its_bounds():
    schema = {
        "properties": {
            "seed": {"type": "integer", "minimum": 0, "description": "of every draw"},
            "roi": {
                "properties": {"unit": {"enum": ["mm", "cm"], "description": "of length"}},
            },
        }
    }

    rows = settings_table(schema, {"seed": 7, "roi": {"unit": "mm"}}).splitlines()[2:]

    assert rows == [
        "| `seed` | `7` | whole number, at least 0 | of every draw |",
        "| `roi.unit` | `mm` | `mm`, `cm` | of length |",
    ]


def test_every_key_of_the_default_config_has_a_comment_above_it():
    lines = CONFIG.read_text(encoding="utf-8").splitlines()
    bare = []
    for number, line in enumerate(lines):
        has_value = re.match(r"\s*[a-z0-9_]+: \S", line)
        above = lines[number - 1].strip()
        # Two keys of one comment stand together: mm and degrees, or the two groups.
        if has_value and not above.startswith("#") and not re.match(r"[a-z0-9_]+:", above):
            bare.append(line)

    assert not bare


def test_every_setting_and_column_of_the_schemas_is_described_and_bounded():
    def leaves(schema):
        for field in schema["properties"].values():
            yield from leaves(field) if "properties" in field else [field]

    for path in (ROOT / "workflow/schemas").glob("*.yaml"):
        for field in leaves(read_schema(path)):
            assert field["description"], path
            if field.get("type") in {"integer", "number"}:
                assert {"minimum", "exclusiveMinimum"} & set(field), (path, field)
                assert "maximum" in field, (path, field)
