"""The MNI152 template brain that nilearn ships, as arrays."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from notears_pfl.geometry import Floats


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
