"""ROI series follow the linear model, inside their band, at any time."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from notears_pfl.phantom.signals import SignalOptions, draw_series

OPTIONS = SignalOptions(amplitude_percent=2, band_hz=(0.02, 0.1))


@pytest.fixture(name="W")
def chain():
    W = np.zeros((3, 3))
    W[0, 1], W[1, 2] = 0.7, -0.6
    return W


def test_series_have_the_covariance_of_the_model(rng, W):
    x = draw_series(rng, W, n_volumes=40000, repetition_time=2.0, options=OPTIONS).at(0)

    mixing = np.linalg.inv(np.eye(3) - W)
    assert_allclose(np.cov(x.T), 0.02**2 * mixing.T @ mixing, atol=0.05 * 0.02**2)


def test_the_effect_of_an_edge_is_its_weight_in_its_direction(rng, W):
    x = draw_series(rng, W, n_volumes=40000, repetition_time=2.0, options=OPTIONS).at(0)

    weights, *_ = np.linalg.lstsq(x[:, :2], x[:, 2], rcond=None)
    assert_allclose(weights, [0, -0.6], atol=0.02)


def test_nothing_lies_outside_the_band(rng, W):
    series = draw_series(rng, W, n_volumes=200, repetition_time=2.0, options=OPTIONS)

    frequencies = np.fft.rfftfreq(400, 2.0)
    outside = (frequencies < 0.02) | (frequencies > 0.1)
    assert not series.spectrum[outside].any()
    assert series.spectrum[~outside].all()


def test_a_delay_of_one_repetition_time_gives_the_next_volume(rng, W):
    series = draw_series(rng, W, n_volumes=50, repetition_time=2.5, options=OPTIONS)

    assert_allclose(series.at(2.5)[:-1], series.at(0)[1:], atol=1e-12)


def test_a_scan_does_not_repeat_itself_at_its_end(rng, W):
    x = draw_series(rng, W, n_volumes=100, repetition_time=2.0, options=OPTIONS).at(0)

    inside = np.abs(np.diff(x, axis=0)).max(axis=0)
    assert (np.abs(x[0] - x[-1]) > 0.5 * inside).any()
