"""An autocorrelated series is worth fewer samples; a white one is worth all, however short."""

import numpy as np
import pytest

from notears_pfl.autocorrelation import effective_sample_size


def test_white_series_count_in_full_and_smooth_ones_less(rng):
    white = rng.normal(size=(2000, 20))
    phi = 0.8
    smooth = np.zeros_like(white)
    for t in range(1, len(white)):
        smooth[t] = phi * smooth[t - 1] + white[t]

    assert effective_sample_size(white - white.mean(axis=0)) == pytest.approx(2000, rel=0.1)
    expected = 2000 * (1 - phi**2) / (1 + phi**2)
    assert effective_sample_size(smooth - smooth.mean(axis=0)) == pytest.approx(expected, rel=0.15)


def test_band_limited_series_are_worth_their_share_of_the_frequencies(rng):
    spectrum = np.fft.rfft(rng.normal(size=(600, 30)), axis=0)
    frequency = np.fft.rfftfreq(600)
    spectrum[(frequency < 0.05) | (frequency > 0.15)] = 0

    found = effective_sample_size(np.fft.irfft(spectrum, 600, axis=0))

    assert found == pytest.approx(600 * 0.1 / 0.5, rel=0.1)


@pytest.mark.parametrize("shared", [0.0, 0.9], ids=["independent ROIs", "ROIs that are alike"])
@pytest.mark.parametrize("n", [6, 60])
def test_white_series_are_worth_their_number_however_few_and_alike(rng, shared, n):
    noise = rng.normal(size=(200, n, 10)) + shared / (1 - shared) * rng.normal(size=(200, n, 1))

    found = [effective_sample_size(x) for x in noise]

    assert np.mean(found) == pytest.approx(n, rel=0.15)
    assert np.max(found) <= n


def test_constant_rois_do_not_count(rng):
    x = rng.normal(size=(50, 3))
    x[:, 1] = 0

    assert effective_sample_size(x) == effective_sample_size(x[:, [0, 2]])
    assert effective_sample_size(np.zeros((1, 3))) == 1
