"""Detrending, regression and band-pass equal DPARSF's and do what their names say."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from notears_pfl.errors import SignalError
from notears_pfl.preproc.temporal import (
    band_pass,
    check_band,
    detrend,
    out_of_band_design,
    regress_out,
    trend_design,
)


def test_detrending_equals_that_of_dparsf(reference_table):
    detrended = detrend(reference_table("dparsf_in_ts.tsv"))

    assert_allclose(detrended, reference_table("dparsf_out_detrend.tsv"), atol=1e-8)


def test_residuals_equal_those_of_dparsf(reference_table):
    signals = reference_table("dparsf_out_detrend.tsv")
    confounds = reference_table("dparsf_out_f24_regressors.tsv")

    residuals = regress_out(signals, np.hstack([trend_design(230), confounds]))

    assert_allclose(residuals, reference_table("dparsf_out_detrend_f24resid.tsv"), atol=1e-8)


def test_band_pass_equals_that_of_dparsf(reference_table):
    residuals = reference_table("dparsf_out_detrend_f24resid.tsv")

    filtered = band_pass(residuals, tr=2.5, low_hz=0.01, high_hz=0.08)

    assert_allclose(filtered, reference_table("dparsf_out_detrend_f24_bp.tsv"), atol=1e-8)


def test_residuals_are_orthogonal_to_a_design_with_repeated_and_empty_columns(rng):
    design = rng.normal(size=(40, 5)) * [1, 1e-6, 1e6, 1, 1]
    design = np.hstack([design, design[:, :1], np.zeros((40, 1))])
    signals = rng.normal(size=(40, 3))

    residuals = regress_out(signals, design)

    unit = design[:, :5] / np.linalg.norm(design[:, :5], axis=0)
    assert_allclose(unit.T @ residuals, 0, atol=1e-12)
    assert_allclose(regress_out(residuals, design), residuals, atol=1e-12)
    assert np.linalg.norm(residuals) > 0.8 * np.linalg.norm(signals)


@pytest.mark.parametrize(("hertz", "kept"), [(0.005, False), (0.05, True), (0.15, False)])
def test_waves_inside_the_band_pass_and_others_do_not(hertz, kept):
    t = 2.0 * np.arange(256)
    wave = np.sin(2 * np.pi * np.round(hertz * 512) / 512 * t)[:, None]

    filtered = band_pass(wave, tr=2.0, low_hz=0.01, high_hz=0.08)

    assert_allclose(filtered, wave if kept else 0 * wave, atol=1e-9)


def test_the_out_of_band_design_spans_all_but_the_band():
    design = out_of_band_design(100, tr=2.0, low_hz=0.01, high_hz=0.08)

    # Bins 2 to 16 of 200 s lie in the band, a sine and a cosine each.
    assert np.linalg.matrix_rank(design) == 100 - 2 * 15


@pytest.mark.parametrize(
    ("low", "high", "message"),
    [
        (0.01, 0.25, "0.25 Hz is not below the Nyquist frequency 0.25 Hz"),
        (0.01, 0.40, r"TR|repetition time of 2 s. Lower"),
        (0.08, 0.01, "0.08 to 0.01 Hz is empty"),
    ],
)
def test_impossible_bands_are_refused(low, high, message):
    with pytest.raises(SignalError, match=message):
        check_band(low, high, tr=2.0)
