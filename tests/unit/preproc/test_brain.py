"""The brain is found in a head, and recognised where it is alone."""

import numpy as np
import pytest

from notears_pfl.errors import SignalError
from notears_pfl.preproc.brain import find_brain, is_stripped, volume_ml

from .toy import toy_head


def dice(a, b):
    return 2 * np.count_nonzero(a & b) / (np.count_nonzero(a) + np.count_nonzero(b))


def test_the_brain_is_found_inside_skull_and_scalp(rng):
    t1w, affine, brain, _ = toy_head()
    noisy = t1w + 20 * rng.standard_normal(t1w.shape)

    found = find_brain(noisy, affine)

    assert dice(found, brain) > 0.95
    assert dice(t1w > 50, brain) < 0.85


def test_an_extracted_brain_is_recognised_and_kept(rng):
    t1w, affine, brain, _ = toy_head()
    voxel_mm = np.full(3, 3.0)

    assert not is_stripped(t1w, voxel_mm)
    assert is_stripped(t1w * brain, voxel_mm)
    assert dice(find_brain(t1w * brain, affine), brain) > 0.99


def test_volumes_are_in_millilitres():
    assert volume_ml(np.ones((10, 10, 10), bool), np.array([1.0, 2.0, 5.0])) == 10


def test_an_empty_image_is_refused():
    with pytest.raises(SignalError, match="constant or not finite"):
        find_brain(np.zeros((20, 20, 20)), np.eye(4))


@pytest.mark.parametrize("brightest", [-1.0, 5.0], ids=["negative", "one voxel"])
def test_an_image_without_a_head_is_refused(brightest):
    image = np.full((20, 20, 20), -2.0 if brightest < 0 else 0.0)
    image[10, 10, 10] = brightest

    with pytest.raises(SignalError, match=r"99\.5 % are at or below (-2|0)\. Convert it again"):
        find_brain(image, np.eye(4))
