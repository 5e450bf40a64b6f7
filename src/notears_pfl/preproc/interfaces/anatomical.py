"""Steps on the T1w image."""

from typing import Any

import numpy as np
from nipype.interfaces.base import BaseInterfaceInputSpec, File, traits

from notears_pfl.io.images import read_image, read_volume, write_image
from notears_pfl.preproc.brain import find_brain
from notears_pfl.preproc.interfaces.step import Step
from notears_pfl.preproc.normalise import normalise
from notears_pfl.preproc.options import NormaliseOptions
from notears_pfl.preproc.tissues import fit_tissues, tissue_probabilities


class ExtractBrainInput(BaseInterfaceInputSpec):
    """Inputs of ExtractBrain."""

    in_file = File(exists=True, mandatory=True, desc="T1w image")
    out_file = traits.Str("brain_mask.nii", usedefault=True)


class ExtractBrain(Step):
    """Find the brain in a T1w image."""

    input_spec = ExtractBrainInput

    def _run_interface(self, runtime: Any) -> Any:
        t1w = read_volume(self.inputs.in_file)
        write_image(find_brain(t1w.data, t1w.affine), t1w.affine, self._out(runtime))
        return runtime


class NormaliseInput(BaseInterfaceInputSpec):
    """Inputs of Normalise."""

    in_file = File(exists=True, mandatory=True, desc="T1w brain, zero outside")
    template = File(exists=True, mandatory=True, desc="template brain, zero outside")
    out_file = traits.Str("template_to_t1w.nii", usedefault=True)


class Normalise(Step):
    """Register a brain to a template: displacements in mm from template to T1w."""

    input_spec = NormaliseInput

    def _run_interface(self, runtime: Any) -> Any:
        t1w, template = read_volume(self.inputs.in_file), read_volume(self.inputs.template)
        found = normalise(t1w.data, t1w.affine, template.data, template.affine, NormaliseOptions())
        write_image(found.displacement, found.grid.affine, self._out(runtime), vectors=True)
        return runtime


class TissuesInput(BaseInterfaceInputSpec):
    """Inputs of Tissues."""

    in_file = File(exists=True, mandatory=True, desc="T1w image")
    mask_file = File(exists=True, mandatory=True, desc="brain mask on the same grid")
    out_file = traits.Str("tissues.nii", usedefault=True)


class Tissues(Step):
    """Give the probabilities of fluid, grey and white matter, a volume each."""

    input_spec = TissuesInput

    def _run_interface(self, runtime: Any) -> Any:
        t1w, brain = read_volume(self.inputs.in_file), read_image(self.inputs.mask_file).data > 0
        model = fit_tissues(t1w.data, brain, np.linalg.norm(t1w.affine[:3, :3], axis=0))
        corrected = t1w.data / model.bias(t1w.data.shape)
        tissues = np.zeros((*brain.shape, 3), dtype=np.float32)
        tissues[brain] = tissue_probabilities(corrected[brain], model).T
        write_image(tissues, t1w.affine, self._out(runtime))
        return runtime
