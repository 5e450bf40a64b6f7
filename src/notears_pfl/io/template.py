"""The MNI152 template that nilearn ships, as arrays."""

from dataclasses import dataclass

import numpy as np
from nilearn import datasets


@dataclass(frozen=True)
class Template:
    """T1w intensities and tissue probabilities (0 to 1) and brain mask on one grid."""

    t1w: np.ndarray
    grey: np.ndarray
    white: np.ndarray
    brain: np.ndarray
    affine: np.ndarray


def load_template(resolution_mm: int) -> Template:
    """Load the ICBM 2009a template at a whole number of millimetres; nothing is downloaded."""
    t1w = datasets.load_mni152_template(resolution=resolution_mm)
    brain = datasets.load_mni152_brain_mask(resolution=resolution_mm).get_fdata() > 0
    grey = datasets.load_mni152_gm_template(resolution=resolution_mm).get_fdata()
    white = datasets.load_mni152_wm_template(resolution=resolution_mm).get_fdata()
    # The template is not zero outside its own mask.
    return Template(
        t1w=t1w.get_fdata() * brain,
        grey=grey * brain,
        white=white * brain,
        brain=brain,
        affine=np.asarray(t1w.affine),
    )
