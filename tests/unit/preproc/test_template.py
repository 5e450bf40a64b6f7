"""The template that images are normalised to is the one whose name the reports give."""

import numpy as np
from nilearn.datasets import load_mni152_template

from notears_pfl.geometry import TEMPLATE_SPACE


def test_the_template_is_its_own_mirror_image_and_called_symmetric():
    template = load_mni152_template(resolution=1)
    right = template.affine[0, 3] + np.arange(template.shape[0])
    data = template.get_fdata(dtype=np.float32)[np.abs(right) <= 70]

    assert TEMPLATE_SPACE == "MNI152NLin2009aSym"
    assert data.std() > 0
    np.testing.assert_allclose(data[::-1], data, atol=1e-6)
