"""What SPM12 and DPARSF made of the same data (see tests/reference/README.md)."""

from pathlib import Path

import nibabel as nib
import numpy as np
import pytest

REFERENCE = Path(__file__).parents[2] / "reference"


@pytest.fixture(scope="session")
def reference_image():
    """Give a reader of reference images: name to (data, affine)."""

    def read(name):
        image = nib.load(REFERENCE / f"{name}.nii.gz")
        return np.asarray(image.dataobj, dtype=np.float32), image.affine

    return read


@pytest.fixture(scope="session")
def reference_table():
    """Give a reader of reference tables: file name to array."""
    return lambda name: np.loadtxt(REFERENCE / name)
