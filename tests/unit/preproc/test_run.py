"""Planted signals of a moving head come out of the BOLD steps, each from its region."""

from dataclasses import replace
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
import yaml
from numpy.testing import assert_allclose, assert_array_equal
from scipy.ndimage import gaussian_filter1d

from notears_pfl.errors import ImageError, SignalError
from notears_pfl.geometry import centred_affine, grid_points, rigid_matrix, transform
from notears_pfl.io.images import write_image
from notears_pfl.io.sidecars import write_json
from notears_pfl.preproc import run as run_module
from notears_pfl.preproc.clean import CleanOptions, clean_signals
from notears_pfl.preproc.coregister import Coregistration
from notears_pfl.preproc.realign import RealignOptions, estimate_motion
from notears_pfl.preproc.resample import Grid, Normalisation
from notears_pfl.preproc.run import (
    RunOptions,
    normalised_space,
    preprocess_run,
    preprocess_volumes,
    run_methods,
    run_options,
)
from notears_pfl.preproc.smooth import SmoothOptions, smoother
from notears_pfl.roi.extract import roi_means

from .toy import CENTRE_MM, left_handed, toy_brain_radius, toy_head, toy_tissues

ROOT = Path(__file__).parents[3]
TR, N_VOLUMES, DROPPED = 2.0, 46, 4
BETWEEN = rigid_matrix(np.array([2.0, -1.5, 1.0, 0.02, 0.01, -0.03]))
BRIGHTNESS = np.array([1300.0, 1000.0, 850.0])


def regions_at(points):
    """Give the octant, 1 to 8, of template ``points`` within the brain; 0 outside."""
    above = [(p > c).astype(int) for p, c in zip(points, CENTRE_MM, strict=True)]
    octant = 1 + above[0] + 2 * above[1] + 4 * above[2]
    return np.where(toy_brain_radius(points) < 1, octant, 0)


@pytest.fixture(scope="module")
def scan():
    """Give a run with planted motion, slice timing and signals, and what was planted."""
    rng = np.random.default_rng(5)
    shape = (38, 44, 30)
    affine = centred_affine(shape, np.array([4.5, 4.5, 5.0]), CENTRE_MM)
    points = grid_points(shape, affine)
    motion = gaussian_filter1d(rng.normal(size=(N_VOLUMES, 6)), 3, axis=0, mode="nearest")
    motion *= np.array([1.0] * 3 + [0.01] * 3)
    motion -= motion[DROPPED]
    frequencies, phases = rng.uniform(0.02, 0.07, 8), rng.uniform(0, 6, 8)
    slice_times = np.arange(30) * TR / 30

    def signals(time):
        return np.pad(0.005 * np.sin(2 * np.pi * frequencies * time + phases), (1, 0))

    bold = np.empty((*shape, N_VOLUMES))
    for t, matrix in enumerate(rigid_matrix(motion)):
        head = transform(np.linalg.inv(BETWEEN) @ matrix, points)
        baseline = np.tensordot(BRIGHTNESS, toy_tissues(head), axes=1)
        labels = regions_at(head)
        for k, slice_time in enumerate(slice_times):
            change = signals(t * TR + slice_time)[labels[:, :, k]]
            bold[:, :, k, t] = baseline[:, :, k] * (1 + change)
    bold += 2 * rng.standard_normal(bold.shape)
    truth = np.stack([signals(t * TR + slice_times[14])[1:] for t in range(DROPPED, N_VOLUMES)])
    return bold, affine, slice_times, motion[DROPPED:], truth


def run_of(scan, programs=None, **changes):
    bold, affine, slice_times, _, _ = scan
    _, t1w_affine, brain, tissues = toy_head()
    grid = Grid(brain.shape, t1w_affine)
    identity = Normalisation(np.zeros((*grid.shape, 3), np.float32), grid, np.eye(4))
    paper = RunOptions(drop_volumes=DROPPED, motion_from="slice_timed")
    options = replace(paper, **changes)
    mask = (brain, t1w_affine)
    return preprocess_volumes(
        bold, affine, TR, slice_times, tissues, grid, identity, mask, options, programs
    )


@pytest.fixture(scope="module")
def run(scan):
    return run_of(scan)


def means_of(run):
    labels = regions_at(run.grid.points()).reshape(run.grid.shape)
    smooth = smoother(SmoothOptions(), run.grid.voxel_mm)
    return roi_means(run.series, run.near, labels, list(range(1, 9)), run.covered, smooth), labels


def test_planted_motion_is_found(scan, run):
    assert_allclose(run.motion.parameters[:, :3], scan[3][:, :3], atol=0.1)
    assert_allclose(run.motion.parameters[:, 3:], scan[3][:, 3:], atol=np.radians(0.2))


def test_each_region_shows_its_own_signal(scan, run):
    means, _ = means_of(run)

    correlation = np.corrcoef(means.T, scan[4].T)[:8, 8:]
    assert np.diag(correlation).min() > 0.97
    assert (correlation.argmax(axis=1) == np.arange(8)).all()


def test_the_modern_style_estimates_on_raw_volumes_and_resamples_shifted_ones(scan, run):
    settings = yaml.safe_load((ROOT / "config/config.yaml").read_text())["preproc"]
    options = run_options({**settings, "style": "modern", "drop_volumes": DROPPED})

    modern = run_of(scan, **vars(options))

    assert modern.reference_time == run.reference_time
    assert_allclose(modern.motion.parameters[:, :3], scan[3][:, :3], atol=0.1)
    raw = estimate_motion(scan[0][..., DROPPED:], scan[1], RealignOptions())
    assert_array_equal(modern.motion.parameters, raw.parameters)
    assert np.any(modern.motion.parameters != run.motion.parameters)
    correlation = np.corrcoef(means_of(modern)[0].T, scan[4].T)[:8, 8:]
    assert np.diag(correlation).min() > 0.97


def test_a_left_handed_grid_gives_the_same_signals_on_the_same_sides(scan, run):
    bold, affine = left_handed(scan[0], scan[1])

    means, _ = means_of(run_of((bold, affine, *scan[2:])))

    expected = means_of(run)[0]
    assert_allclose(means, expected, atol=0.1 * expected.std(axis=0).min())
    correlation = np.corrcoef(means.T, scan[4].T)[:8, 8:]
    assert (correlation.argmax(axis=1) == np.arange(8)).all()


def test_slice_timing_brings_signals_to_the_reference_time(scan, run):
    without, _ = means_of(run_of(scan, slice_timing=False))
    corrected, _ = means_of(run)

    def error(means):
        relative = means / means.mean(axis=0) - 1
        return np.sqrt(np.mean((relative - scan[4] + scan[4].mean(axis=0)) ** 2))

    assert run.reference_time == pytest.approx(14 * TR / 30)
    assert error(corrected) < error(without)


def test_cleaning_the_means_equals_the_means_of_the_cleaned_smoothed_image(run):
    options, motion = CleanOptions(), run.motion.parameters
    means, labels = means_of(run)
    voxelwise = run.image(clean_signals(run.smoothed(SmoothOptions()), motion, TR, options))

    cleaned = clean_signals(means, motion, TR, options)
    for code in range(1, 9):
        expected = voxelwise[(labels == code) & run.covered].mean(axis=0)
        assert_allclose(cleaned[:, code - 1], expected, atol=1e-3 * cleaned.std())


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda bold: np.full_like(bold, 100), r"Volumes \[1, 2, .* have one value throughout"),
        (lambda bold: bold[:, :, 12:15], r"at least four slices .* shape \(38, 44, 3, 46\)"),
    ],
    ids=["constant", "slab"],
)
def test_a_run_without_structure_fails_its_subject(scan, spoil, message):
    with pytest.raises(SignalError, match=message):
        run_of((spoil(scan[0]), *scan[1:]), slice_timing=False)


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (Coregistration(np.eye(4), np.nan, converged=False), "cannot be registered .* surface"),
        (
            Coregistration(rigid_matrix(np.array([500.0, 0, 0, 0, 0, 0])), 0.9, converged=True),
            "None of the .* voxels of the brain .* all 46 volumes",
        ),
    ],
)
def test_a_registration_that_misses_the_brain_fails_the_subject(scan, found, message, monkeypatch):
    still = {"realign": lambda *_: np.zeros((N_VOLUMES - DROPPED, 6))}
    monkeypatch.setattr(run_module, "coregister", lambda *_: found)

    with pytest.raises(SignalError, match=message):
        run_of(scan, still, slice_timing=False)


def test_a_region_without_signal_is_not_covered_and_does_not_darken_its_neighbours(scan):
    still = {"realign": lambda *_: np.zeros((N_VOLUMES - DROPPED, 6))}
    bold = scan[0].copy()
    hole = (slice(16, 22), slice(30, 36), slice(8, 14))
    bold[hole] *= 0.1

    whole, run = (run_of((b, *scan[1:]), still, slice_timing=False) for b in (scan[0], bold))

    # A few voxels at the surface are dark in either run, by partial volume.
    assert np.count_nonzero(whole.dropout) < 0.01 * np.count_nonzero(whole.brain)
    hole_ml = 6 * 6 * 6 * np.prod([4.5, 4.5, 5.0]) / 1000
    lost_ml = np.count_nonzero(run.dropout & ~whole.dropout) * np.prod(run.grid.voxel_mm) / 1000
    assert lost_ml == pytest.approx(hole_ml, rel=0.3)
    assert not np.any(run.covered & run.dropout)
    assert run.figures()["brain_coverage"] < whole.figures()["brain_coverage"]
    # Beside the hole, smoothing uses only voxels with signal: no mean falls towards zero.
    smoothed, before = (r.image(r.smoothed(SmoothOptions())[:1])[..., 0] for r in (run, whole))
    both = run.covered & whole.covered & run.near
    assert np.percentile(smoothed[both] / before[both], 1) > 0.8


def test_tissue_signals_and_figures_are_those_of_the_run(run):
    signals, figures = run.tissue_signals(), run.figures()

    means = signals[["csf", "white_matter", "global_signal"]].mean()
    assert_allclose(means, [1300, 850, run.brain_series.mean()], rtol=0.05)
    assert signals.filter(like="comp_cor").shape == (N_VOLUMES - DROPPED, 10)
    assert signals.notna().all(axis=None)
    assert run.volume_figures()["std_dvars"].iloc[1:].between(0.3, 10).all()
    assert (figures["non_steady_volumes"], figures["non_steady_kept"]) == (0, 0)
    assert figures["n_volumes"] == N_VOLUMES - DROPPED
    assert figures["brain_coverage"] > 0.95
    assert 0.02 < figures["mean_fd_power_mm"] < 1
    assert figures["bold_t1w_agreement"] > 0.7


@pytest.fixture
def files(tmp_path):
    """Give the paths of a run and its sidecar; what follows is never read."""
    write_json({"RepetitionTime": 2.5}, tmp_path / "bold.json")
    return {"bold": tmp_path / "bold.nii", "sidecar": tmp_path / "bold.json"}


def test_a_run_that_does_not_tell_left_from_right_is_refused(files):
    nib.save(nib.Nifti1Image(np.ones((4, 4, 4, 9), np.float32), None), files["bold"])

    with pytest.raises(ImageError, match=r"bold\.nii: a stored orientation was needed"):
        preprocess_run(files, np.eye(4), {"slice_timing": False})


def test_a_header_that_contradicts_the_sidecar_is_refused_with_both(files):
    write_image(np.ones((4, 4, 4, 9), np.float32), np.eye(4), files["bold"], repetition_time=2.0)

    with pytest.raises(SignalError, match=r"is 2 s in .*bold\.nii, but 2\.5 s in .*bold\.json"):
        preprocess_run(files, np.eye(4), {"slice_timing": False})


FIGURES = {"voxel_mm": 3.0, "slice_reference_time": 1.1875}


def test_the_methods_tell_the_steps_with_their_numbers():
    options = RunOptions(motion_from="slice_timed")

    told = run_methods(options, SmoothOptions(), FIGURES, {})

    assert told["drop_volumes"] == "The first 10 volumes were discarded."
    assert "1.188 s" in told["slice_timing"]
    assert "6 mm FWHM (spm kernel, effectively 6.66 mm)" in told["smooth"]
    assert "the slice-timed volumes" in told["realign"]


def test_the_methods_tell_what_was_not_done():
    figures = {**FIGURES, "slice_reference_time": None}
    options = RunOptions(motion_from="slice_timed")

    told = run_methods(options, SmoothOptions(fwhm_mm=0), figures, {})

    assert told["slice_timing"] == "Slice timing was not corrected."
    assert told["smooth"] == "Data were not smoothed."
    assert "the volumes as acquired" in told["realign"]


@pytest.mark.parametrize(
    ("options", "reference_time", "timing", "basis"),
    [
        (
            RunOptions(motion_from="slice_timed"),
            1.1875,
            "midway, 1.188 s after",
            "the slice-timed volumes",
        ),
        (RunOptions(), 1.1875, "each volume, by SPM", "as acquired"),
        (RunOptions(slice_timing=False), None, "timing was not corrected.", "as acquired"),
    ],
)
def test_the_methods_credit_a_program_only_with_what_it_did(options, reference_time, timing, basis):
    figures = {**FIGURES, "slice_reference_time": reference_time}
    programs = {"slice_timing": "SPM", "realign": "MCFLIRT of FSL", "coregister": "ANTs"}

    told = run_methods(options, SmoothOptions(), figures, programs)

    assert timing in told["slice_timing"]
    assert ("SPM" in told["slice_timing"]) == (reference_time is not None)
    assert told["realign"].startswith("Head motion was estimated on")
    assert f"{basis} by MCFLIRT of FSL." in told["realign"]
    assert told["coregister"].endswith("to the T1w image's tissues by ANTs.")


@pytest.mark.parametrize(("n_dropped", "n_kept"), [(DROPPED, 0), (1, 2)])
def test_bright_volumes_at_the_start_are_found_on_the_raw_run(scan, n_dropped, n_kept):
    still = {"realign": lambda raw, *_: np.zeros((raw.shape[3], 6))}
    bold = scan[0].copy()
    bold[..., :3] *= 1.4

    figures = run_of((bold, *scan[1:]), still, slice_timing=False, drop_volumes=n_dropped).figures()

    assert (figures["non_steady_volumes"], figures["non_steady_kept"]) == (3, n_kept)


def test_images_are_in_the_space_of_the_template_or_in_that_of_spms_own_maps():
    assert normalised_space("own") == normalised_space("ants") == "MNI152NLin2009aSym"
    assert normalised_space("spm") == "IXI549Space"
