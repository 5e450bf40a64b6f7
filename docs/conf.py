"""The documentation as a site: `make docs` builds it, without a network, into docs/_build.

The root of the repository is the source, so that links work here as well as on a code host.
README.md is the front page; docs/contents.md lists the others.
"""

import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))
from notears_pfl.version import __version__  # noqa: E402

project = "NOTEARS-PFL"
author = "The NOTEARS-PFL developers"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
root_doc = "README"
include_patterns = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "config/README.md",
    "docs/**.md",
]
exclude_patterns = ["docs/contents.md", "docs/_build", ".*", "logs", "results", "src", "tests"]
source_suffix = {".md": "markdown"}

myst_enable_extensions = ["attrs_inline", "colon_fence", "dollarmath"]
myst_heading_anchors = 4
nitpicky = True
suppress_warnings = ["misc.highlighting_failure"]  # shell commands with a comment are not Python

autodoc_typehints = "none"  # the docstrings name types as their readers say them
autosummary_generate = False
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "furo"
html_title = "NOTEARS-PFL"
html_permalinks_icon = "#"
html_show_sourcelink = html_copy_source = html_show_copyright = False
templates_path = ["_templates"]
html_static_path = ["_static"]
html_js_files = ["accessible.js"]
html_css_files = ["equations.css"]
# The front page is README.html: this page leads there.
html_additional_pages = {"index": "redirect.html"}
html_math_renderer = "mathml"


def _append_contents(app: Any, docname: str, source: list[str]) -> None:
    """Give the front page the table of contents, which code hosts need not show."""
    if docname == root_doc:
        source[0] += (ROOT / "docs/contents.md").read_text(encoding="utf-8")


def _visit_math(translator: Any, node: nodes.math | nodes.math_block) -> None:
    """Write an equation as MathML, which browsers show without a script."""
    block = isinstance(node, nodes.math_block)
    translator.body.append(tex2mathml(node.astext(), as_block=block))
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Register the equations and the contents with Sphinx."""
    app.connect("source-read", _append_contents)
    app.add_html_math_renderer("mathml", (_visit_math, None), (_visit_math, None))
