"""The head template with skull, ``src/notears_pfl/preproc/data/head_template.nii.gz``.

``python tools/head_template.py`` rewrites it. It takes two wheels from the package index:
pydeface's mean of many heads (MIT licence), which becomes the template, and NiMARE's copy of the
MNI152 head, which only shows where MNI space is.
"""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import nibabel as nib
import numpy as np
from scipy.ndimage import distance_transform_edt

from notears_pfl.geometry import Floats
from notears_pfl.preproc.greedy import Registration
from notears_pfl.preproc.resample import Grid, downsample, sample_volume
from notears_pfl.preproc.template import HEAD_TEMPLATE, load_template

MEAN_HEAD = ("pydeface==2.1.0", "pydeface/data/mean_reg2mean.nii.gz")
MNI_HEAD = (
    "nimare==0.22.1",
    "nimare/resources/templates/tpl-MNI152NLin6Asym_res-02_T1w.nii.gz",
)
# Grid of the registration, from below the cerebellum to above the crown, and voxels of the result.
LOWEST_MM, SHAPE, VOXEL_MM = (-96.0, -136.0, -96.0), (97, 124, 103), 2.0
STORED_MM = 3.0
# How far around the brain the heads must match, mm: for the affine, for the warp.
WIDE_MM, NEAR_MM = 40, 20


def from_wheel(package: str, member: str, folder: Path) -> tuple[Floats, Floats]:
    """Download a wheel and read an image in it: voxels and affine."""
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder), package],
        check=True,
    )
    wheel = next(folder.glob(f"{package.split('=')[0]}-*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        image = nib.nifti1.load(archive.extract(member, folder))
        return np.asarray(image.dataobj, dtype=np.float32), np.asarray(image.affine)


def mean_head_in_mni_space() -> tuple[np.ndarray, Grid]:
    """Bring the mean head to MNI space; grey values 0 to 255."""
    affine = np.diag([VOXEL_MM, VOXEL_MM, VOXEL_MM, 1.0])
    affine[:3, 3] = LOWEST_MM
    grid = Grid(SHAPE, affine)
    template = load_template(2)
    brain = sample_volume(template.brain.astype(float), template.affine, grid.points(), 1)
    away_mm = distance_transform_edt(brain.reshape(SHAPE) < 0.5, sampling=grid.voxel_mm)
    with tempfile.TemporaryDirectory() as folder:
        mean, mean_affine = from_wheel(*MEAN_HEAD, Path(folder))
        mni, mni_affine = from_wheel(*MNI_HEAD, Path(folder))
    fixed = sample_volume(mni, mni_affine, grid.points(), 1).reshape(SHAPE)
    moving, moving_grid = downsample(mean, mean_affine, VOXEL_MM)
    registration = Registration(
        (fixed, grid),
        (moving, moving_grid),
        {"wide": away_mm <= WIDE_MM, "near": away_mm <= NEAR_MM},
    )
    centre = grid.points().mean(axis=1) - moving_grid.points().mean(axis=1)
    start = np.eye(4)
    start[:3, 3] = -centre
    rigid = registration.matrix(6, "NMI", (60, 30, 10), start, mask="wide", search=(200, 10, 20))
    linear = registration.matrix(12, "NCC 4x4x4", (60, 30, 10), rigid, mask="wide")
    linear = registration.matrix(12, "NCC 3x3x3", (60, 30, 10), linear, mask="near")
    warp = registration.warp("NCC 3x3x3", (80, 50, 15), linear, (3.0, 1.0), mask="near")
    found = sample_volume(moving, moving_grid.affine, warp.to_t1w(grid.points()), 1).reshape(SHAPE)
    stored, stored_grid = downsample(found, grid.affine, STORED_MM)
    grey = 255 * np.clip(stored / np.percentile(stored, 99.9), 0, 1)
    return np.rint(grey).astype(np.uint8), stored_grid


if __name__ == "__main__":
    head, grid = mean_head_in_mni_space()
    image = nib.nifti1.Nifti1Image(head, grid.affine)
    image.set_sform(grid.affine, code=4)
    image.set_qform(grid.affine, code=4)
    nib.save(image, HEAD_TEMPLATE)
