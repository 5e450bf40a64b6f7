"""The head has a brain inside a skull, regions around their centres, and does not fold."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.ndimage import map_coordinates

from notears_pfl.geometry import centred_affine, grid_points, transform
from notears_pfl.phantom.head import (
    CSF_MM,
    FIELD_VOXEL_MM,
    SCALP_MM,
    SKULL_MM,
    T1W_INTENSITY,
    TEMPLATE_MM,
    AnatomyOptions,
    field_affine,
    grid_to_template,
    nearest,
    nearest_within,
    random_deformation,
    sample,
    sample_labels,
    surrogate_parcellation,
    template_head,
    to_template,
    where_shown,
)
from notears_pfl.preproc.template import load_template

ANATOMY = AnatomyOptions(
    deformation_mm=2.5, deformation_fwhm_mm=45, size_percent=3, offset_mm=4, offset_deg=3,
    between_scans_mm=1.5, between_scans_deg=1, bias_percent=20,
)  # fmt: skip


@pytest.fixture(scope="module")
def rois():
    return pd.read_csv(Path(__file__).parents[3] / "config/rois.tsv", sep="\t")


@pytest.fixture(scope="module")
def mni_head(rois):
    template = load_template(TEMPLATE_MM)
    return template_head(
        **vars(template), coordinates=rois[["x", "y", "z"]].to_numpy(), max_distance_mm=18
    )


def test_every_region_of_the_paper_gets_a_part_of_the_mni_brain_around_its_coordinate(
    mni_head, rois
):
    voxel_ml = TEMPLATE_MM**3 / 1000
    volumes = np.bincount(mni_head.labels.ravel(), minlength=117)[1:] * voxel_ml

    assert volumes.min() > 2
    assert not mni_head.labels[~mni_head.brain].any()
    for index, *xyz in rois[["index", "x", "y", "z"]].itertuples(index=False):
        points = np.argwhere(mni_head.labels == index) * TEMPLATE_MM + mni_head.affine[:3, 3]
        assert np.linalg.norm(points - xyz, axis=1).max() <= 18


def test_walking_out_of_the_brain_one_meets_csf_skull_scalp_and_air(mni_head):
    x, y = (np.round((0 - mni_head.affine[:3, 3]) / TEMPLATE_MM).astype(int)[:2]).tolist()
    column = mni_head.t1w[x, y]
    top = np.flatnonzero(mni_head.brain[x, y]).max()
    above_mm = (np.arange(len(column)) - top) * TEMPLATE_MM

    def layer(inner, outer):
        return column[(above_mm > inner + TEMPLATE_MM) & (above_mm < outer - TEMPLATE_MM)]

    assert_allclose(column[top + 1], T1W_INTENSITY["csf"], rtol=1e-6)
    assert_allclose(layer(CSF_MM, SKULL_MM), T1W_INTENSITY["skull"], rtol=1e-6)
    assert_allclose(layer(SKULL_MM, SCALP_MM), T1W_INTENSITY["scalp"], rtol=1e-6)
    assert not column[above_mm > SCALP_MM + TEMPLATE_MM].any()


def test_a_voxel_belongs_to_the_nearest_centre_within_reach(rng):
    centres, brain = rng.uniform(0, 20, size=(5, 3)), rng.random((6, 6, 6)) < 0.8
    affine = np.diag([4.0, 4, 4, 1])

    labels = surrogate_parcellation(brain, affine, centres, max_distance_mm=7)

    for voxel in np.ndindex(brain.shape):
        distances = np.linalg.norm(centres - 4 * np.array(voxel), axis=1)
        reached = brain[voxel] and distances.min() < 7
        assert labels[voxel] == (distances.argmin() + 1 if reached else 0)


def test_deformations_have_the_size_asked_for_and_never_fold(rng):
    still = AnatomyOptions(**{**vars(ANATOMY), "size_percent": 0})

    fields = [random_deformation(rng, still) for _ in range(10)]

    assert_allclose([f.std(axis=(0, 1, 2)) for f in fields], 2.5, rtol=1e-5)
    steepest = AnatomyOptions(**{**vars(ANATOMY), "deformation_mm": 4.5})
    for _ in range(10):
        field = random_deformation(rng, steepest)
        gradient = np.stack(np.gradient(field, FIELD_VOXEL_MM, axis=(0, 1, 2)), axis=-1)
        assert np.linalg.det(np.eye(3) + gradient).min() > 0


def test_a_head_without_variation_is_the_template(rng):
    none = AnatomyOptions(**{**vars(ANATOMY), "deformation_mm": 0, "size_percent": 0})

    assert not random_deformation(rng, none).any()


def test_to_template_adds_the_displacement_at_its_grid_points(rng):
    field = random_deformation(rng, ANATOMY)
    h = (field_affine() @ [10, 12, 14, 1])[:3]

    assert_allclose(to_template(field, h[:, None])[:, 0], h + field[10, 12, 14], atol=1e-5)


def test_a_grid_goes_to_the_template_as_its_points_do(rng):
    field, shape = random_deformation(rng, ANATOMY), (50, 61, 47)
    # Part of it lies beyond the field.
    affine = centred_affine(shape, np.array([6.0, 5.0, 7.0]), np.array([3.0, -20.0, 5.0]))

    slow = to_template(field, grid_points(shape, affine))

    assert_allclose(grid_to_template(field, shape, affine), slow, atol=1e-4)


def ball(rng):
    """Noise inside a ball, air around it, on a grid of 3 mm; and points in and around it."""
    affine = centred_affine((24, 26, 22), np.full(3, 3.0), np.zeros(3))
    inside = np.linalg.norm(grid_points((24, 26, 22), affine), axis=0) < 25
    image = np.where(inside, rng.uniform(0.5, 1, inside.shape), 0).astype(np.float32)
    return image, affine, rng.uniform(-60, 60, (3, 20, 500))


def test_images_are_sampled_as_by_interpolation_everywhere_and_air_is_0(rng):
    image, affine, points = ball(rng)
    indices = transform(np.linalg.inv(affine), points)

    linear = map_coordinates(image, indices, order=1, mode="constant", cval=0)
    assert_allclose(sample(image, affine, points), linear, atol=1e-6)
    assert (linear > 0).mean() > 0.02


def test_labels_are_those_of_the_nearest_voxel_and_0_outside(rng):
    image, affine, points = ball(rng)
    labels = np.rint(100 * image).astype(np.int16)
    indices = transform(np.linalg.inv(affine), points)

    found = sample_labels(labels, affine, points)

    i, j, k = np.rint(indices).astype(int)
    within = [(x >= 0) & (x < n) for x, n in zip((i, j, k), labels.shape, strict=True)]
    inside = np.all(within, axis=0)
    assert_array_equal(found[inside], labels[i[inside], j[inside], k[inside]])
    assert not found[~inside].any()
    assert_array_equal(found, nearest(labels, indices))


def test_what_a_deformed_image_shows_lies_within_its_mask(rng):
    image, affine, _ = ball(rng)
    field = random_deformation(rng, ANATOMY)
    # Points off the grid, in and around the ball.
    points = rng.uniform(-40, 40, (3, 20000))

    shown = sample(image, affine, to_template(field, points)) != 0

    mask = where_shown(image, affine, field)
    within = nearest_within(mask, transform(np.linalg.inv(affine), points))
    assert within[shown].all()
    assert shown.mean() > 0.05
    assert not mask[1:-1, 1:-1, 1:-1].all()
