"""Planted signals of a moving head come out of the functional half, each from its region."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from numpy.testing import assert_allclose, assert_array_equal
from scipy.ndimage import gaussian_filter1d

from notears_pfl.errors import SignalError
from notears_pfl.geometry import centred_affine, grid_points, rigid_matrix, transform
from notears_pfl.preproc.clean import clean_signals
from notears_pfl.preproc.coregister import Coregistration
from notears_pfl.preproc.functional import OWN, FunctionalSteps, prepare_run
from notears_pfl.preproc.options import (
    CleanOptions,
    FunctionalOptions,
    RealignOptions,
    SmoothOptions,
)
from notears_pfl.preproc.realign import Motion, estimate_motion
from notears_pfl.preproc.resample import Grid
from notears_pfl.preproc.smooth import smoother
from notears_pfl.preproc.style import functional_options
from notears_pfl.preproc.warp import Normalisation
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


def run_of(scan, steps=OWN, **changes):
    bold, affine, slice_times, _, _ = scan
    _, t1w_affine, brain, tissues = toy_head()
    grid = Grid(brain.shape, t1w_affine)
    identity = Normalisation(np.zeros((*grid.shape, 3), np.float32), grid, np.eye(4))
    paper = FunctionalOptions(drop_volumes=DROPPED, motion_from="slice_timed")
    options = replace(paper, **changes)
    mask = (brain, t1w_affine)
    return prepare_run(bold, affine, TR, slice_times, tissues, grid, identity, mask, options, steps)


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
    options = functional_options({**settings, "style": "modern", "drop_volumes": DROPPED})

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
    voxelwise = run.cleaned(SmoothOptions(), motion, TR, options)

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
        (Coregistration(np.eye(4), -np.inf, converged=False), "cannot be registered .* -inf"),
        (
            Coregistration(rigid_matrix(np.array([500.0, 0, 0, 0, 0, 0])), None, converged=True),
            "None of the .* voxels of the brain .* all 46 volumes",
        ),
    ],
)
def test_a_registration_that_misses_the_brain_fails_the_subject(scan, found, message):
    still = Motion(np.zeros((N_VOLUMES - DROPPED, 6)), np.ones(N_VOLUMES - DROPPED, bool))
    steps = FunctionalSteps(estimate_motion=lambda *_: still, coregister=lambda *_: found)

    with pytest.raises(SignalError, match=message):
        run_of(scan, steps, slice_timing=False)


def test_tissue_signals_and_figures_are_those_of_the_run(run):
    signals, figures = run.tissue_signals(), run.figures()

    assert_allclose(signals.mean(), [1300, 850], rtol=0.05)
    assert figures["n_volumes"] == N_VOLUMES - DROPPED
    assert figures["brain_coverage"] > 0.95
    assert 0.02 < figures["mean_fd_power_mm"] < 1
    assert figures["bold_t1w_agreement"] > 0.7
