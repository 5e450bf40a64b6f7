"""Figures whose frame is drawn once show every subject as if they had been drawn anew."""

import numpy as np
import pandas as pd
import pytest

from notears_pfl.report import subject_drawing
from notears_pfl.report.subject_drawing import carpet_image, spectrum_image

from .toy import toy_rois

TR = 2.0


@pytest.fixture
def rois():
    return toy_rois().iloc[:6]


def series_of(rng, rois, n_volumes=50):
    return pd.DataFrame(rng.normal(size=(n_volumes, len(rois))), columns=rois.index)


def draw_anew(draw, *arguments):
    subject_drawing._carpets.cache_clear()
    subject_drawing._spectra.cache_clear()
    return np.asarray(draw(*arguments))


@pytest.mark.parametrize("draw", [
    lambda stages, rois: carpet_image(stages, rois, TR),
    lambda stages, rois: spectrum_image(stages, TR, (0.01, 0.08)),
])  # fmt: skip
def test_a_subject_looks_the_same_whoever_was_drawn_before(rng, rois, draw):
    stages = [{"before": series_of(rng, rois), "after": series_of(rng, rois)} for _ in range(2)]
    anew = [draw_anew(draw, stage, rois) for stage in stages]
    subject_drawing._carpets.cache_clear()
    subject_drawing._spectra.cache_clear()

    in_turn = [np.asarray(draw(stages[k], rois)) for k in (0, 1, 0)]

    assert (anew[0] != anew[1]).any()
    for k, image in zip((0, 1, 0), in_turn, strict=True):
        np.testing.assert_array_equal(image, anew[k])


def test_the_frame_of_carpets_is_drawn_once_for_series_of_one_length(rng, rois):
    subject_drawing._carpets.cache_clear()

    for n_volumes in (50, 50, 50, 40):
        carpet_image({"after cleaning": series_of(rng, rois, n_volumes)}, rois, TR)

    assert subject_drawing._carpets.cache_info().misses == 2


def test_a_carpet_is_dark_where_the_signal_is_low_and_blank_where_there_is_none(rois):
    series = pd.DataFrame(0.0, index=range(40), columns=rois.index)
    series.iloc[20:] = 1.0
    series.iloc[10:20] = np.nan

    image = np.asarray(carpet_image({"after cleaning": series}, rois, TR).convert("L"), float)

    row = image[image.shape[0] // 3]
    width = len(row)
    early, gap, late = (row[int(share * width)] for share in (0.15, 0.4, 0.8))
    assert early < late < 255
    assert gap == 255


def test_seams_of_runs_are_vermilion_lines_on_the_carpet(rng, rois):
    stages = {"after cleaning": series_of(rng, rois)}

    with_seam, without = (
        np.asarray(carpet_image(stages, rois, TR, seams).convert("RGB")) for seams in ([25], [])
    )

    changed = (with_seam != without).any(axis=2)
    columns = np.flatnonzero(changed.any(axis=0))
    middle = (0.35 + (9 * 0.985 - 0.35) * (1 + 61 / 2) / 61) * 150
    assert len(columns) <= 4
    assert abs(columns.mean() - middle) < 12


def test_the_scale_of_a_spectrum_holds_its_highest_peak(rng, rois):
    time = TR * np.arange(100)
    wave = np.sin(2 * np.pi * 0.05 * time)
    series = pd.DataFrame(dict.fromkeys(rois.index, wave))

    frequency, power = subject_drawing.mean_spectrum(series, TR)
    subject_drawing._spectra.cache_clear()
    image = spectrum_image({"after cleaning": series}, TR, None)

    assert frequency[power.argmax()] == pytest.approx(0.05)
    assert power.max() == pytest.approx(100)
    assert power.sum() == pytest.approx(100)
    assert subject_drawing._spectra(("after cleaning",), TR, None, 100).image().size == image.size
    assert subject_drawing._spectra.cache_info().misses == 1
