"""deepbet: brain extraction by a neural network.

It is not part of the default installation: PyTorch, which it needs, takes gigabytes.
"""

import importlib
from pathlib import Path

import nibabel as nib
import numpy as np
from numpy.typing import NDArray

from notears_pfl.errors import ConfigError
from notears_pfl.geometry import Floats
from notears_pfl.preproc.engines.program import program


@program("brain", "deepbet")
def find_brain(folder: Path, t1w: Floats, affine: Floats) -> NDArray[np.bool_]:
    """Brain mask of a T1w image; on the processor, never on a graphics card."""
    del folder  # deepbet takes and returns images, not files
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
