"""Our own steps as nipype interfaces, for workflows built with nipype.

The rules of this project call the functions behind them: no image is written and read again
between two steps of ours.
"""

from pathlib import Path
from typing import Any

import numpy as np
from nipype.interfaces.base import (
    BaseInterface,
    BaseInterfaceInputSpec,
    File,
    TraitedSpec,
    traits,
)

from notears_pfl.io.images import read_image, read_volume, write_image
from notears_pfl.preproc.brain import find_brain
from notears_pfl.preproc.clean import CleanOptions, clean_signals
from notears_pfl.preproc.confounds import friston24
from notears_pfl.preproc.normalise import NormaliseOptions, normalise
from notears_pfl.preproc.realign import RealignOptions, estimate_motion
from notears_pfl.preproc.slice_timing import correct_slice_timing, middle_slice_time
from notears_pfl.preproc.smooth import smooth


class _OneFile(TraitedSpec):
    out_file = File(exists=True, desc="result")


class _Step(BaseInterface):
    """A step that writes one file, named by its input ``out_file``."""

    output_spec = _OneFile

    def _out(self, runtime: Any) -> Path:
        self._path = Path(runtime.cwd) / self.inputs.out_file
        return self._path

    def _list_outputs(self) -> dict[str, str]:
        return {"out_file": str(self._path)}


class SliceTimingInput(BaseInterfaceInputSpec):
    """Inputs of SliceTiming."""

    in_file = File(exists=True, mandatory=True, desc="4D BOLD image")
    repetition_time = traits.Float(mandatory=True, desc="seconds")
    slice_times = traits.List(traits.Float, mandatory=True, desc="seconds, along the third axis")
    out_file = traits.Str("slice_timed.nii", usedefault=True)


class SliceTiming(_Step):
    """Shift slices to the one acquired mid-way, by Fourier interpolation."""

    input_spec = SliceTimingInput

    def _run_interface(self, runtime: Any) -> Any:
        bold, times = read_image(self.inputs.in_file), np.array(self.inputs.slice_times)
        tr = self.inputs.repetition_time
        corrected = correct_slice_timing(bold.data, times, tr, middle_slice_time(times))
        write_image(corrected, bold.affine, self._out(runtime), repetition_time=tr)
        return runtime


class RealignInput(BaseInterfaceInputSpec):
    """Inputs of Realign."""

    in_file = File(exists=True, mandatory=True, desc="4D BOLD image")
    register_to_mean = traits.Bool(True, usedefault=True)
    out_file = traits.Str("motion.txt", usedefault=True)


class Realign(_Step):
    """Estimate head motion: six parameters per volume, as in SPM's ``rp_*.txt``."""

    input_spec = RealignInput

    def _run_interface(self, runtime: Any) -> Any:
        bold = read_image(self.inputs.in_file)
        options = RealignOptions(register_to_mean=self.inputs.register_to_mean)
        motion = estimate_motion(bold.data, bold.affine, options)
        np.savetxt(self._out(runtime), motion.parameters)
        return runtime


class ExtractBrainInput(BaseInterfaceInputSpec):
    """Inputs of ExtractBrain."""

    in_file = File(exists=True, mandatory=True, desc="T1w image")
    out_file = traits.Str("brain_mask.nii", usedefault=True)


class ExtractBrain(_Step):
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


class Normalise(_Step):
    """Register a brain to a template: displacements in mm from template to T1w."""

    input_spec = NormaliseInput

    def _run_interface(self, runtime: Any) -> Any:
        t1w, template = read_volume(self.inputs.in_file), read_volume(self.inputs.template)
        found = normalise(t1w.data, t1w.affine, template.data, template.affine, NormaliseOptions())
        write_image(found.displacement, found.grid.affine, self._out(runtime), vectors=True)
        return runtime


class SmoothInput(BaseInterfaceInputSpec):
    """Inputs of Smooth."""

    in_file = File(exists=True, mandatory=True, desc="3D or 4D image")
    fwhm_mm = traits.Float(6.0, usedefault=True)
    kernel = traits.Enum("spm", "gaussian", usedefault=True)
    out_file = traits.Str("smoothed.nii", usedefault=True)


class Smooth(_Step):
    """Smooth with SPM's kernel or the plain Gaussian."""

    input_spec = SmoothInput

    def _run_interface(self, runtime: Any) -> Any:
        image = read_image(self.inputs.in_file)
        voxel_mm = np.linalg.norm(image.affine[:3, :3], axis=0)
        smoothed = smooth(image.data, voxel_mm, self.inputs.fwhm_mm, self.inputs.kernel)
        write_image(smoothed, image.affine, self._out(runtime))
        return runtime


class CleanInput(BaseInterfaceInputSpec):
    """Inputs of Clean."""

    in_file = File(exists=True, mandatory=True, desc="signals, one column each, no header")
    motion = File(exists=True, mandatory=True, desc="six parameters per volume")
    repetition_time = traits.Float(mandatory=True, desc="seconds")
    order = traits.Enum("dparsf", "simultaneous", usedefault=True)
    low_hz = traits.Float(0.01, usedefault=True)
    high_hz = traits.Float(0.08, usedefault=True)
    out_file = traits.Str("cleaned.txt", usedefault=True)


class Clean(_Step):
    """Regress the Friston 24, detrend and band-pass signals."""

    input_spec = CleanInput

    def _run_interface(self, runtime: Any) -> Any:
        inputs = self.inputs
        options = CleanOptions(inputs.order, inputs.low_hz, inputs.high_hz)
        confounds = friston24(np.loadtxt(inputs.motion))
        signals = np.loadtxt(inputs.in_file, ndmin=2)
        cleaned = clean_signals(signals, confounds, inputs.repetition_time, options)
        np.savetxt(self._out(runtime), cleaned)
        return runtime
