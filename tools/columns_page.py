"""The page of all columns, docs/guide/columns.md, made from the dictionary of columns.

``python tools/columns_page.py`` rewrites it.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from notears_pfl.io.atomic import whole_file

COLUMNS, PAGE = Path("src/notears_pfl/io/columns.yaml"), Path("docs/guide/columns.md")
HEAD = """\
# Every column

What the columns of every table mean, and their units. The workflow writes the same beside each
table, as a JSON dictionary in the form of BIDS. `{group}` stands for each group, `{patients}` and
`{controls}` for the two of them, `{region}` for each region. [Every output file](outputs.md) says
what the tables are. (`make figures` makes this page from `src/notears_pfl/io/columns.yaml`.)
"""


def columns_page(content: Mapping[str, Any]) -> str:
    """Markdown page with one table per kind of file: column, unit, meaning."""
    return "\n".join([HEAD, *_sections(content)])


def _sections(content: Mapping[str, Any]) -> Iterator[str]:
    for path, columns in content["tables"].items():
        yield f"## `{path.removesuffix('.json')}.tsv`\n"
        yield "| column | unit | meaning |\n|---|---|---|"
        for name, own in columns.items():
            entry = own or content["shared"][name]
            entry = entry if isinstance(entry, Mapping) else {"Description": entry}
            levels = "; ".join(f"`{k}`: {v}" for k, v in entry.get("Levels", {}).items())
            meaning = f"{entry['Description']} ({levels})" if levels else entry["Description"]
            yield f"| `{name}` | {entry.get('Units', '')} | {meaning} |"
        yield ""


def main() -> None:
    """Rewrite the page."""
    content = yaml.safe_load(COLUMNS.read_text(encoding="utf-8"))
    with whole_file(PAGE) as temporary:
        temporary.write_text(columns_page(content), encoding="utf-8")


if __name__ == "__main__":
    main()
