"""Each thing the scanner does to the signal, alone."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from notears_pfl.acquisition import slice_times
from notears_pfl.geometry import rigid_matrix
from notears_pfl.phantom.cohort import site_protocol
from notears_pfl.phantom.scanner import (
    acquire_bold,
    acquire_t1w,
    bold_scene,
    reference_time,
    region_coverage,
    site_gain,
    t1w_grid,
)
from notears_pfl.phantom.signals import Series, SignalOptions, draw_series

GAIN = 10000.0
INSIDE = (8, 11, 9)  # a voxel well inside region 1


@pytest.fixture
def series(rng, protocol):
    options = SignalOptions(amplitude_percent=1, band_hz=(0.01, 0.1))
    return draw_series(rng, np.zeros((2, 2)), protocol.n_volumes, protocol.repetition_time, options)


@pytest.fixture
def silence(protocol):
    """Give regions without signal."""
    n_frequencies = protocol.n_volumes + 1
    return Series(np.zeros((n_frequencies, 2)), protocol.n_volumes, protocol.repetition_time)


@pytest.fixture
def scan(rng, head, no_field, protocol, quiet):
    def scan(series, motion=None, scanner=quiet, protocol=protocol):
        motion = np.zeros((protocol.n_volumes, 6)) if motion is None else motion
        scene = bold_scene(head, no_field, protocol.voxel_mm)
        return acquire_bold(rng, scene, series, motion, np.eye(4), protocol, GAIN, scanner)

    return scan


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("ascending", [0, 0.4, 0.8, 1.2, 1.6]),
        ("descending", [1.6, 1.2, 0.8, 0.4, 0]),
        ("interleaved", [0, 1.2, 0.4, 1.6, 0.8]),
    ],
)
def test_slices_are_acquired_in_their_order(order, expected):
    assert_allclose(slice_times(5, 2.0, order), expected)


def test_the_reference_slice_is_the_one_acquired_midway():
    assert reference_time(slice_times(40, 2.0, "ascending")) == pytest.approx(19 * 2 / 40)
    assert reference_time(slice_times(5, 2.0, "interleaved")) == pytest.approx(0.8)


def test_the_reduction_enlarges_voxels_and_keeps_the_field_of_view_and_the_timing(site):
    full, reduced = site_protocol(site, 1), site_protocol(site, 2)

    assert reduced.shape == (12, 12, 10)
    assert_allclose(reduced.voxel_mm, [8, 8, 8])
    assert_allclose(full.voxel_mm * full.shape, reduced.voxel_mm * reduced.shape)
    assert reduced.n_volumes == full.n_volumes
    assert_allclose(reduced.slice_times, np.arange(10) * 0.2)
    assert_allclose(reduced.t1w_voxel_mm, 2 * full.t1w_voxel_mm)


def test_a_voxel_inside_a_region_carries_its_series_at_the_time_of_its_slice(
    scan, series, protocol
):
    bold = scan(series)

    expected = GAIN * (1 + series.at(protocol.slice_times[INSIDE[2]])[:, 0])
    assert_allclose(bold[INSIDE], expected, atol=1)
    assert np.abs(expected - GAIN * (1 + series.at(0)[:, 0])).max() > 5


def test_a_voxel_on_a_border_carries_half_of_each_region(scan, series, site):
    # An odd number of voxels puts the middle one astride the border.
    odd = site_protocol({**site, "matrix": 25}, 1)

    bold = scan(series, protocol=odd)

    halves = series.at(odd.slice_times[9]).mean(axis=1)
    assert_allclose(bold[12, 12, 9], GAIN * (1 + halves), atol=1)


def test_moving_by_one_voxel_shifts_the_image_by_one_voxel(scan, silence, protocol):
    motion = np.zeros((protocol.n_volumes, 6))
    motion[1:, 1] = protocol.voxel_mm[1]

    bold = scan(silence, motion).astype(int)

    # What volume 1 shows at row j is the piece of head that was at row j + 1.
    assert np.abs(bold[:, :-1, :, 1] - bold[:, 1:, :, 0]).max() <= 1
    assert np.abs(bold[..., 1] - bold[..., 0]).max() > GAIN / 4


def test_regions_move_with_the_head(scan, series, protocol):
    motion = np.zeros((protocol.n_volumes, 6))
    motion[1:, 0] = 28.0  # the piece of head now at this voxel was 28 mm to the right: region 2

    bold = scan(series, motion)

    at_slice = series.at(protocol.slice_times[INSIDE[2]])
    assert_allclose(bold[INSIDE][1:], GAIN * (1 + at_slice[1:, 1]), atol=1)


def test_a_region_that_moves_far_takes_its_signal_along(scan, series, protocol):
    beside = (3, 11, 9)  # 34 mm left of the middle, outside both regions
    motion = np.zeros((protocol.n_volumes, 6))
    motion[1:, 0] = 20.0

    bold = scan(series, motion)

    at_slice = series.at(protocol.slice_times[beside[2]])
    assert bold[beside][0] < GAIN / 20
    assert_allclose(bold[beside][1:], GAIN * (1 + at_slice[1:, 0]), atol=1)


def test_the_first_volumes_are_brighter_until_the_steady_state(scan, silence, quiet):
    bold = scan(silence, scanner=replace(quiet, nonsteady_volumes=4, nonsteady_percent=40))

    expected = 1 + 0.4 * np.array([1, 9 / 16, 4 / 16, 1 / 16, 0, 0])
    assert_allclose(bold[INSIDE][:6] / GAIN, expected, atol=1e-3)


def test_noise_has_its_size_and_shrinks_with_larger_voxels(scan, silence, quiet, site):
    noisy = replace(quiet, noise_percent=2)

    full = scan(silence, scanner=noisy)
    reduced = scan(silence, scanner=noisy, protocol=site_protocol(site, 2))

    assert full[8:10, 8:14, 7:12].std(axis=-1).mean() / GAIN == pytest.approx(0.02, rel=0.05)
    ratio = reduced[4, 4:7, 4:6].std(axis=-1).mean() / GAIN
    assert ratio == pytest.approx(0.02 / 2**1.5, rel=0.15)


def test_drift_and_artefact_change_the_image_smoothly_in_space(scan, silence, quiet, rng, protocol):
    motion = np.zeros((protocol.n_volumes, 6))
    motion[:, 0] = 1e-6 * rng.normal(size=protocol.n_volumes)

    bold = scan(silence, motion, replace(quiet, drift_percent=5, artefact_percent=2)) / GAIN

    change = bold[8:16, 9:13, 7:12] - bold[8:16, 9:13, 7:12].mean(axis=-1, keepdims=True)
    left, right = change[0, 2, 2], change[-1, 2, 2]
    assert left.std() > 0.005
    assert np.corrcoef(change[3, 2, 2], change[4, 2, 2])[0, 1] > 0.99
    assert not np.allclose(left, right, atol=1e-3)


def test_coverage_falls_where_the_slab_ends(head, no_field, site):
    scene = bold_scene(head, no_field, np.full(3, 4.0))

    whole = region_coverage(scene, np.eye(4), site_protocol(site, 1), 10, n_rois=3)
    thin = site_protocol({**site, "n_slices": 7}, 1)
    raised = rigid_matrix(np.array([0, 0, -28.0, 0, 0, 0]))
    half = region_coverage(scene, raised, thin, 10, n_rois=3)

    assert_allclose(whole, [1, 1, 0])
    assert_allclose(half, [0.25, 0.25, 0], atol=0.01)


def test_a_t1w_of_an_undeformed_head_in_place_is_the_template(rng, head, no_field, protocol):
    image, brain = acquire_t1w(rng, head, no_field, np.eye(4), protocol, bias_percent=0)

    shape, affine = t1w_grid(protocol)
    assert image.shape == brain.shape == shape
    box_ml = head.brain.sum() * 2**3 / 1000
    assert brain.sum() * np.prod(protocol.t1w_voxel_mm) / 1000 == pytest.approx(box_ml, rel=0.1)
    centre = tuple(np.round(np.linalg.inv(affine) @ [-10, -18, 10, 1]).astype(int)[:3])
    assert brain[centre]
    assert image[centre] == pytest.approx(1000, abs=100)
    assert_array_equal(image[0, 0, 0] < 100, True)


def test_the_bias_of_a_t1w_has_its_peak(rng, head, no_field, protocol):
    plain, brain = acquire_t1w(np.random.default_rng(1), head, no_field, np.eye(4), protocol, 0)
    biased, _ = acquire_t1w(np.random.default_rng(1), head, no_field, np.eye(4), protocol, 50)

    change = biased[brain] / plain[brain] - 1
    assert 0.05 < np.abs(change).max() <= 0.51


def test_the_gain_of_a_site_lies_in_its_range(rng, quiet):
    gains = [site_gain(rng, quiet) for _ in range(50)]

    assert 900 <= min(gains) < 950 < 1050 < max(gains) <= 1100
