"""One style for all figures: colour-blind safe, legible in print, byte-identical on every run."""

import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.rcsetup import cycler

# Okabe and Ito's palette, distinguishable with all common types of colour blindness.
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILION, PURPLE = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7",
)  # fmt: skip

RC: Any = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": cycler(color=[BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY, BLACK]),
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "savefig.dpi": 150,
    # Element names in an SVG are random unless salted.
    "svg.hashsalt": "notears-pfl",
}

# Text and positive weights; secondary marks.
INK, GREY = "#222222", "#8c8c8c"
# Colour and marker of patients and of controls; groups never differ by colour alone.
GROUP_LOOKS = ((VERMILION, "^"), (BLUE, "o"))
# With more sites than this, figures have a row for each, and the page links networks' figures.
MANY_SITES = 12
# Vermilion is reserved for arrows.
LOBES = (BLUE, ORANGE, GREEN, PURPLE, SKY, YELLOW, GREY)


def lobe_colours(lobes: Iterable[str]) -> dict[str, str]:
    """Colour of each lobe, in order of first appearance; after seven lobes the colours repeat."""
    return {lobe: LOBES[i % len(LOBES)] for i, lobe in enumerate(dict.fromkeys(lobes))}


def save_figure(figure: Figure, *paths: str | Path) -> None:
    """Write ``figure`` in the format of each path's suffix, without a time stamp."""
    with mpl.rc_context(RC):
        _lay_out(figure)
        # Figure.savefig would draw the figure a second time for the layout.
        for path in paths:
            if Path(path).suffix == ".svg":
                buffer = io.StringIO()
                FigureCanvasSVG(figure).print_svg(buffer, metadata={"Date": None})
                Path(path).write_text(_name_in_order(buffer.getvalue()), encoding="utf-8")
            else:
                FigureCanvasAgg(figure).print_png(path)


def _lay_out(figure: Figure) -> None:
    """Set the places of all axes and the resolution."""
    engine = figure.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        engine.execute(figure)
        figure.set_layout_engine("none")
    # The last digits of the layout solver vary from run to run.
    for axes in figure.axes:
        left, bottom, width, height = (round(x, 6) for x in axes.get_position().bounds)
        axes.set_position((left, bottom, width, height))
    figure.set_dpi(RC["savefig.dpi"])


def _name_in_order(svg: str) -> str:
    """Rename clip paths by order: their own names depend on the last digits of positions."""
    names: dict[str, str] = {}
    return re.sub(
        r"\bp[0-9a-f]{10}\b", lambda m: names.setdefault(m.group(), f"clip{len(names)}"), svg
    )
