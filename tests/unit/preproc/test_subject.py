"""A run whose files cannot be trusted is refused before any work."""

import nibabel as nib
import numpy as np
import pytest

from notears_pfl.errors import ImageError, SignalError
from notears_pfl.io.images import write_image
from notears_pfl.io.sidecars import write_json
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


def test_a_header_that_contradicts_the_sidecar_is_refused_with_both(files):
    write_image(np.ones((4, 4, 4, 9), np.float32), np.eye(4), files["bold"], repetition_time=2.0)

    with pytest.raises(SignalError, match=r"is 2 s in .*bold\.nii, but 2\.5 s in .*bold\.json"):
        read_run(files, np.eye(4), {"slice_timing": False})
