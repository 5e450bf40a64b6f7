"""Small figures as SVG, for pages of many subjects: a plotting library takes ten times as long.

A drawing is a list of elements. Sizes are in pixels of a figure that is 900 wide; a browser scales
it. Texts are in the reader's own font.
"""

import base64
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image

from notears_pfl.report.palette import BLACK, INK

WIDTH = 900
# Sizes of text: of labels and of what is smaller, and the width of a letter of them in pixels.
LABEL, SMALL, LETTER = 12.5, 10, 0.58
# Steps between ticks, times a power of ten; distance between ticks in pixels.
STEPS, BETWEEN_TICKS = (1, 2, 2.5, 5, 10), 70
# Fewer ticks than this hardly show a scale.
FEWEST_TICKS = 3
TICK = 4


@dataclass(frozen=True)
class Panel:
    """A pair of axes: its place in pixels from the upper left corner, and the range of its data."""

    left: float
    top: float
    width: float
    height: float
    x: tuple[float, float]
    y: tuple[float, float]

    @property
    def right(self) -> float:
        """Right end in pixels."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """Lower end in pixels."""
        return self.top + self.height

    def across(self, values: ArrayLike) -> NDArray[np.float64]:
        """Places of values of x, in pixels from the left."""
        low, high = self.x
        return self.left + self.width * (np.asarray(values, dtype=float) - low) / (high - low)

    def down(self, values: ArrayLike) -> NDArray[np.float64]:
        """Places of values of y, in pixels from above."""
        low, high = self.y
        return self.bottom - self.height * (np.asarray(values, dtype=float) - low) / (high - low)

    def frame(self, x_label: str = "", y_label: str = "", x_ticks: bool = True) -> list[str]:
        """Draw the left and the lower axis with ticks and labels."""
        drawn = [segment(self.left, self.top, self.left, self.bottom, BLACK, 0.9)]
        drawn.append(segment(self.left, self.bottom, self.right, self.bottom, BLACK, 0.9))
        for value in ticks(*self.y, self.height / BETWEEN_TICKS * 2):
            y = float(self.down(value))
            drawn.append(segment(self.left - TICK, y, self.left, y, BLACK, 0.9))
            drawn.append(text(self.left - TICK - 3, y, number(value), "end"))
        if x_ticks:
            drawn += self.x_axis()
        if x_label:
            drawn.append(text((self.left + self.right) / 2, self.bottom + 36, x_label))
        if y_label:
            middle = (self.top + self.bottom) / 2
            drawn.append(text(self.left - 52, middle, y_label, turned=True))
        return drawn

    def x_axis(self) -> list[str]:
        """Draw the ticks of the lower axis and their values."""
        drawn = []
        for value in ticks(*self.x, self.width / BETWEEN_TICKS):
            x = float(self.across(value))
            drawn.append(segment(x, self.bottom, x, self.bottom + TICK, BLACK, 0.9))
            drawn.append(text(x, self.bottom + 15, number(value)))
        return drawn

    def line(
        self, x: ArrayLike, y: ArrayLike, colour: str, width: float = 1.4, dashes: str = ""
    ) -> str:
        """Draw a line; it has gaps where values are missing."""
        values = np.asarray(y, dtype=float)
        points = np.column_stack([self.across(x), self.down(values)]).round(1)
        known = np.isfinite(values)
        starts = known & ~np.concatenate([[False], known[:-1]])
        path = "".join(
            f"{'M' if start else 'L'}{across:g} {down:g}"
            for (across, down), start in zip(
                points[known].tolist(), starts[known].tolist(), strict=True
            )
        )
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        return (
            f'<path class="line" d="{path}" fill="none" stroke="{colour}" '
            f'stroke-width="{width:g}"{dashed}/>'
        )

    def level(self, y: float, colour: str, dashes: str = "6 4") -> str:
        """Draw a line across the panel."""
        at = float(self.down(y))
        return segment(self.left, at, self.right, at, colour, 1.3, dashes)

    def upright(self, x: float, colour: str, dashes: str = "", kind: str = "") -> str:
        """Draw a line from the top to the bottom of the panel."""
        at = float(self.across(x))
        return segment(at, self.top, at, self.bottom, colour, 1.3, dashes, kind)

    def band(self, low: float, high: float, colour: str, opacity: float, kind: str = "") -> str:
        """Shade the panel between two values of x."""
        start, end = self.across([low, high]).tolist()
        return block(start, self.top, end - start, self.height, colour, opacity, kind)

    def image(self, pixels: NDArray[np.uint8]) -> str:
        """Fill the panel with an image, whose pixels may be wider than high."""
        place = self.left, self.top, self.width, self.height
        return picture(pixels, *place, "image-rendering:pixelated")


def ticks(low: float, high: float, n_most: float) -> list[float]:
    """Round values between two ends, at most about ``n_most`` but three where there is room."""
    rough = (high - low) / max(n_most, 1)
    power = 10 ** np.floor(np.log10(rough))
    steps = [float(s * scale) for scale in (power / 10, power) for s in STEPS]
    place = next(place for place, step in enumerate(steps) if step >= rough * (1 - 1e-9))
    fewest = min(FEWEST_TICKS, max(n_most, 2))
    while len(values := _multiples(steps[place], low, high)) < fewest:
        place -= 1
    return values


def _multiples(step: float, low: float, high: float) -> list[float]:
    """Multiples of a step between two ends."""
    first, last = np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9)
    return [float(k * step) for k in np.arange(first, last + 1)]


def number(value: float) -> str:
    """Write the value of a tick."""
    # Adding zero turns −0 into 0.
    return f"{round(value, 10) + 0.0:g}".replace("-", "−")


def text(
    x: float, y: float, words: str, anchor: str = "middle", size: float = LABEL,
    turned: bool = False, bold: bool = False,
) -> str:  # fmt: skip
    """Write words around the height ``y``; ``turned``: upwards."""
    looks = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
    looks += ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" dy=".35em" text-anchor="{anchor}" '
        f'font-size="{size:g}"{looks}>{escape(words)}</text>'
    )


def segment(
    x1: float, y1: float, x2: float, y2: float, colour: str, width: float, dashes: str = "",
    kind: str = "",
) -> str:  # fmt: skip
    """Draw a straight line."""
    looks = f' stroke-dasharray="{dashes}"' if dashes else ""
    looks += f' class="{kind}"' if kind else ""
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
        f'stroke-width="{width:g}"{looks}/>'
    )


def block(
    x: float, y: float, width: float, height: float, colour: str, opacity: float = 1.0,
    kind: str = "",
) -> str:  # fmt: skip
    """Draw a filled rectangle."""
    looks = f' fill-opacity="{opacity:g}"' if opacity < 1 else ""
    looks += f' class="{kind}"' if kind else ""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
        f'fill="{colour}"{looks}/>'
    )


def picture(
    pixels: NDArray[np.uint8], x: float, y: float, width: float, height: float, style: str = ""
) -> str:
    """Draw an image, stretched to a rectangle."""
    coded = io.BytesIO()
    Image.fromarray(pixels).save(coded, "PNG")
    looks = f' style="{style}"' if style else ""
    return (
        f'<image x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
        f'preserveAspectRatio="none"{looks} href="{data_url(coded.getvalue(), "image/png")}"/>'
    )


def triangle(x: float, y: float, colour: str) -> str:
    """Draw a mark that points down at a place."""
    return f'<path class="mark" d="M{x - 4:.1f} {y - 4:.1f}h8l-4 8z" fill="{colour}"/>'


def key(
    entries: Iterable[tuple[str, str, str]], x: float, y: float, columns: int, column: float
) -> list[str]:
    """Draw a legend of colour, dashes (``fill`` for a block) and label, in columns row by row."""
    drawn = []
    for place, (colour, dashes, label) in enumerate(entries):
        left, middle = x + column * (place % columns), y + 17 * (place // columns)
        if dashes == "fill":
            drawn.append(block(left, middle - 4, 22, 8, colour))
        else:
            drawn.append(segment(left, middle, left + 22, middle, colour, 1.8, dashes))
        drawn.append(text(left + 28, middle, label, "start", SMALL))
    return drawn


def drawing(height: float, elements: Sequence[str]) -> str:
    """Put elements together."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:g}" '
        f'viewBox="0 0 {WIDTH} {height:g}" font-family="DejaVu Sans, Verdana, sans-serif" '
        f'fill="{INK}">{"".join(elements)}</svg>'
    )


def data_url(content: bytes, kind: str) -> str:
    """Write a file's content as an address."""
    return f"data:{kind};base64," + base64.b64encode(content).decode("ascii")
