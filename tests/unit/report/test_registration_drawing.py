"""Slices are drawn where they were taken, with outlines in their colours, the same every time."""

import base64
import io

import matplotlib as mpl
import numpy as np
import pytest
from PIL import Image

from notears_pfl.report.figure_style import draw_image, save_figure
from notears_pfl.report.page_parts import Caption
from notears_pfl.report.registration_drawing import (
    OUTLINES,
    PLANES,
    overlay,
    registration_figure,
    thumbnail,
)

from .toy import toy_slices, words


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


def test_drawing_leaves_the_slices_as_they_were():
    slices, before = toy_slices(), toy_slices()

    overlay(slices, "axial", 0)

    np.testing.assert_array_equal(slices["axial"], before["axial"])


def test_a_figure_shows_every_slice_with_its_position():
    figure = registration_figure(toy_slices())

    shown = [image for axis in figure.axes for image in axis.images]
    text = words(figure)
    assert len(shown) == 9
    for axis in "xyz":
        for where in (-9, 0, 9):
            assert f"{axis} = {where}" in text
    assert "outline of the brain" in text


def test_an_image_in_memory_has_the_pixels_of_the_file(tmp_path):
    save_figure(registration_figure(toy_slices()), tmp_path / "figure.png")

    drawn = draw_image(registration_figure(toy_slices()))

    with Image.open(tmp_path / "figure.png") as saved:
        np.testing.assert_array_equal(np.asarray(drawn), np.asarray(saved))


def test_slices_of_a_figure_do_not_overlap_and_keep_their_shape():
    (axis,) = registration_figure(toy_slices()).axes

    frames = [image.get_extent() for image in axis.images]
    for image, (left, right, bottom, top) in zip(axis.images, frames, strict=True):
        assert image.get_array().shape[:2] == pytest.approx((bottom - top, right - left))
    for i, (left, right, bottom, top) in enumerate(frames):
        for other in frames[:i]:
            beside = right <= other[0] or left >= other[1]
            assert beside or bottom <= other[3] or top >= other[2]


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
