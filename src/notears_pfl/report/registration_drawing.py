"""Draw slices with outlines: the figures of a subject's page, and thumbnails of many subjects."""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageColor

from notears_pfl.report.page import embed_picture
from notears_pfl.report.page_parts import Caption, Picture
from notears_pfl.report.palette import VERMILION, YELLOW
from notears_pfl.report.svg_drawing import SMALL, WIDTH, drawing, key, picture, text


@dataclass(frozen=True)
class Shown:
    """What slices show: titles of figure and thumbnail, image, outlines, and how good ones look."""

    title: str
    short: str
    image: str
    outlines: str
    right: str


# By kind, in the order in which they are judged.
REGISTRATIONS = {
    "brain": Shown(
        "Brain mask", "brain", "T1w head", "the brain mask and of white matter",
        "The outline should follow the brain's surface, without skull or eyes and without gaps.",
    ),
    "bold": Shown(
        "Registration of BOLD to T1w", "BOLD to T1w", "mean BOLD image in T1w space",
        "the T1w image's brain and white matter",
        "White matter is darker than grey matter; its outline should follow that edge.",
    ),
    "t1w": Shown(
        "Registration of T1w to MNI", "T1w to MNI", "T1w brain in MNI space",
        "the template's brain and white matter",
        "Both outlines, and the ventricles, should match the subject's.",
    ),
}  # fmt: skip
PLANES = ("axial", "coronal", "sagittal")
# Colours of the outlines with the values 1 and 2: the first stands out from dark skull, the second
# from light grey white matter, even in a small picture.
OUTLINES = ((YELLOW, "outline of the brain"), (VERMILION, "outline of white matter"))
# Slices of a thumbnail: the plane, and the place among its slices.
THUMBNAIL = (("axial", 1), ("sagittal", 1))
# Pages show thumbnails at about half their size, where an outline of one pixel would fade.
THICKNESS = 2
# WebP quality at which outlines stay sharp and the three thumbnails of a subject take about 50 kB.
QUALITY = 65

Slices = Mapping[str, Any]


def overlay(slices: Slices, plane: str, k: int, thickness: int = 1) -> NDArray[np.uint8]:
    """Colour the outlines of slice ``k`` of a plane (rows, columns, 3); thicken the brain's.

    ``slices`` holds, for each plane, the image (slices, rows, columns), ``<plane>_outline``
    (1 brain, 2 white matter) and ``<plane>_mm``.
    """
    drawn = np.repeat(slices[plane][k][..., None], 3, axis=2)
    outline = slices[f"{plane}_outline"][k]
    brain, white = (ImageColor.getrgb(colour) for colour, _ in OUTLINES)
    drawn[outline == 2] = white
    drawn[_thickened(outline == 1, thickness)] = brain
    return np.asarray(drawn, dtype=np.uint8)


def _thickened(mask: NDArray[np.bool_], thickness: int) -> NDArray[np.bool_]:
    """Thicken lines of one pixel downwards and to the right."""
    thick = mask.copy()
    for _ in range(thickness - 1):
        thick[1:] |= thick[:-1].copy()
        thick[:, 1:] |= thick[:, :-1].copy()
    return thick


def registration_drawing(slices: Slices) -> str:
    """Draw all slices with outlines as SVG, large enough to follow an outline; the legend is last.

    The slices are one image, without loss: outlines are a pixel wide.
    """
    shown = [(plane, k) for plane in PLANES for k in range(len(slices[plane]))]
    drawn = [overlay(slices, plane, k) for plane, k in shown]
    n_columns = len(shown) // 2 + 1
    height, width = (max(image.shape[axis] for image in drawn) for axis in (0, 1))
    # Room above each slice for its position, and between slices, in pixels of the image.
    row, column = round(1.12 * height), round(1.03 * width)
    montage = np.full((2 * row, n_columns * column, 3), 255, np.uint8)
    scale = WIDTH / (n_columns * column)
    elements = []
    for place, (image, (plane, k)) in enumerate(zip(drawn, shown, strict=True)):
        bottom, middle = (place // n_columns + 1) * row, (place % n_columns + 0.5) * column
        top, left = bottom - height, round(middle - image.shape[1] / 2)
        montage[top : top + len(image), left : left + image.shape[1]] = image
        name = f"{'zyx'[PLANES.index(plane)]} = {slices[f'{plane}_mm'][k]:.0f}".replace("-", "−")
        elements.append(text(scale * middle, scale * (top - 0.05 * height), name, size=SMALL))
    key_left, key_top = scale * (n_columns - 1) * column + 10, scale * (2 * row - height / 2)
    elements += key([(c, "fill", name) for c, name in OUTLINES], key_left, key_top, 1, 0)
    whole = picture(montage, 0, 0, WIDTH, scale * len(montage))
    return drawing(scale * len(montage), [whole, *elements])


def thumbnail(slices: Slices, caption: Caption) -> Picture:
    """Embed an axial and a sagittal slice, side by side on black."""
    parts = [overlay(slices, plane, k, THICKNESS) for plane, k in THUMBNAIL]
    height = max(len(part) for part in parts)
    rows = [
        np.pad(part, (((height - len(part)) // 2, (height - len(part) + 1) // 2), (0, 0), (0, 0)))
        for part in parts
    ]
    png = io.BytesIO()
    Image.fromarray(np.hstack(rows)).save(png, "PNG")
    return embed_picture(png, "", caption, quality=QUALITY)
