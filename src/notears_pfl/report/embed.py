"""Put figures, and the library that makes tables interactive, into the page itself."""

import base64
import io
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from typing import IO

from PIL import Image


@dataclass(frozen=True)
class Picture:
    """A figure of the page: its image, what it shows, and its files beside the page."""

    name: str
    alt: str
    caption: str
    source: str
    width: int
    height: int


def embed_picture(png: str | Path | IO[bytes], name: str, alt: str, caption: str) -> Picture:
    """Read a figure; WebP without loss is a third of the PNG."""
    with Image.open(png) as image:
        width, height = image.size
        coded = io.BytesIO()
        image.convert("RGB").save(coded, "WEBP", lossless=True, quality=40, method=1)
    source = "data:image/webp;base64," + base64.b64encode(coded.getvalue()).decode("ascii")
    return Picture(name, alt, caption, source, width, height)


@dataclass(frozen=True)
class TableLibrary:
    """DataTables, as the package itables ships it: a module of JavaScript, and its style."""

    script: str
    style: str
    version: str


def table_library() -> TableLibrary:
    """Read the library from the installed package; nothing of it is kept with our sources."""
    package = distribution("itables")
    folder = Path(str(package.locate_file("itables/html")))
    script = (folder / "dt_bundle.js").read_bytes()
    return TableLibrary(
        script=base64.b64encode(script).decode("ascii"),
        style=(folder / "dt_bundle.css").read_text(encoding="utf-8"),
        version=package.version,
    )
