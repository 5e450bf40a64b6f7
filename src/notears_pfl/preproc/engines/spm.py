"""SPM: slice timing, realignment and unified segmentation, with DPARSF's settings."""

from pathlib import Path
from typing import Any

import numpy as np
from nipype.interfaces import spm

from notears_pfl.geometry import Floats
from notears_pfl.preproc.engines.program import (
    only,
    outputs_of,
    program,
    read_output,
    write_input,
)
from notears_pfl.preproc.resample import Grid, Normalisation


@program("slice_timing", "SPM")
def correct_slice_timing(
    folder: Path, bold: Floats, affine: Floats, slice_times: Floats, tr: float, reference: float
) -> Floats:
    """Shift slices to the time of the ``reference`` slice."""
    path = write_input(bold, affine, folder / "bold.nii", repetition_time=tr)
    outputs = outputs_of(slice_timing(path, tr, slice_times, reference), folder)
    return np.asarray(read_output(outputs.timecorrected_files).data, dtype=np.float32)


@program("realign", "SPM")
def estimate_motion(folder: Path, bold: Floats, affine: Floats, tr: float) -> Floats:
    """Motion parameters (volumes, 6), which SPM writes in our convention."""
    path = write_input(bold, affine, folder / "bold.nii", repetition_time=tr)
    outputs = outputs_of(realign(path), folder)
    return np.loadtxt(only(outputs.realignment_parameters))


# SPM brings its own tissue probability maps, so the sentence names no template of ours.
@program("normalise", "the unified segmentation of SPM")
def normalise(
    folder: Path, t1w: Floats, affine: Floats, template: Floats, template_affine: Floats
) -> Normalisation:
    """Register a T1w brain to SPM's own tissue probability maps; the template is not used."""
    del template, template_affine
    path = write_input(t1w, affine, folder / "brain.nii")
    field = read_output(outputs_of(segment(path), folder).forward_deformation_field)
    return map_from_positions(field.data, field.affine)


def slice_timing(bold: Path, tr: float, slice_times: Floats, reference: float) -> Any:
    """SPM's slice timing by slice times, in milliseconds, instead of a slice order."""
    return spm.SliceTiming(
        in_files=str(bold),
        num_slices=len(slice_times),
        time_repetition=tr,
        time_acquisition=0.0,
        slice_order=(1000 * slice_times).tolist(),
        ref_slice=1000 * reference,
    )


def realign(bold: Path) -> Any:
    """SPM's realignment with DPARSF's settings, estimate only."""
    return spm.Realign(
        in_files=str(bold),
        quality=0.9,
        separation=4,
        fwhm=5,
        register_to_mean=True,
        interp=2,
        jobtype="estimate",
    )


def segment(t1w: Path) -> Any:
    """SPM's unified segmentation, for its deformation from template to T1w."""
    return spm.NewSegment(channel_files=str(t1w), write_deformation_fields=[False, True])


def map_from_positions(field: Floats, affine: Floats) -> Normalisation:
    """Make the map from SPM's ``y_`` image (x, y, z, 1, 3): T1w positions at template voxels."""
    n_x, n_y, n_z = field.shape[:3]
    grid = Grid((n_x, n_y, n_z), affine)
    return Normalisation.from_displacement(field.reshape(-1, 3) - grid.points().T, grid)
