"""Cleaning equals DPARSF's step by step, follows the named order and knows what it leaves."""

import numpy as np
import pandas as pd
import pytest
import yaml
from numpy.testing import assert_allclose

from notears_pfl.acquisition import MOTION
from notears_pfl.autocorrelation import effective_sample_size
from notears_pfl.errors import SignalError
from notears_pfl.preproc.clean import (
    CleanOptions,
    band_pass,
    check_band,
    check_coverage,
    check_degrees_of_freedom,
    check_variance,
    clean_signals,
    degrees_of_freedom,
    detrend,
    out_of_band_design,
    plan_cleaning,
    regress_out,
    trend_design,
)
from notears_pfl.preproc.nuisance import friston24
from notears_pfl.preproc.scrubbing import bridge_gaps

from .toy import ROOT

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


@pytest.fixture
def gaps(rng):
    """Mark three volumes in ten of 200 as censored: some alone, some in a row, and both ends."""
    kept = rng.random(200) > 0.2
    kept[[0, 1, 199]] = kept[60:75] = False
    return kept


def test_censored_volumes_have_no_influence_and_are_gone(gaps, rng):
    signals, confounds = rng.normal(size=(200, 3)), rng.normal(size=(200, 4))
    spoilt, other = signals.copy(), confounds.copy()
    spoilt[~gaps] += 1e3 * rng.normal(size=(np.count_nonzero(~gaps), 3))
    other[~gaps] = 1e3

    for options in (DPARSF, SIMULTANEOUS):
        cleaned = clean_signals(signals, confounds, 2.0, options, gaps)
        assert cleaned.shape == (np.count_nonzero(gaps), 3)
        assert np.std(cleaned) > 0.1
        assert_allclose(clean_signals(spoilt, other, 2.0, options, gaps), cleaned, atol=1e-8)


def test_the_paper_order_fits_kept_volumes_bridges_filters_and_then_removes(gaps, rng):
    signals, confounds = rng.normal(size=(200, 3)), rng.normal(size=(200, 4))

    cleaned = clean_signals(signals, confounds, 2.0, DPARSF, gaps)

    design = np.column_stack([np.ones(200), np.arange(200), confounds])
    weights = np.linalg.lstsq(design[gaps], signals[gaps])[0]
    residuals = (signals - design @ weights)[gaps]
    filtered = band_pass(bridge_gaps(residuals, gaps), 2.0, 0.01, 0.08)
    assert_allclose(cleaned, filtered[gaps], atol=1e-9)


def test_the_simultaneous_order_leaves_nothing_that_the_regressors_explain(gaps, rng):
    signals, confounds = rng.normal(size=(200, 3)), rng.normal(size=(200, 4))

    cleaned = clean_signals(signals, confounds, 2.0, SIMULTANEOUS, gaps)

    waves = out_of_band_design(200, 2.0, 0.01, 0.08)
    assert_allclose(np.hstack([confounds, waves])[gaps].T @ cleaned, 0, atol=1e-8)
    # One regressor for each censored volume, in place of leaving it out: AFNI's other way.
    spikes = np.eye(200)[:, ~gaps]
    whole = regress_out(signals, np.hstack([trend_design(200), confounds, waves, spikes]))
    assert_allclose(cleaned, whole[gaps], atol=1e-6)


def test_a_planted_wave_survives_censored_spikes_and_not_their_filtering(rng):
    t = 2.0 * np.arange(200)
    wave = np.sin(2 * np.pi * 0.05 * t)[:, None]
    spikes = np.zeros((200, 1))
    spikes[[30, 31, 90, 150]] = 20

    kept = spikes[:, 0] == 0
    without = spikes[:, :0]
    scrubbed = clean_signals(wave + spikes, without, 2.0, DPARSF, kept)
    filtered = clean_signals(wave + spikes, without, 2.0, DPARSF)[kept]

    assert np.corrcoef(scrubbed.T, wave[kept].T)[0, 1] > 0.995
    assert np.corrcoef(filtered.T, wave[kept].T)[0, 1] < 0.6


@pytest.mark.parametrize("options", [DPARSF, SIMULTANEOUS])
def test_degrees_of_freedom_after_scrubbing_are_the_variance_left_of_white_noise(
    gaps, options, rng
):
    confounds, noise = rng.normal(size=(200, 6)), rng.normal(size=(200, 4000))

    left = degrees_of_freedom(confounds, 2.0, options, gaps)

    cleaned = clean_signals(noise, confounds, 2.0, options, gaps)
    assert left == pytest.approx(np.mean(np.sum(cleaned**2, axis=0)), rel=0.03)
    assert left < degrees_of_freedom(confounds, 2.0, options)


def test_scrubbing_makes_effective_samples_look_more_than_they_are(gaps, rng):
    """Rows on either side of a gap look less alike than neighbours are (docs/denoising.md)."""
    cleaned = [
        clean_signals(rng.normal(size=(200, 40)), np.empty((200, 0)), 2.5, DPARSF, gaps)
        for _ in range(20)
    ]

    estimate = np.mean([effective_sample_size(x - x.mean(axis=0)) for x in cleaned])
    edges = [np.corrcoef(x.T)[np.triu_indices(40, 1)] for x in cleaned]
    truth = 1 / np.mean(np.square(edges))
    assert truth < estimate < 1.4 * truth


SETTINGS = yaml.safe_load((ROOT / "config/config.yaml").read_text())["preproc"]


@pytest.fixture
def run_tables(rng):
    """Give motion and confounds of 200 volumes, four of them with a large displacement."""
    motion = pd.DataFrame(0.01 * rng.normal(size=(200, 6)), columns=list(MOTION))
    names = ["fd_power_mm", "std_dvars", "csf", "white_matter", "global_signal"]
    confounds = pd.DataFrame(rng.random((200, 5)) / 5, columns=names)
    confounds.loc[[0, 50, 51, 120], "fd_power_mm"] = 0.8
    return motion, confounds


def planned(run_tables, chosen=None, **changes):
    settings = {**SETTINGS, "clean": {**SETTINGS["clean"], **changes}}
    return plan_cleaning(*run_tables, 2.0, settings, chosen or {})


FD = {"fd_mm": 0.5, "std_dvars": "none", "min_segment": 1}


def test_the_default_is_the_papers_cleaning_of_all_volumes(run_tables, rng):
    signals = rng.normal(size=(200, 2))

    cleaning = planned(run_tables)

    expected = clean_signals(signals, friston24(run_tables[0].to_numpy()), 2.0, DPARSF)
    np.testing.assert_array_equal(cleaning.apply(signals), expected)
    figures = cleaning.figures()
    assert (figures["n_volumes"], figures["n_censored"], figures["n_regressors"]) == (200, 0, 26)
    assert figures["degrees_of_freedom_in_band"] == pytest.approx(
        degrees_of_freedom(np.empty((200, 0)), 2.0, DPARSF)
    )
    assert list(cleaning.methods()) == ["detrend", "regress", "filter"]


def test_36p_with_scrubbing_says_what_was_done_in_its_order(run_tables, rng):
    cleaning = planned(run_tables, strategy="36P", scrub=FD)

    assert cleaning.apply(rng.normal(size=(200, 2))).shape == (196, 2)
    figures = cleaning.figures()
    assert (figures["n_volumes"], figures["n_censored"], figures["n_regressors"]) == (196, 4, 38)
    assert figures["censored_volumes"] == [0, 50, 51, 120]
    assert 1 < figures["degrees_of_freedom"] < figures["degrees_of_freedom_in_band"] - 36 / 4
    told = cleaning.methods()
    assert list(told) == ["censor", "regress", "bridge", "filter", "remove"]
    assert told["censor"] == "Volumes with a framewise displacement above 0.5 mm were censored."
    assert "regressed on 36 nuisance regressors (the six head-motion" in told["regress"]
    assert "a constant and a linear trend, fitted to the other volumes, and" in told["regress"]


def test_the_simultaneous_order_is_told_in_one_sentence_with_and_without_scrubbing(run_tables):
    told = planned(run_tables, order="simultaneous").methods()
    scrubbed = planned(run_tables, order="simultaneous", scrub=FD).methods()

    assert list(told) == ["clean"]
    named = "24 nuisance regressors (the Friston 24-parameter model of head motion)"
    assert told["clean"] == (
        f"The linear trend, {named} and all frequencies outside 0.01 to 0.08 Hz were removed in "
        "one regression."
    )
    assert list(scrubbed) == ["censor", "clean"]
    assert scrubbed["clean"].endswith(
        "in one regression, fitted to the other volumes; censored volumes were removed."
    )


def test_a_strategy_that_censors_volumes_itself_says_so(run_tables):
    chosen = {"scrubbing": {"columns": ["csf", "trans_x"], "censored": [7]}}

    cleaning = planned(run_tables, chosen, strategy="scrubbing", scrub=FD)

    assert cleaning.figures()["censored_volumes"] == [0, 7, 50, 51, 120]
    told = cleaning.methods()
    assert told["censor"].count("framewise displacement above 0.5 mm") == 2
    assert "(nilearn)" in told["censor"]
    assert "2 nuisance regressors (nilearn's strategy scrubbing for fMRIPrep" in told["regress"]


def test_too_few_degrees_of_freedom_are_refused_with_the_settings_minimum(run_tables):
    left = planned(run_tables).left

    with pytest.raises(
        SignalError, match=rf"{left:.1f} degrees of freedom are left .* but 60 were "
    ):
        planned(run_tables, min_degrees_of_freedom=60)


def test_volumes_left_by_scrubbing_must_carry_the_regressors(run_tables):
    strict = {**FD, "fd_mm": 0.02}

    with pytest.raises(SignalError, match=r"200 volumes, \d+ of them kept, cannot carry 26 regr"):
        planned(run_tables, scrub=strict)


def test_no_volume_left_is_refused(run_tables):
    with pytest.raises(SignalError, match="200 volumes, 0 of them kept, cannot carry 26"):
        planned(run_tables, scrub={**FD, "min_segment": 50, "fd_mm": 0.02})
