"""BOLD is found in T1w space whatever its contrast, near and far."""

import numpy as np
import pytest
from scipy.ndimage import distance_transform_edt

from notears_pfl.geometry import centred_affine, grid_points, rigid_matrix, transform
from notears_pfl.preproc.coregister import (
    CoregisterOptions,
    _Boundary,
    boundary_agreement,
    coregister,
    white_surface,
)
from notears_pfl.preproc.greedy import Registration
from notears_pfl.preproc.resample import Grid, sample_volume

from .toy import CENTRE_MM, left_handed, toy_head, toy_tissues


@pytest.fixture(scope="module")
def t1w_tissues():
    """Give the tissues of the toy head, their grid and its brain mask."""
    _, affine, brain, tissues = toy_head()
    return tissues, Grid(brain.shape, affine), brain


def bold_of(matrix, brightness, rng):
    """Give the BOLD image whose coordinates ``matrix`` takes those of T1w to."""
    shape = (50, 56, 40)
    affine = centred_affine(shape, np.array([3.5, 3.5, 4.0]), CENTRE_MM)
    shares = toy_tissues(transform(np.linalg.inv(matrix), grid_points(shape, affine)))
    image = np.tensordot(brightness, shares, axes=1)
    return image + 0.02 * rng.standard_normal(shape), affine


def as_it_is(image, affine):
    return image, affine


@pytest.mark.parametrize(
    ("parameters", "brightness", "stored"),
    [
        ([2.0, -3.0, 1.5, 0.03, -0.02, 0.04], [1.3, 1.0, 0.8], as_it_is),
        ([-6.0, 5.0, 4.0, -0.08, 0.06, -0.05], [0.6, 1.0, 1.3], left_handed),
        ([35.0, -25.0, 40.0, 0.05, 0.02, -0.03], [1.3, 1.0, 0.8], as_it_is),
    ],
)
def test_planted_motion_between_the_scans_is_found(
    t1w_tissues, parameters, brightness, stored, rng
):
    tissues, grid, brain = t1w_tissues
    matrix = rigid_matrix(np.array(parameters))
    bold, affine = stored(*bold_of(matrix, brightness, rng))

    found = coregister(bold, affine, tissues, grid, CoregisterOptions())

    points = grid.points()[:, brain.ravel()][:, ::100]
    error = np.linalg.norm(transform(found.matrix, points) - transform(matrix, points), axis=0)
    assert error.mean() < 0.3
    assert found.agreement > 0.9


def test_agreement_is_near_one_half_for_another_brain(t1w_tissues, rng):
    tissues, grid, _ = t1w_tissues
    bold, affine = bold_of(np.eye(4), [1.3, 1.0, 0.8], rng)
    # Mirrored and bent, the folds are those of somebody else.
    others = tissues[:, ::-1, ::-1]

    assert boundary_agreement(bold, affine, tissues, grid, np.eye(4)) > 0.9
    assert coregister(bold, affine, others, grid, CoregisterOptions()).agreement < 0.75


def test_half_of_the_slices_are_registered_as_well(t1w_tissues, rng):
    tissues, grid, brain = t1w_tissues
    matrix = rigid_matrix(np.array([5.0, -8, 6, 0.1, 0.05, -0.08]))
    bold, affine = bold_of(matrix, [1.3, 1.0, 0.8], rng)
    affine[:3, 3] += affine[:3, 2] * 20

    found = coregister(bold[:, :, 20:], affine, tissues, grid, CoregisterOptions())

    points = grid.points()[:, brain.ravel()][:, ::100]
    error = np.linalg.norm(transform(found.matrix, points) - transform(matrix, points), axis=0)
    assert error.mean() < 1


def test_a_bold_image_elsewhere_has_no_agreement(t1w_tissues, rng):
    tissues, grid, _ = t1w_tissues
    bold, affine = bold_of(np.eye(4), [1.3, 1.0, 0.8], rng)
    away = rigid_matrix(np.array([500.0, 0, 0, 0, 0, 0]))

    assert np.isnan(boundary_agreement(bold, affine, tissues, grid, away))


@pytest.fixture
def starts(monkeypatch):
    """Record the start of every registration by mutual information."""
    seen, matrix = [], Registration.matrix

    def recorded(self, degrees, metric, iterations, start, **options):
        seen.append(start)
        return matrix(self, degrees, metric, iterations, start, **options)

    monkeypatch.setattr(Registration, "matrix", recorded)
    return seen


def test_one_start_is_enough_if_it_agrees_well(t1w_tissues, starts, rng):
    tissues, grid, _ = t1w_tissues
    bold, affine = bold_of(np.eye(4), [1.3, 1.0, 0.8], rng)

    coregister(bold, affine, tissues, grid, CoregisterOptions())

    assert len(starts) == 1


def test_all_starts_are_tried_for_another_brain(t1w_tissues, starts, rng):
    tissues, grid, _ = t1w_tissues
    bold, affine = bold_of(np.eye(4), [1.3, 1.0, 0.8], rng)

    coregister(bold, affine, tissues[:, ::-1, ::-1], grid, CoregisterOptions(search=(1, 1.0, 1.0)))

    assert len(starts) == 8


@pytest.mark.parametrize("voxel_mm", [4.0, 40.0])
def test_only_the_surface_away_from_the_edge_of_the_brain_is_registered(t1w_tissues, voxel_mm):
    tissues, grid, brain = t1w_tissues
    surface = white_surface(tissues, grid)
    affine = centred_affine((9, 9, 9), np.full(3, voxel_mm), CENTRE_MM)

    boundary = _Boundary(
        np.ones((9, 9, 9)), affine, surface, CoregisterOptions(surface_points=10**6)
    )

    def depths_mm(sides):
        inside = distance_transform_edt(brain, sampling=grid.voxel_mm)
        return sample_volume(inside, grid.affine, sides.mean(axis=1), order=1)

    n_points = surface.points.shape[1]
    # Judged is all of it; of huge voxels, at least the deeper half is registered.
    assert boundary.far.shape[2] == n_points
    assert depths_mm(boundary.far).min() < 6
    least_mm = min(1.5 * voxel_mm, np.median(surface.depth_mm))
    assert depths_mm(boundary.near).min() == pytest.approx(least_mm, abs=2)
    assert n_points / 2 <= boundary.near.shape[2] < n_points
