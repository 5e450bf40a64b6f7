"""A run whose files cannot be trusted is refused before any work."""

import nibabel as nib
import numpy as np
import pytest

from notears_pfl.errors import ImageError
from notears_pfl.io.tables import write_json
from notears_pfl.preproc.subject import read_run


@pytest.fixture
def files(tmp_path):
    """Give the paths of a run and its sidecar; what follows is never read."""
    write_json({"RepetitionTime": 2.5}, tmp_path / "bold.json")
    return {"bold": tmp_path / "bold.nii", "sidecar": tmp_path / "bold.json"}


def test_a_run_that_does_not_tell_left_from_right_is_refused(files):
    nib.save(nib.Nifti1Image(np.ones((4, 4, 4, 9), np.float32), None), files["bold"])

    with pytest.raises(ImageError, match=r"bold\.nii: a stored orientation was needed"):
        read_run(files, np.eye(4), {"slice_timing": False})
