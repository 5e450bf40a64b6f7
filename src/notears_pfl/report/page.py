"""Write a page of HTML that needs no other file: templates, style, scripts and embedded figures."""

import base64
import gzip
import io
from collections.abc import Sequence
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from typing import IO, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from PIL import Image

from notears_pfl.report.page_parts import Caption, Picture, Section

TEMPLATES = Path(__file__).parent / "templates"


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
    image.convert("RGB").save(coded, "WEBP", lossless=lossless, quality=quality or 0, method=2)
    source = "data:image/webp;base64," + base64.b64encode(coded.getvalue()).decode("ascii")
    return Picture(name, caption, source, width, height)


def index_page(title: str, subtitle: str, sections: Sequence[Section]) -> str:
    """Write the page of all sections."""
    # DataTables, as the package itables ships it: a JavaScript module and its style sheet.
    library = Path(str(distribution("itables").locate_file("itables/html")))
    script = (library / "dt_bundle.js").read_bytes()
    return render(
        "index.html",
        title=title,
        subtitle=subtitle,
        sections=sections,
        library_script=base64.b64encode(gzip.compress(script, mtime=0)).decode("ascii"),
        library_style=include_raw(library / "dt_bundle.css"),
    )


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
