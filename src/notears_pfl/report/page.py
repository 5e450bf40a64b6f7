"""Make a page of HTML: templates, style, scripts and figures in one file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from notears_pfl.report.embed import table_library

TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Section:
    """A part of the page: the template ``sections/<name>.html`` filled with ``content``.

    ``missing`` says why a part has nothing to show; its template is then not used.
    """

    name: str
    title: str
    content: Mapping[str, Any] = field(default_factory=dict)
    missing: str = ""


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["include_raw"] = include_raw
    return environment


def include_raw(name: str) -> Markup:
    """Give a file beside the templates, ours, as it is: style and scripts."""
    return Markup((TEMPLATES / name).read_text(encoding="utf-8"))


def render(template: str, **content: Any) -> str:
    """Fill a template."""
    return _environment().get_template(template).render(**content)


def index_page(title: str, subtitle: str, sections: Sequence[Section]) -> str:
    """Put the sections together."""
    library = table_library()
    return render(
        "index.html",
        title=title,
        subtitle=subtitle,
        sections=sections,
        library_script=library.script,
        library_style=Markup(library.style),
    )
