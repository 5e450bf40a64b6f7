"""A planted deformation is found, better than by an affine alone, the same every time."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from notears_pfl.geometry import centred_affine, grid_points
from notears_pfl.preproc.normalise import NormaliseOptions, normalise
from notears_pfl.preproc.resample import Normalisation

from .toy import CENTRE_MM, left_handed, toy_texture


def to_template(points):
    """Give the planted map from the subject's to the template's coordinates."""
    x, y, z = points
    bend = np.stack([4 * np.sin(y / 30), 4 * np.cos(z / 28), 4 * np.sin(x / 26)])
    return 1.04 * points + bend + np.array([3.0, -2.0, 4.0]).reshape(-1, *[1] * (points.ndim - 1))


@pytest.fixture(scope="module")
def planted():
    """Give the map found between a toy brain and its planted deformation, stored left-handed."""
    shape = (72, 88, 74)
    affine = centred_affine(shape, np.full(3, 2.5), CENTRE_MM)
    points = grid_points(shape, affine)
    template, subject = toy_texture(points), toy_texture(to_template(points))
    arguments = (*left_handed(subject, affine), template, affine, NormaliseOptions())
    inside = points[:, template > 0][:, ::20]
    return normalise(*arguments), arguments, inside


def error_mm(normalisation, inside):
    return np.linalg.norm(to_template(normalisation.to_t1w(inside)) - inside, axis=0).mean()


def test_the_deformation_is_found_better_than_by_an_affine_alone(planted):
    normalisation, _, inside = planted

    with_affine = error_mm(normalisation.affine_only(), inside)
    assert error_mm(normalisation, inside) < 0.6 * with_affine
    assert with_affine < np.linalg.norm(to_template(inside) - inside, axis=0).mean()


def test_nothing_folds(planted):
    assert planted[0].jacobian().min() > 0.1


def test_the_inverse_undoes_the_map(planted):
    normalisation, _, inside = planted

    back = normalisation.to_template(normalisation.to_t1w(inside))

    assert np.abs(back - inside).max() < 0.05


def test_the_same_images_give_the_same_bytes(planted):
    normalisation, arguments, _ = planted

    again = normalise(*arguments)

    assert_array_equal(again.displacement, normalisation.displacement)


def test_a_stored_field_gives_the_same_map(planted):
    normalisation, _, inside = planted

    stored = Normalisation.from_field(
        normalisation.displacement[..., None, :],
        normalisation.grid.affine,
        normalisation.affine.tolist(),
    )

    assert_array_equal(stored.to_t1w(inside), normalisation.to_t1w(inside))


def test_the_map_covers_the_brain_and_what_smoothing_reaches_but_no_more(planted):
    normalisation, (_, _, template, affine, _), _ = planted

    points = grid_points(template.shape, affine)[:, template > 0]
    corners = normalisation.grid.points()

    room_low = points.min(axis=1) - corners.min(axis=1)
    room_high = corners.max(axis=1) - points.max(axis=1)
    for room in (room_low, room_high):
        assert np.all(room > 8)
        assert np.all(room < 22)
