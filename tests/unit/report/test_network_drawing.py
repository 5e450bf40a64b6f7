"""Arrows on a glass brain and on a circle."""

from itertools import combinations

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from notears_pfl.report.network_drawing import (
    Arrow,
    circle_angles,
    draw_brain,
    draw_circle,
    lobe_handles,
    named_on_circle,
    signed_arrows,
)
from notears_pfl.report.palette import INK, VERMILION, lobe_colours

from .toy import toy_rois


def arrows_on(axis):
    return [patch for patch in axis.patches if isinstance(patch, FancyArrowPatch)]


def test_an_arrow_goes_from_the_row_to_the_column_and_shows_its_sign():
    network = pd.DataFrame([[0, 0.8], [0, 0]], index=["A", "B"], columns=["A", "B"])

    (up,) = signed_arrows(network)
    (down,) = signed_arrows(-network.T)

    assert (up.start, up.end, up.colour, up.dashed) == ("A", "B", INK, False)
    assert (down.start, down.end, down.colour, down.dashed) == ("B", "A", VERMILION, True)
    assert signed_arrows(0 * network) == []


@pytest.mark.parametrize(
    ("start", "end", "counts"),
    [
        ("INS.R", "INS.L", [0, 1, 0]),
        ("INS.L", "PreCG.L", [1, 1, 0]),
        ("INS.R", "PreCG.R", [0, 1, 1]),
    ],
)
def test_a_connection_shows_from_above_and_on_its_own_side(start, end, counts):
    axes = list(Figure().subplots(1, 3))

    draw_brain(axes, [Arrow(start, end, "black")], toy_rois())

    assert [len(arrows_on(axis)) for axis in axes] == counts


def test_from_above_left_is_left_and_the_front_is_up():
    axes, rois = list(Figure().subplots(1, 3)), toy_rois()

    draw_brain(axes, [Arrow("CUN.L", "PreCG.R", "black")], rois)

    start, end = arrows_on(axes[1])[0]._posA_posB
    np.testing.assert_allclose(start, rois.loc["CUN.L", ["x", "y"]].astype(float))
    np.testing.assert_allclose(end, rois.loc["PreCG.R", ["x", "y"]].astype(float))
    assert axes[1].get_xlim()[0] < axes[1].get_xlim()[1]
    # The left hemisphere is seen from the left: its front is on the left.
    assert axes[0].get_xlim()[0] > axes[0].get_xlim()[1]


def test_the_regions_of_most_arrows_are_named():
    axes = list(Figure().subplots(1, 3))

    draw_brain(axes, [Arrow("INS.L", "PreCG.L", "black")], toy_rois())

    named = {text.get_text() for text in axes[0].findobj(mpl.text.Annotation)}
    assert named == {"INS.L", "PreCG.L"}


def test_no_name_covers_another():
    rois = toy_rois()
    ring = [Arrow(start, end, INK) for start, end in zip(rois.index, rois.index[2:], strict=False)]
    figure = Figure(figsize=(6.6, 2.6))
    draw_brain(list(figure.subplots(1, 3)), ring, rois)
    figure.draw_without_rendering()

    for axis in figure.axes:
        boxes = [text.get_window_extent() for text in axis.texts if text.get_text() in rois.index]
        assert len(boxes) >= 5
        assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))


def test_each_hemisphere_stands_on_its_side():
    rois = toy_rois()

    on_right = np.cos(np.deg2rad(circle_angles(rois))) > 0

    assert (on_right == (rois["x"] >= 0)).all()


def test_lobes_are_in_one_piece_from_the_top_down():
    rois = toy_rois()
    height = np.sin(np.deg2rad(circle_angles(rois)))

    right = rois.assign(height=height)[rois["x"] >= 0].sort_values("height", ascending=False)

    changes = (right["lobe"] != right["lobe"].shift()).sum()
    assert changes == right["lobe"].nunique()
    assert right["lobe"].iloc[0] == "Frontal"


def test_no_two_regions_share_an_angle():
    angles = np.sort(circle_angles(toy_rois()))

    assert np.diff(angles).min() > 1


def test_an_arrow_points_at_its_end():
    rois, axis = toy_rois(), Figure().subplots()

    draw_circle(axis, [Arrow("INS.R", "CUN.L", "black")], rois)

    (arrow,) = (patch for patch in axis.patches if isinstance(patch, FancyArrowPatch))
    first, last = arrow._path_original.vertices[[0, -1]]
    angles = np.deg2rad(circle_angles(rois))
    for point, name in ((first, "INS.R"), (last, "CUN.L")):
        on_circle = np.array([np.cos(angles[name]), np.sin(angles[name])])
        np.testing.assert_allclose(point, 0.985 * on_circle)


def test_every_region_is_named_and_every_lobe_has_an_entry():
    rois, axis = toy_rois(), Figure().subplots()

    draw_circle(axis, [], rois)

    assert set(rois.index) <= {text.get_text() for text in axis.texts}
    assert [patch.get_label() for patch in lobe_handles(rois)] == list(rois["lobe"].unique())


def test_where_names_have_no_room_those_of_the_regions_with_the_most_arrows_are_written():
    n = 400
    rois = pd.DataFrame(
        {"lobe": "Vis", "x": [-1.0, 1.0] * (n // 2)}, index=[f"R{i}" for i in range(n)]
    )
    arrows = [Arrow("R0", "R2", "k"), Arrow("R2", "R4", "k"), Arrow("R0", "R100", "k")]
    angles = circle_angles(rois)

    named = named_on_circle(angles, arrows)

    # R0, R2 and R4 are neighbours on the left: R0 and R2 have two arrows each.
    assert named == ["R0", "R100"]
    assert named_on_circle(angles.iloc[:40:8], arrows) == list(angles.index[:40:8])


def test_lobes_have_different_colours():
    colours = lobe_colours(toy_rois()["lobe"])

    assert len(set(colours.values())) == len(colours) == 6
