"""The templates, as arrays: the MNI152 brain that nilearn ships, and a head with skull."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt, map_coordinates

from notears_pfl.geometry import Floats, transform
from notears_pfl.preproc.resample import Grid

# Made by tools/head_template.py; data/README.md gives source and licence.
HEAD_TEMPLATE = Path(__file__).parent / "data" / "head_template.nii.gz"
# Voxels around the brain template in which depth is still measured.
PADDING = 20


@dataclass(frozen=True)
class BrainTemplate:
    """T1w intensities, tissue probabilities and brain mask (x, y, z); zero outside the brain."""

    t1w: Floats
    grey: Floats
    white: Floats
    brain: NDArray[np.bool_]
    affine: Floats

    def tissues(self) -> Floats:
        """Probabilities (3, x, y, z) of cerebrospinal fluid, grey and white matter."""
        fluid = np.clip(1 - self.grey - self.white, 0, 1) * self.brain
        return np.stack([fluid, self.grey, self.white])


@dataclass(frozen=True)
class HeadTemplate:
    """A whole head with skull in MNI space: T1w intensities and depth in the brain (x, y, z).

    ``depth_mm`` is the distance from the surface of the brain, negative outside.
    """

    t1w: Floats
    depth_mm: Floats
    affine: Floats


def head_template(head: Floats, affine: Floats, template: BrainTemplate) -> HeadTemplate:
    """Make the template of the image ``head`` (x, y, z); its brain is that of ``template``."""
    n_x, n_y, n_z = head.shape
    points = Grid((n_x, n_y, n_z), affine).points()
    voxels = transform(np.linalg.inv(template.affine), points) + PADDING
    depth_mm = map_coordinates(_brain_depth_mm(template), voxels, order=1, mode="nearest")
    depth_mm = depth_mm.reshape(head.shape).astype(np.float32)
    return HeadTemplate(np.asarray(head, dtype=np.float32), depth_mm, affine)


def _brain_depth_mm(template: BrainTemplate) -> Floats:
    """Distance from the brain's surface, with ``PADDING`` voxels around: the brain stem is cut."""
    voxel_mm = np.linalg.norm(template.affine[:3, :3], axis=0)
    brain = np.pad(template.brain, PADDING)
    inside = distance_transform_edt(brain, sampling=voxel_mm)
    outside = distance_transform_edt(~brain, sampling=voxel_mm)
    # Voxel centres on either side of the surface are half a voxel from it.
    return np.asarray(inside - outside - np.sign(inside - outside) * voxel_mm.min() / 2)


def load_template(resolution_mm: int) -> BrainTemplate:
    """Load the ICBM 2009a template at a whole number of millimetres; nothing is downloaded."""
    # Late: the rules of a subject read the template from files and must not load nilearn.
    from nilearn import datasets

    t1w = datasets.load_mni152_template(resolution=resolution_mm)
    brain = datasets.load_mni152_brain_mask(resolution=resolution_mm).get_fdata() > 0
    grey = datasets.load_mni152_gm_template(resolution=resolution_mm).get_fdata()
    white = datasets.load_mni152_wm_template(resolution=resolution_mm).get_fdata()
    # The template is not zero outside its own mask.
    return BrainTemplate(
        t1w=t1w.get_fdata() * brain,
        grey=grey * brain,
        white=white * brain,
        brain=brain,
        affine=np.asarray(t1w.affine),
    )
