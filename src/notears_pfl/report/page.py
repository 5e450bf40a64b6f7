"""Write pages of HTML that work offline: templates, style, scripts and embedded figures.

Rows of long tables are in scripts beside the page: a page that was opened from a disk may load
scripts, but may not read other files.
"""

import base64
import gzip
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from typing import IO, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from PIL import Image

from notears_pfl.report.page_parts import (
    ROWS_PER_PART,
    Caption,
    Cell,
    PageTable,
    Picture,
    Records,
    Section,
)
from notears_pfl.report.svg_drawing import data_url

TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Page:
    """Text of a page, and of the scripts with the rows of its long tables, by file name."""

    text: str
    parts: Mapping[str, str]


def embed_picture(
    png: str | Path | IO[bytes], name: str, caption: Caption, quality: int | None = None
) -> Picture:
    """Read a figure as a data URL; lossless WebP takes a third of the bytes of PNG.

    With a ``quality`` up to 100 it is lossy, for pictures of images.
    """
    with Image.open(png) as image:
        return embed_image(image, name, caption, quality)


def embed_image(
    image: Image.Image, name: str, caption: Caption, quality: int | None = None
) -> Picture:
    """Embed an image like :func:`embed_picture`."""
    width, height = image.size
    coded = io.BytesIO()
    lossless = quality is None
    # Effort: more takes longer, and makes figures hardly smaller.
    effort = {"quality": 0, "method": 1} if lossless else {"quality": quality, "method": 2}
    image.convert("RGB").save(coded, "WEBP", lossless=lossless, **effort)
    return Picture(name, caption, data_url(coded.getvalue(), "image/webp"), width, height)


def embed_drawing(svg: str, name: str, caption: Caption) -> Picture:
    """Embed a drawing of :mod:`svg_drawing`, whose first numbers are its width and height."""
    width, height = (round(float(number)) for number in re.findall(r'"([\d.]+)"', svg)[:2])
    return Picture(name, caption, data_url(svg.encode(), "image/svg+xml"), width, height)


def link_picture(png: str | Path, name: str, caption: Caption, address: str) -> Picture:
    """Refer to a figure by the address of its file: a browser loads it when it is in view."""
    with Image.open(png) as image:
        return Picture(name, caption, address, *image.size, linked=True)


def index_page(title: str, subtitle: str, sections: Sequence[Section]) -> Page:
    """Write the page of all sections."""
    # DataTables, as the package itables ships it: a JavaScript module and its style sheet.
    library = Path(str(distribution("itables").locate_file("itables/html")))
    script = (library / "dt_bundle.js").read_bytes()
    text = render(
        "index.html",
        title=title,
        subtitle=subtitle,
        sections=sections,
        library_script=base64.b64encode(gzip.compress(script, mtime=0)).decode("ascii"),
        library_style=include_raw(library / "dt_bundle.css"),
    )
    contents = [part for section in sections for part in section.content.values()]
    return Page(text, dict(_parts(contents)))


def _parts(contents: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """Name and text of every script beside the page."""
    for part in contents:
        match part:
            case PageTable(n_parts=n) if n:
                rows = [[_packed(cell) for cell in row] for row in part.rows]
                yield from _scripts(part.name, rows, ROWS_PER_PART)
            case Records(n_parts=n) if n:
                yield from _scripts(part.name, part.items, part.per_part)
            case list():
                yield from _parts(part)


def _scripts(name: str, items: Sequence[Any], n_each: int) -> Iterator[tuple[str, str]]:
    """Scripts that hand rows or records to the page."""
    for k, first in enumerate(range(0, len(items), n_each)):
        held = json.dumps(items[first : first + n_each], ensure_ascii=False)
        yield f"{name}_{k}.js", f'reportPart("{name}", {k}, {held});\n'


def _packed(cell: Cell) -> str | list[Any]:
    """Markup of a cell; if need be with the value that it is sorted by, and whether flagged."""
    markup = str(escape(cell.text))
    return markup if cell.order is None and not cell.flagged else [markup, cell.order, cell.flagged]


def render(template: str, **content: Any) -> str:
    """Fill a template."""
    return _environment().get_template(template).render(**content)


def include_raw(path: str | Path) -> Markup:
    """Read a trusted file, by default from the templates, without escaping: styles and scripts."""
    return Markup((TEMPLATES / path).read_text(encoding="utf-8"))


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
