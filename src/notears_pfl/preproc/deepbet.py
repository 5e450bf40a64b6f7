"""Brain extraction by deepbet, a neural network, for those who have it.

It is not part of the default installation: PyTorch, which it needs, weighs gigabytes.
"""

import importlib

import nibabel as nib
import numpy as np
from numpy.typing import NDArray

from notears_pfl.errors import ConfigError
from notears_pfl.preproc.rigid import Floats


def find_brain(t1w: Floats, affine: Floats) -> NDArray[np.bool_]:
    """Brain mask of ``t1w`` (x, y, z), on its own grid; on the processor, never a graphics card."""
    try:
        deepbet = importlib.import_module("deepbet.bet")
    except ModuleNotFoundError as error:
        msg = (
            f"preproc.engine.brain is 'deepbet', but {error.name} is not installed. "
            "Run pip install 'notears-pfl[deepbet]', or choose own or fsl."
        )
        raise ConfigError(msg) from error
    image = nib.nifti1.Nifti1Image(np.asarray(t1w, dtype=np.float32), affine)
    _, mask, _ = deepbet.BrainExtraction(no_gpu=True).run(image)
    return np.asarray(mask.dataobj) > 0
