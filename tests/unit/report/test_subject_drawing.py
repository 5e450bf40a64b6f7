"""Figures of a subject show its data: as long, as dark and as high as they are."""

import os
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.signal import periodogram

from notears_pfl.report.subject_drawing import (
    carpet_drawing,
    carpet_pixels,
    carpet_values,
    coverage_drawing,
    mean_spectrum,
    movement_drawing,
    spectrum_drawing,
)
from notears_pfl.report.svg_drawing import LETTER, Panel, number, ticks

from .toy import svg_elements, svg_images, svg_words, toy_rois

TR = 2.0


@pytest.fixture
def rois():
    return toy_rois().iloc[:6]


def series_of(rng, rois, n_volumes=50):
    return pd.DataFrame(rng.normal(size=(n_volumes, len(rois))), columns=rois.index)


DRAW = """
import numpy as np
import pandas as pd
from notears_pfl.report import subject_drawing as figures

names = [f"region {k}" for k in range(12)]
rois = pd.DataFrame({"lobe": [f"lobe {k % 5}" for k in range(12)]}, index=names)
values = np.random.default_rng(1).normal(size=(40, 12))
stages = {"before": pd.DataFrame(values, columns=names), "after": pd.DataFrame(values**2, columns=names)}
motion = [f"{kind}_{axis}" for kind in ("trans", "rot") for axis in "xyz"]
confounds = pd.DataFrame(abs(values[:, :2]), columns=["fd_power_mm", "dvars_percent"])
print(figures.carpet_drawing(stages, rois, 2.0, [20]))
print(figures.spectrum_drawing(stages, 2.0, (0.01, 0.08)))
print(figures.movement_drawing(pd.DataFrame(values[:, :6], columns=motion), confounds, 2.0, [3], [20]))
print(figures.coverage_drawing(pd.Series(np.linspace(0.2, 1, 12), names), names[::2], 0.5))
"""  # noqa: E501


def test_figures_do_not_depend_on_the_order_in_which_a_process_keeps_sets():
    drawn = {
        subprocess.run(
            [sys.executable, "-c", DRAW], env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True, check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }  # fmt: skip

    (figures,) = drawn
    assert figures.count(b"</svg>") == 4


def test_a_carpet_has_a_row_for_each_region_by_lobe_and_a_pixel_for_each_volume(rng):
    rois = toy_rois()
    series = series_of(rng, rois, 30)

    (image,) = svg_images(carpet_drawing({"after cleaning": series}, rois, TR))

    order = [r for lobe in rois["lobe"].unique() for r in rois.index[rois["lobe"] == lobe]]
    np.testing.assert_array_equal(image, carpet_pixels(carpet_values(series, order)))
    assert image.shape == (56, 30)


def test_values_of_a_carpet_are_standardised_over_what_is_known(rng, rois):
    series = series_of(rng, rois)
    series.iloc[3:9, 2] = np.nan
    series.iloc[:, 4] = np.nan
    series.iloc[:, 5] = 7.0

    values = carpet_values(series, rois.index)

    expected = (series - series.mean()) / series.std(ddof=0)
    np.testing.assert_allclose(values[:4], expected.to_numpy().T[:4])
    assert np.isnan(values[4]).all()
    assert (values[5] == 0).all()


def test_a_carpet_is_dark_where_the_signal_is_low_and_blank_where_there_is_none():
    pixels = carpet_pixels(np.array([[-3.0, -2, 0, 2, 3, np.nan]]))

    assert pixels.tolist() == [[0, 0, 128, 255, 255, 255]]


def test_seams_of_runs_are_lines_at_their_volume_on_every_carpet(rng, rois):
    stages = {"before": series_of(rng, rois), "after": series_of(rng, rois)}

    drawn = carpet_drawing(stages, rois, TR, [25])

    places = [float(line.get("x1")) for line in svg_elements(drawn, "line", "seam")]
    (image, _) = svg_elements(drawn, "image")
    middle = float(image.get("x")) + float(image.get("width")) / 2
    assert places == pytest.approx([middle, middle], abs=0.1)


@pytest.mark.parametrize("n_volumes", [99, 100])
def test_a_spectrum_is_the_mean_of_shares_of_the_power(rng, rois, n_volumes):
    series = series_of(rng, rois, n_volumes)

    frequency, shares = mean_spectrum(series, TR)

    expected, power = periodogram(series.to_numpy(), fs=1 / TR, axis=0)
    np.testing.assert_allclose(frequency, expected)
    shares_of_each = 100 * power / power.sum(axis=0)
    np.testing.assert_allclose(shares, shares_of_each.mean(axis=1), atol=1e-10)


def test_the_scale_of_a_spectrum_holds_its_highest_peak(rois):
    wave = np.sin(2 * np.pi * 0.05 * TR * np.arange(100))
    series = pd.DataFrame(dict.fromkeys(rois.index, wave))

    frequency, power = mean_spectrum(series, TR)
    drawn = spectrum_drawing({"after cleaning": series}, TR, (0.01, 0.08))

    assert frequency[power.argmax()] == pytest.approx(0.05)
    assert power.max() == pytest.approx(100)
    (line,) = svg_elements(drawn, "path", "line")
    heights = [float(point.replace("L", " ").split()[1]) for point in line.get("d")[1:].split("L")]
    # The axis ends at 100 %, ten pixels from the upper edge.
    assert min(heights) == pytest.approx(10, abs=0.1)
    assert "pass band, 0.01 to 0.08 Hz" in svg_words(drawn)


def moved(n_volumes=40):
    """Give still volumes with one displacement of 0.9 mm."""
    names = [f"{kind}_{axis}" for kind in ("trans", "rot") for axis in "xyz"]
    motion = pd.DataFrame(0.0, index=range(n_volumes), columns=names)
    confounds = pd.DataFrame({"fd_power_mm": 0.1, "dvars_percent": 1.0}, index=range(n_volumes))
    confounds.loc[10, "fd_power_mm"] = 0.9
    return motion, confounds


def test_moved_and_censored_volumes_and_seams_are_marked_at_their_time():
    drawn = movement_drawing(*moved(), TR, censored=[10, 11], seams=[20])

    assert len(svg_elements(drawn, "path", "mark")) == 1
    bands = svg_elements(drawn, "rect", "censored")
    lines = svg_elements(drawn, "line", "seam")
    panel = Panel(70, 0, 816, 1, (0, TR * 39), (0, 1))
    assert [float(band.get("x")) for band in bands[::2]] == pytest.approx(
        panel.across([TR * 9.5, TR * 10.5]), abs=0.1
    )
    assert [float(line.get("x1")) for line in lines] == pytest.approx(
        [panel.across(TR * 19.5)] * 4, abs=0.1
    )


def test_displacement_that_is_not_known_leaves_its_panel_empty():
    motion, confounds = moved()

    drawn = movement_drawing(motion, confounds.assign(fd_power_mm=np.nan), TR)

    lines = [line.get("d") for line in svg_elements(drawn, "path", "line")]
    assert [bool(line) for line in lines] == [True] * 6 + [False, True]
    assert svg_elements(drawn, "path", "mark") == []
    assert "FD, mm" in svg_words(drawn)


def test_regions_of_low_coverage_are_named():
    drawn = coverage_drawing(pd.Series({"A": 1.0, "B": 0.7, "C": 0.95}), ["A", "B"], 0.5)

    words = svg_words(drawn).split("\n")
    assert "B" in words
    assert "A" not in words
    bars = {kind: svg_elements(drawn, "rect", kind) for kind in ("selected", "other")}
    heights = {kind: [float(bar.get("height")) for bar in of] for kind, of in bars.items()}
    assert heights["selected"][1] == pytest.approx(0.7 * heights["selected"][0], abs=0.2)
    assert len(heights["other"]) == 1


@pytest.mark.parametrize("name", ["B", "LH.SalVentAttn.FrOperIns.5"])
@pytest.mark.parametrize("share", [0.05, 0.75])
def test_the_name_of_a_region_stands_on_its_bar_and_within_the_figure(name, share):
    drawn = coverage_drawing(pd.Series({"A": 1.0, name: share}), ["A", name], 0.5)

    (named,) = [words for words in svg_elements(drawn, "text") if words.text == name]
    bar = svg_elements(drawn, "rect", "selected")[1]
    middle, half = float(named.get("y")), LETTER * float(named.get("font-size")) * len(name) / 2
    assert middle + half == pytest.approx(float(bar.get("y")) - 6, abs=0.1)
    # Above is the legend.
    assert middle - half > 19
    height = float(ElementTree.fromstring(drawn).get("height"))
    assert float(bar.get("y")) + float(bar.get("height")) < height


@pytest.mark.parametrize(
    ("low", "high", "n_most", "expected"),
    [
        (0, 100, 5, [0, 20, 40, 60, 80, 100]),
        (-0.3, 0.31, 4, [-0.2, 0, 0.2]),
        (0, 0.25, 10, [0, 0.025, 0.05, 0.075, 0.1, 0.125, 0.15, 0.175, 0.2, 0.225, 0.25]),
    ],
)
def test_ticks_are_round_numbers_within_the_ends(low, high, n_most, expected):
    assert ticks(low, high, n_most) == pytest.approx(expected)


@given(
    low=st.floats(-1e4, 1e4),
    span=st.floats(1e-3, 1e4),
    n_most=st.sampled_from([116 / 35, 220 / 35, 816 / 70]),
)
@example(low=-0.19, span=0.335, n_most=116 / 35)
@example(low=0.1, span=3.35, n_most=116 / 35)
def test_every_axis_has_at_least_three_ticks_at_round_even_steps(low, span, n_most):
    found = np.array(ticks(low, low + span, n_most))

    assert 3 <= len(found) <= max(6, n_most + 1)
    assert low - 1e-6 * span <= found.min()
    assert found.max() <= low + span + 1e-6 * span
    steps = np.diff(found)
    np.testing.assert_allclose(steps, steps[0], rtol=1e-6)
    digits = steps[0] / 10 ** np.floor(np.log10(steps[0] * 1.001))
    assert np.isclose(digits, [1, 2, 2.5, 5], rtol=1e-6).any()


def test_numbers_at_ticks_have_a_minus_sign_and_zero_has_none():
    assert [number(value) for value in (-0.5, -0.0, 0.1 + 0.2)] == ["−0.5", "0", "0.3"]


def test_a_line_has_gaps_where_values_are_missing():
    line = Panel(0, 0, 4, 1, (0, 4), (0, 1)).line(range(5), [0, 1, np.nan, 1, 0], "#000000")

    assert 'd="M0 1L1 0M3 0L4 1"' in line
