"""Arrows on a glass brain."""

from itertools import combinations
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch
from notears_pfl.report.brain import Arrow, draw_brain, signed_arrows
from notears_pfl.report.style import INK, VERMILION

from .toy import toy_rois

ROOT = Path(__file__).parents[3]


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
    rois = pd.read_csv(ROOT / "config/rois.tsv", sep="\t").set_index("abbreviation")
    rois = rois[rois["selected"]]
    ring = [Arrow(start, end, INK) for start, end in zip(rois.index, rois.index[2:], strict=False)]
    figure = Figure(figsize=(6.6, 2.6))
    draw_brain(list(figure.subplots(1, 3)), ring, rois)
    figure.draw_without_rendering()

    for axis in figure.axes:
        boxes = [text.get_window_extent() for text in axis.texts if text.get_text() in rois.index]
        assert len(boxes) >= 5
        assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
