"""Arrows on a circle."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch
from notears_pfl.report.brain import Arrow
from notears_pfl.report.circle import circle_angles, draw_circle, lobe_handles

from .toy import toy_rois


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
