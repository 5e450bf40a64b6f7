"""deepbet is asked for a brain mask, or the message says how to install it."""

import sys
from importlib.util import find_spec
from types import ModuleType

import nibabel as nib
import numpy as np
import pytest

from notears_pfl.errors import ConfigError
from notears_pfl.preproc.engines.deepbet import find_brain


def test_the_mask_is_computed_on_the_processor(monkeypatch, affine):
    class BrainExtraction:
        """Stand in for deepbet's class; deepbet itself brings gigabytes of PyTorch."""

        def __init__(self, no_gpu=False):
            assert no_gpu

        def run(self, image):
            mask = (image.get_fdata() > 5).astype("uint8")
            return image, nib.Nifti1Image(mask, image.affine), 0.0

    package, module = ModuleType("deepbet"), ModuleType("deepbet.bet")
    module.BrainExtraction = BrainExtraction
    monkeypatch.setitem(sys.modules, "deepbet", package)
    monkeypatch.setitem(sys.modules, "deepbet.bet", module)
    t1w = np.arange(27, dtype=np.float32).reshape(3, 3, 3)

    np.testing.assert_array_equal(find_brain(t1w, affine), t1w > 5)


@pytest.mark.skipif(find_spec("deepbet") is not None, reason="deepbet is installed")
def test_without_deepbet_the_message_says_how_to_get_it(affine):
    with pytest.raises(ConfigError, match=r"pip install 'notears-pfl\[deepbet\]'"):
        find_brain(np.ones((3, 3, 3)), affine)
