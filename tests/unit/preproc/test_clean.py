"""Cleaning follows the named order, and knows what it leaves."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from notears_pfl.errors import SignalError
from notears_pfl.preproc.clean import check_degrees_of_freedom, clean_signals, degrees_of_freedom
from notears_pfl.preproc.confounds import friston24
from notears_pfl.preproc.options import CleanOptions

DPARSF = CleanOptions(order="dparsf")
SIMULTANEOUS = CleanOptions(order="simultaneous")


def test_the_paper_order_equals_dparsf_from_raw_series_to_clean_ones(reference_table):
    signals = reference_table("dparsf_in_ts.tsv")
    confounds = friston24(reference_table("dparsf_in_rp.txt"))

    cleaned = clean_signals(signals, confounds, 2.5, DPARSF)

    assert_allclose(cleaned, reference_table("dparsf_out_detrend_f24_bp.tsv"), atol=1e-8)


def test_the_simultaneous_order_leaves_neither_confounds_nor_other_frequencies(rng):
    signals, confounds = rng.normal(size=(120, 3)), rng.normal(size=(120, 4))

    cleaned = clean_signals(signals, confounds, 2.0, SIMULTANEOUS)

    power = np.abs(np.fft.rfft(cleaned, axis=0))
    frequencies = np.fft.rfftfreq(120, 2.0)
    outside = (frequencies < 0.01) | (frequencies > 0.08)
    assert_allclose(power[outside], 0, atol=1e-9)
    assert power[~outside].min() > 0
    assert_allclose(confounds.T @ cleaned, 0, atol=1e-9)


def test_the_paper_order_brings_confounds_back_and_the_simultaneous_one_does_not(rng):
    confound = np.cumsum(rng.normal(size=(200, 1)), axis=0)
    signals = rng.normal(size=(200, 1)) + confound

    leftover = {
        options.order: abs(confound.T @ clean_signals(signals, confound, 2.0, options))
        for options in (DPARSF, SIMULTANEOUS)
    }

    assert leftover["dparsf"] > 1.0
    assert leftover["simultaneous"] < 1e-9


@pytest.mark.parametrize("options", [DPARSF, SIMULTANEOUS])
def test_cleaning_roi_means_equals_the_means_of_cleaned_voxels(options, rng):
    voxels, confounds = 1000 + rng.normal(size=(100, 60)), rng.normal(size=(100, 6))
    regions = np.kron(np.eye(3), np.full((20, 1), 1 / 20))

    means_first = clean_signals(voxels @ regions, confounds, 2.0, options)

    assert_allclose(
        clean_signals(voxels, confounds, 2.0, options) @ regions, means_first, atol=1e-9
    )


def test_degrees_of_freedom_count_the_band_less_the_confounds(rng):
    confounds = rng.normal(size=(230, 24))

    left = degrees_of_freedom(confounds, 2.5, SIMULTANEOUS)

    # 230 volumes of 2.5 s: bins 6 to 46, two each, less 24; the trend takes part of one more.
    assert left == pytest.approx(2 * 41 - 24 - 1, abs=1e-6)


def test_degrees_of_freedom_of_the_paper_order_are_the_variance_left_of_white_noise(rng):
    confounds = rng.normal(size=(150, 24))
    noise = rng.normal(size=(150, 4000))

    left = degrees_of_freedom(confounds, 2.0, DPARSF)

    variance = np.mean(np.sum(clean_signals(noise, confounds, 2.0, DPARSF) ** 2, axis=0))
    assert left == pytest.approx(variance, rel=0.02)


def test_a_run_without_degrees_of_freedom_is_refused(rng):
    with pytest.raises(SignalError, match=r"No degree of freedom is left between 0.01 and 0.08 Hz"):
        check_degrees_of_freedom(rng.normal(size=(60, 24)), 2.0, SIMULTANEOUS)


def test_fewer_volumes_than_regressors_are_refused(rng):
    with pytest.raises(SignalError, match="20 volumes cannot carry 26 regressors"):
        check_degrees_of_freedom(rng.normal(size=(20, 24)), 2.0, DPARSF)
