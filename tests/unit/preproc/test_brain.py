"""The brain is found in a head however it is stored, and recognised where it is alone."""

import numpy as np
import pytest
from scipy.ndimage import distance_transform_edt

from notears_pfl.errors import SignalError
from notears_pfl.geometry import about, grid_points, nearest_ras, rigid_matrix, transform
from notears_pfl.io.images import read_image
from notears_pfl.preproc.brain import find_brain, is_stripped, stripped_brain, volume_ml
from notears_pfl.preproc.template import HEAD_TEMPLATE, HeadTemplate, head_template, load_template

from .toy import CENTRE_MM, toy_head

VOXEL_MM = np.full(3, 3.0)


@pytest.fixture(scope="module")
def template():
    """Give the toy head as the template."""
    t1w, affine, brain, _ = toy_head()
    inside, outside = (distance_transform_edt(m, sampling=VOXEL_MM) for m in (brain, ~brain))
    return HeadTemplate(t1w.astype(np.float32), (inside - outside).astype(np.float32), affine)


@pytest.fixture(scope="module")
def other_head():
    """Give a larger, bent and noisy toy head: image, affine, brain and the map to the template."""
    growth = np.diag([0.93, 0.95, 0.92, 1.0])
    to_template = growth @ about(
        CENTRE_MM[:, None], rigid_matrix(np.array([4.0, -6, 5, 0.12, 0.03, -0.05]))
    )
    _, affine, _, _ = toy_head()
    points = transform(to_template, grid_points((62, 76, 66), affine))
    t1w, _, brain, _ = toy_head(points=points)
    noise = 20 * np.random.default_rng(5).standard_normal(t1w.shape)
    return t1w + noise, affine, brain, to_template


def dice(a, b):
    return 2 * np.count_nonzero(a & b) / (np.count_nonzero(a) + np.count_nonzero(b))


def test_the_brain_is_found_inside_skull_and_scalp(other_head, template):
    t1w, affine, brain, to_template = other_head

    found = find_brain(t1w, affine, template)

    assert dice(found.mask, brain) > 0.95
    assert dice(t1w > 50, brain) < 0.85
    assert found.figures["head_agreement"] > 0.8
    assert 0.8 < found.figures["surface_correction"] < 1.2
    # The affine on the way is the one that was planted.
    points = transform(template.affine, np.argwhere(template.depth_mm > 0)[::50].T.astype(float))
    error = transform(found.start, points) - transform(np.linalg.inv(to_template), points)
    assert np.linalg.norm(error, axis=0).mean() < 3


@pytest.mark.parametrize("move", [[60.0, -45, 80, 0, 0, 0], [10.0, 20, -30, -0.4, 0.2, 0.3]])
def test_a_shifted_or_turned_header_moves_the_brain_along(other_head, template, move):
    t1w, affine, brain, _ = other_head
    moved = rigid_matrix(np.array(move)) @ affine

    assert dice(find_brain(t1w, moved, template).mask, brain) > 0.95


def test_axes_that_are_stored_otherwise_give_the_same_brain(other_head, template):
    t1w, affine, _, _ = other_head
    stored = np.flip(t1w.transpose(2, 0, 1), axis=1)
    turn = np.zeros((4, 4))
    # Where the voxel of the stored image lies in the image as it was: index 0 is z, 1 is x flipped.
    turn[2, 0] = turn[1, 2] = turn[3, 3] = 1
    turn[0, 1], turn[0, 3] = -1, t1w.shape[0] - 1

    again, again_affine = nearest_ras(stored, affine @ turn)

    np.testing.assert_array_equal(again, t1w)
    np.testing.assert_allclose(again_affine, affine, atol=1e-9)


def test_an_extracted_brain_is_recognised_and_kept():
    t1w, _, brain, _ = toy_head()

    assert not is_stripped(t1w, VOXEL_MM)
    assert is_stripped(t1w * brain, VOXEL_MM)
    assert dice(stripped_brain(t1w * brain).mask, brain) > 0.99


def test_the_head_template_has_the_brain_of_the_mni_template():
    brain = load_template(2)
    stored = read_image(HEAD_TEMPLATE)
    head = head_template(stored.data, stored.affine, brain)
    voxel_ml = abs(np.linalg.det(head.affine[:3, :3])) / 1000

    found_ml = np.count_nonzero(head.depth_mm > 0) * voxel_ml

    assert found_ml == pytest.approx(volume_ml(brain.brain, np.full(3, 2.0)), rel=0.01)
    # Fluid and bone around the brain are darker than the brain and the scalp on either side.
    inside, around, scalp = (
        np.median(head.t1w[(head.depth_mm > low) & (head.depth_mm <= high)])
        for low, high in ((5, 20), (-4, 0), (-10, -8))
    )
    assert around < 0.7 * inside
    assert around < 0.7 * scalp


def test_volumes_are_in_millilitres():
    assert volume_ml(np.ones((10, 10, 10), bool), np.array([1.0, 2.0, 5.0])) == 10


def test_an_empty_image_is_refused(template):
    with pytest.raises(SignalError, match="constant or not finite"):
        find_brain(np.zeros((20, 20, 20)), np.eye(4), template)


@pytest.mark.parametrize("brightest", [-1.0, 5.0], ids=["negative", "one voxel"])
def test_an_image_without_a_head_is_refused(brightest, template):
    image = np.full((20, 20, 20), -2.0 if brightest < 0 else 0.0)
    image[10, 10, 10] = brightest

    with pytest.raises(SignalError, match=r"99\.5 % are at or below 0\. Convert it again"):
        find_brain(image, np.eye(4), template)
