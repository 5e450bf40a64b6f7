"""Slices are drawn where they were taken, with outlines in their colours, the same every time."""

import base64
import io

import matplotlib as mpl
import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import maximum_filter

from notears_pfl.report.page_parts import Caption
from notears_pfl.report.registration_drawing import (
    OUTLINES,
    PLANES,
    overlay,
    registration_drawing,
    thumbnail,
)

from .toy import svg_images, svg_words, toy_slices


def pixels(picture):
    """Decode an embedded picture (rows, columns, 3)."""
    coded = base64.b64decode(picture.source.removeprefix("data:image/webp;base64,"))
    with Image.open(io.BytesIO(coded)) as image:
        return np.asarray(image.convert("RGB")).astype(float)


@pytest.mark.parametrize("plane", PLANES)
def test_outlines_have_their_colours_and_all_other_pixels_the_images_grey(plane):
    slices = toy_slices()

    drawn = overlay(slices, plane, 1)

    outline = slices[f"{plane}_outline"][1]
    for value, (colour, _) in enumerate(OUTLINES, start=1):
        expected = np.rint(255 * np.array(mpl.colors.to_rgb(colour)))
        assert (drawn[outline == value] == expected).all()
    plain = outline == 0
    assert (drawn[plain] == slices[plane][1][plain][:, None]).all()


@pytest.mark.parametrize("thickness", [1, 2])
def test_an_outline_is_thickened_by_the_largest_value_around(rng, thickness):
    slices = toy_slices()
    slices["axial_outline"] = (rng.random((3, 21, 17)) < 0.1).astype(np.uint8)

    drawn = overlay(slices, "axial", 0, thickness)

    brain = np.rint(255 * np.array(mpl.colors.to_rgb(OUTLINES[0][0])))
    expected = maximum_filter(slices["axial_outline"][0] == 1, thickness)
    np.testing.assert_array_equal((drawn == brain).all(axis=2), expected)


def test_drawing_leaves_the_slices_as_they_were():
    slices, before = toy_slices(), toy_slices()

    overlay(slices, "axial", 0)

    np.testing.assert_array_equal(slices["axial"], before["axial"])


def test_a_figure_shows_every_slice_with_its_position():
    text = svg_words(registration_drawing(toy_slices()))

    for axis in "xyz":
        for where in ("−9", "0", "9"):
            assert f"{axis} = {where}" in text
    assert "outline of the brain" in text


def test_every_slice_of_a_figure_is_whole_and_none_hides_another(rng):
    slices = toy_slices()
    for plane in PLANES:
        slices[plane] = rng.integers(0, 255, slices[plane].shape, np.uint8)

    (image,) = svg_images(registration_drawing(slices))

    for plane in PLANES:
        for k in range(3):
            drawn = overlay(slices, plane, k)
            height, width = drawn.shape[:2]
            found = [
                (top, left)
                for top in range(image.shape[0] - height + 1)
                for left in range(image.shape[1] - width + 1)
                if (image[top : top + height, left : left + width] == drawn).all()
            ]
            assert len(found) == 1


def test_a_thumbnail_is_an_axial_beside_a_sagittal_slice_with_left_on_the_left():
    picture = thumbnail(toy_slices(), Caption("alt", ""))

    image = pixels(picture)
    assert image.shape == (21, 17 + 21, 3)
    assert (picture.width, picture.height) == (38, 21)
    # Between the outlines: bright on the left and at the back, dark on the right and in front.
    assert image[14:18, 1:7].min() > 150 > 90 > image[14:18, 10:16].max()
    assert image[14:18, 18:26].min() > 150 > 90 > image[14:18, 29:].max()
    # The sagittal slice is shorter: it stands in the middle, on black.
    assert image[0, 20:].max() < 40


def test_the_same_slices_give_the_same_bytes():
    first, second = (thumbnail(toy_slices(), Caption("alt", "")) for _ in range(2))

    assert first == second
