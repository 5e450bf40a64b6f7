"""Figures of a subject show its data: as long, as dark and as high as they are."""

import numpy as np
import pandas as pd
import pytest
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
from notears_pfl.report.svg_drawing import Panel, number, ticks

from .toy import svg_elements, svg_images, svg_words, toy_rois

TR = 2.0


@pytest.fixture
def rois():
    return toy_rois().iloc[:6]


def series_of(rng, rois, n_volumes=50):
    return pd.DataFrame(rng.normal(size=(n_volumes, len(rois))), columns=rois.index)


def test_the_same_series_give_the_same_bytes(rng, rois):
    stages = {"after cleaning": series_of(rng, rois)}

    assert carpet_drawing(stages, rois, TR) == carpet_drawing(stages, rois, TR)
    assert spectrum_drawing(stages, TR, None) == spectrum_drawing(stages, TR, None)


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


def test_regions_of_low_coverage_are_named():
    drawn = coverage_drawing(pd.Series({"A": 1.0, "B": 0.7, "C": 0.95}), ["A", "B"], 0.5)

    words = svg_words(drawn).split("\n")
    assert "B" in words
    assert "A" not in words
    bars = {kind: svg_elements(drawn, "rect", kind) for kind in ("selected", "other")}
    heights = {kind: [float(bar.get("height")) for bar in of] for kind, of in bars.items()}
    assert heights["selected"][1] == pytest.approx(0.7 * heights["selected"][0], abs=0.2)
    assert len(heights["other"]) == 1


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


def test_numbers_at_ticks_have_a_minus_sign_and_zero_has_none():
    assert [number(value) for value in (-0.5, -0.0, 0.1 + 0.2)] == ["−0.5", "0", "0.3"]


def test_a_line_has_gaps_where_values_are_missing():
    line = Panel(0, 0, 4, 1, (0, 4), (0, 1)).line(range(5), [0, 1, np.nan, 1, 0], "#000000")

    assert 'd="M0 1L1 0M3 0L4 1"' in line
