"""The table of settings in config/README.md, made from the schema and the default settings.

``python tools/settings_table.py`` rewrites it.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from notears_pfl.io.atomic import whole_file
from notears_pfl.io.schema import Schema, read_schema

BEGIN, END = "<!-- settings: generated, see make figures -->", "<!-- end of settings -->"
README = Path("config/README.md")


def settings_table(schema: Schema, defaults: Mapping[str, Any]) -> str:
    """Markdown table of every setting: key, default, what is allowed, meaning."""
    rows = [
        "| setting | default | allowed | meaning |",
        "|---|---|---|---|",
        *_rows(schema, defaults),
    ]
    return "\n".join(rows)


def with_table(text: str, table: str, markers: tuple[str, str] = (BEGIN, END)) -> str:
    """Put ``table`` between the markers in ``text``."""
    begin, end = markers
    before, rest = text.split(begin)
    after = rest.split(end)[1]
    return f"{before}{begin}\n{table}\n{end}{after}"


def rewrite_readme(table: str, markers: tuple[str, str] = (BEGIN, END)) -> None:
    """Put ``table`` between the markers in config/README.md."""
    text = with_table(README.read_text(encoding="utf-8"), table, markers)
    with whole_file(README) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _rows(schema: Schema, defaults: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for key, field in schema["properties"].items():
        name, default = f"{prefix}{key}", defaults.get(key, "not set")
        if "properties" in field:
            yield from _rows(field, default, f"{name}.")
        else:
            yield f"| `{name}` | `{default}` | {_allowed(field)} | {field['description']} |"


def _allowed(field: Schema) -> str:
    """Say in words which values a schema field takes."""
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    if "const" in field:
        return f"`{field['const']}`"
    if "oneOf" in field:
        return " or ".join(_allowed(option) for option in field["oneOf"])
    if "prefixItems" in field:
        return " then ".join(_allowed(item) for item in field["prefixItems"])
    if isinstance(field.get("items"), dict):
        return f"list of {_allowed(field['items'])}"
    if isinstance(field.get("additionalProperties"), dict):
        return "mapping"
    if "pattern" in field:
        return f"text, `{field['pattern']}`"
    bounds = {
        "minimum": "at least {}",
        "exclusiveMinimum": "above {}",
        "maximum": "at most {}",
        "exclusiveMaximum": "below {}",
    }
    limits = [words.format(field[bound]) for bound, words in bounds.items() if bound in field]
    kind = {"string": "text", "integer": "whole number"}.get(field["type"], str(field["type"]))
    return ", ".join([kind, *limits])


def main() -> None:
    """Rewrite the table in config/README.md."""
    schema = read_schema("workflow/schemas/config.schema.yaml")
    defaults = yaml.safe_load(Path("config/config.yaml").read_text(encoding="utf-8"))
    rewrite_readme(settings_table(schema, defaults))


if __name__ == "__main__":
    main()
