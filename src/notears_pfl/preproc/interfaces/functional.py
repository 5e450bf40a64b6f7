"""Steps on the BOLD run."""

from typing import Any

import numpy as np
from nipype.interfaces.base import BaseInterfaceInputSpec, File, traits

from notears_pfl.geometry import transform
from notears_pfl.io.images import read_image, read_volume, write_image
from notears_pfl.preproc.clean import clean_signals
from notears_pfl.preproc.confounds import friston24
from notears_pfl.preproc.coregister import coregister
from notears_pfl.preproc.interfaces.step import Step
from notears_pfl.preproc.options import CleanOptions, CoregisterOptions, RealignOptions
from notears_pfl.preproc.realign import estimate_motion
from notears_pfl.preproc.resample import Grid, mni_grid, sample_moving_volumes
from notears_pfl.preproc.slice_timing import correct_slice_timing, middle_slice_time
from notears_pfl.preproc.smooth import smooth
from notears_pfl.preproc.volumes import check_volumes, drop_volumes
from notears_pfl.preproc.warp import Normalisation


class DropVolumesInput(BaseInterfaceInputSpec):
    """Inputs of DropVolumes."""

    in_file = File(exists=True, mandatory=True, desc="4D BOLD image")
    repetition_time = traits.Float(mandatory=True, desc="seconds")
    n_dropped = traits.Int(10, usedefault=True)
    out_file = traits.Str("steady.nii", usedefault=True)


class DropVolumes(Step):
    """Check a run and leave out its first volumes."""

    input_spec = DropVolumesInput

    def _run_interface(self, runtime: Any) -> Any:
        bold, tr = read_image(self.inputs.in_file), self.inputs.repetition_time
        check_volumes(bold.data, tr)
        steady = drop_volumes(bold.data, self.inputs.n_dropped)
        write_image(steady, bold.affine, self._out(runtime), repetition_time=tr)
        return runtime


class SliceTimingInput(BaseInterfaceInputSpec):
    """Inputs of SliceTiming."""

    in_file = File(exists=True, mandatory=True, desc="4D BOLD image")
    repetition_time = traits.Float(mandatory=True, desc="seconds")
    slice_times = traits.List(traits.Float, mandatory=True, desc="seconds, along the third axis")
    out_file = traits.Str("slice_timed.nii", usedefault=True)


class SliceTiming(Step):
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


class Realign(Step):
    """Estimate head motion: six parameters per volume, as in SPM's ``rp_*.txt``."""

    input_spec = RealignInput

    def _run_interface(self, runtime: Any) -> Any:
        bold = read_image(self.inputs.in_file)
        options = RealignOptions(register_to_mean=self.inputs.register_to_mean)
        motion = estimate_motion(bold.data, bold.affine, options)
        np.savetxt(self._out(runtime), motion.parameters)
        return runtime


class CoregisterInput(BaseInterfaceInputSpec):
    """Inputs of Coregister."""

    in_file = File(exists=True, mandatory=True, desc="mean BOLD image")
    tissues = File(exists=True, mandatory=True, desc="fluid, grey and white matter, a volume each")
    out_file = traits.Str("t1w_to_bold.txt", usedefault=True)


class Coregister(Step):
    """Register BOLD to the T1w image's tissues: matrix from T1w to BOLD coordinates, mm."""

    input_spec = CoregisterInput

    def _run_interface(self, runtime: Any) -> Any:
        bold, tissues = read_volume(self.inputs.in_file), read_image(self.inputs.tissues)
        n_x, n_y, n_z, _ = tissues.data.shape
        grid, shares = Grid((n_x, n_y, n_z), tissues.affine), np.moveaxis(tissues.data, -1, 0)
        found = coregister(bold.data, bold.affine, shares, grid, CoregisterOptions())
        np.savetxt(self._out(runtime), found.matrix)
        return runtime


class ResampleInput(BaseInterfaceInputSpec):
    """Inputs of Resample."""

    in_file = File(exists=True, mandatory=True, desc="4D BOLD image")
    motion = File(exists=True, mandatory=True, desc="six parameters per volume")
    t1w_to_bold = File(exists=True, mandatory=True, desc="matrix of Coregister")
    template_to_t1w = File(exists=True, mandatory=True, desc="displacements of Normalise")
    repetition_time = traits.Float(mandatory=True, desc="seconds")
    voxel_mm = traits.Float(3.0, usedefault=True)
    order = traits.Int(2, usedefault=True, desc="of the interpolating spline")
    out_file = traits.Str("in_template.nii", usedefault=True)


class Resample(Step):
    """Bring all volumes to the template in one interpolation."""

    input_spec = ResampleInput

    def _run_interface(self, runtime: Any) -> Any:
        inputs, tr = self.inputs, self.inputs.repetition_time
        bold, field = read_image(inputs.in_file), read_image(inputs.template_to_t1w)
        grid = mni_grid(inputs.voxel_mm)
        to_t1w = Normalisation.from_field(field.data, field.affine, np.eye(4)).to_t1w
        in_bold = transform(np.loadtxt(inputs.t1w_to_bold), to_t1w(grid.points()))
        motion = np.loadtxt(inputs.motion, ndmin=2)
        series, _ = sample_moving_volumes(bold.data, bold.affine, motion, in_bold, inputs.order)
        volumes = series.T.reshape(*grid.shape, len(series))
        write_image(volumes, grid.affine, self._out(runtime), repetition_time=tr)
        return runtime


class SmoothInput(BaseInterfaceInputSpec):
    """Inputs of Smooth."""

    in_file = File(exists=True, mandatory=True, desc="3D or 4D image")
    fwhm_mm = traits.Float(6.0, usedefault=True)
    kernel = traits.Enum("spm", "gaussian", usedefault=True)
    out_file = traits.Str("smoothed.nii", usedefault=True)


class Smooth(Step):
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


class Clean(Step):
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
