"""The site builds without warnings or a network, and no link in it is dead."""

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from markdown_it import MarkdownIt

from .conftest import PAGES, ROOT


def pages_of(folder):
    """Give the HTML of every page by its path."""
    return {path: path.read_text(encoding="utf-8") for path in Path(folder).rglob("*.html")}


def test_the_site_builds_without_a_warning(site):
    folder, done = site

    assert done.returncode == 0, done.stderr
    assert {page.relative_to(ROOT).with_suffix(".html") for page in PAGES} - {
        Path("docs/contents.html")
    } <= {path.relative_to(folder) for path in pages_of(folder)}


def test_no_page_needs_a_network(site):
    folder, _ = site
    loads = (
        r'<(?:script|img|iframe)[^>]*\ssrc="([^"]*)|<link[^>]*rel="stylesheet"[^>]*href="([^"]*)'
    )

    loaded = {a or b for text in pages_of(folder).values() for a, b in re.findall(loads, text)}

    assert loaded
    assert not [url for url in loaded if re.match(r"(https?:)?//", url)]


def test_no_internal_link_or_anchor_is_dead(site):
    folder, _ = site
    pages = pages_of(folder)
    anchors = {path: set(re.findall(r'\sid="([^"]+)"', text)) for path, text in pages.items()}

    dead = []
    for path, text in pages.items():
        for link in re.findall(r'<a[^>]*\shref="([^"]*)"', text):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            wanted = unquote(parts.fragment)
            if not target.is_file() or (wanted and wanted not in anchors.get(target, {wanted})):
                dead.append(f"{path.relative_to(folder)}: {link}")

    assert sum(len(found) for found in anchors.values()) > 100
    assert dead == []


def test_equations_are_shown_without_a_script(site):
    folder, _ = site
    page = (folder / "docs/background/methods.html").read_text(encoding="utf-8")

    assert page.count('display="block"') > 10
    assert "mathjax" not in "".join(re.findall("<script[^>]*>", page)).lower()


def test_the_front_page_leads_to_every_page(site):
    folder, _ = site
    front = folder / "README.html"
    links = re.findall(r'<a[^>]*\shref="([^"#]+)', front.read_text(encoding="utf-8"))
    reached = {(folder / unquote(link)).resolve() for link in links if "://" not in link}

    assert "README.html" in (folder / "index.html").read_text(encoding="utf-8")
    own = {(folder / page.relative_to(ROOT)).with_suffix(".html") for page in PAGES}
    assert own - {front, folder / "docs/contents.html"} <= reached


def test_relative_links_of_the_pages_also_work_on_a_code_host():
    dead = []
    for page in PAGES:
        for token in MarkdownIt().enable("table").parse(page.read_text(encoding="utf-8")):
            for child in token.children or []:
                link = child.attrGet("href") or child.attrGet("src") or ""
                parts = urlsplit(link)
                if parts.scheme or not parts.path:
                    continue
                if not (page.parent / unquote(parts.path)).exists():
                    dead.append(f"{page.relative_to(ROOT)}: {link}")

    assert dead == []


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def test_every_figure_is_made_by_a_command():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = makefile.split("\nfigures:")[1].split("\n\n")[0]
    shown = set()
    for page in PAGES:
        shown |= set(re.findall(r"\]\([^)]*?(\w+\.(?:png|svg))\)", page.read_text("utf-8")))

    assert shown
    assert all(f"docs/{name}" in recipe for name in shown)


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("name", ["README", "docs/guide/results", "docs/background/methods"])
def test_pages_can_be_read_by_everyone(site, chromium, name, width):
    folder, _ = site
    page = chromium.new_page(viewport={"width": width, "height": 800})
    page.goto((folder / f"{name}.html").as_uri())

    found = Axe().run(page)

    assert found.violations_count == 0, found.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.close()
