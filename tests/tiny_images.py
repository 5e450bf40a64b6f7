"""Tiny images with headers like those of scans: real files that a study can be planned from."""

import nibabel as nib
import numpy as np


def tiny_image(shape, edge_mm, tr=None):
    """Give an empty image in scanner space; ``tr`` is in seconds."""
    affine = np.diag([edge_mm, edge_mm, edge_mm, 1.0])
    image = nib.Nifti1Image(np.zeros(shape, np.uint8), affine)
    image.set_sform(affine, 1)
    image.set_qform(affine, 1)
    if tr:
        image.header.set_xyzt_units("mm", "sec")
        image.header["pixdim"][4] = tr
    return image


def tiny_t1w():
    """Give a T1w image that is as large as a head."""
    return tiny_image((16, 16, 16), 7.0)


def tiny_bold(n_slices=2, n_volumes=13, tr=None):
    """Give a run of which three volumes are left if ten are discarded."""
    return tiny_image((4, 4, n_slices, n_volumes), 4.0, tr)


def write_tiny_release(folder, t1w, volume, n_volumes=13):
    """Write the images of a subject as in the SRPBS release, from the content of their files."""
    (folder / "t1").mkdir(parents=True)
    (folder / "rsfmri").mkdir()
    (folder / "t1/defaced_mprage.nii").write_bytes(t1w)
    for number in range(1, n_volumes + 1):
        (folder / f"rsfmri/vol_{number}").write_bytes(volume)
