"""Cleaning equals DPARSF's step by step, follows the named order and knows what it leaves."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from notears_pfl.acquisition import MOTION
from notears_pfl.errors import SignalError
from notears_pfl.preproc.clean import (
    FRISTON_24,
    CleanOptions,
    band_pass,
    check_band,
    check_coverage,
    check_degrees_of_freedom,
    check_variance,
    clean_methods,
    clean_signals,
    confound_design,
    degrees_of_freedom,
    detrend,
    friston24,
    out_of_band_design,
    regress_out,
    trend_design,
)

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


def test_friston24_equals_that_of_dparsf(reference_table):
    regressors = friston24(reference_table("dparsf_in_rp.txt"))

    assert_allclose(regressors, reference_table("dparsf_out_f24_regressors.tsv"), atol=1e-8)


def test_names_tell_what_the_columns_hold(rng):
    motion = rng.normal(size=(9, 6))

    columns = dict(zip(FRISTON_24, friston24(motion).T, strict=True))

    for name, series in zip(MOTION, motion.T, strict=True):
        assert_allclose(columns[name], series)
        assert_allclose(columns[f"{name}_lag1"], [0, *series[:-1]])
        assert_allclose(columns[f"{name}_sq"], series**2)
        assert_allclose(columns[f"{name}_lag1_sq"], [0, *series[:-1] ** 2])


@pytest.fixture
def tables(rng):
    motion = pd.DataFrame(rng.normal(size=(9, 6)), columns=list(MOTION))
    others = pd.DataFrame({"csf": rng.normal(size=9), "white_matter": np.nan})
    return motion, others


@pytest.mark.parametrize(("model", "expected"), [("friston24", 24), ("six", 6), ("none", 0)])
def test_the_named_motion_model_is_built_with_the_tissues_asked_for(tables, model, expected):
    motion, others = tables

    assert confound_design(motion, others, model, []).shape == (9, expected)
    with_csf = confound_design(motion, others, model, ["csf"])
    assert with_csf.shape == (9, expected + 1)
    assert_allclose(with_csf["csf"], others["csf"])


def test_a_tissue_without_voxels_is_refused(tables):
    with pytest.raises(SignalError, match="No mean signal of white_matter"):
        confound_design(*tables, "friston24", ["csf", "white_matter"])


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


def test_regions_out_of_view_are_refused_all_at_once():
    names = ["PreCG.L", "CRBL10.R", "Vermis10"]

    with pytest.raises(SignalError, match=r"2 of 3 ROIs .* 50%.*: CRBL10.R 20%, Vermis10 0%"):
        check_coverage(np.array([1.0, 0.2, 0.0]), names, minimum=0.5)
    check_coverage(np.array([1.0, 0.5, 0.9]), names, minimum=0.5)


def test_series_that_do_not_vary_are_refused_all_at_once(rng):
    series = rng.normal(size=(20, 3)) * [1, 0, np.nan] + 1000

    with pytest.raises(SignalError, match=r"2 of 3 ROI series do not vary: CRBL10.R, Vermis10"):
        check_variance(series, ["PreCG.L", "CRBL10.R", "Vermis10"])


@pytest.mark.parametrize(
    ("confounds", "named"),
    [
        (FRISTON_24, "24 nuisance regressors (the Friston 24-parameter model of head motion)"),
        ((*MOTION, "csf"), "7 nuisance regressors (the six head-motion parameters, csf)"),
        ((), "0 nuisance regressors (none)"),
    ],
)
def test_the_model_of_motion_is_told(confounds, named):
    assert named in clean_methods(CleanOptions(), list(confounds))["regress"]


@pytest.mark.parametrize(
    ("order", "sentences"),
    [("dparsf", ["detrend", "regress", "filter"]), ("simultaneous", ["clean"])],
)
def test_the_order_of_cleaning_is_told(order, sentences):
    told = clean_methods(CleanOptions(order=order), [*FRISTON_24, "csf"])

    assert list(told) == sentences
    text = " ".join(told.values())
    assert "25 nuisance regressors (the Friston 24-parameter model of head motion, csf)" in text
    assert "0.01 to 0.08 Hz" in text
