"""AFNI: slice timing by 3dTshift."""

from pathlib import Path
from typing import Any

import numpy as np
from nipype.interfaces import afni

from notears_pfl.geometry import Floats
from notears_pfl.preproc.engines.program import outputs_of, program, read_output, write_input


@program("slice_timing", "3dTshift of AFNI")
def correct_slice_timing(
    folder: Path, bold: Floats, affine: Floats, slice_times: Floats, tr: float, reference: float
) -> Floats:
    """Shift slices to the time of the ``reference`` slice."""
    path = write_input(bold, affine, folder / "bold.nii", repetition_time=tr)
    outputs = outputs_of(tshift(path, tr, slice_times, reference), folder)
    return np.asarray(read_output(outputs.out_file).data, dtype=np.float32)


def tshift(bold: Path, tr: float, slice_times: Floats, reference: float) -> Any:
    """AFNI's slice timing by Fourier interpolation."""
    return afni.TShift(
        in_file=str(bold),
        tr=f"{tr:g}s",
        tzero=reference,
        slice_timing=slice_times.tolist(),
        slice_encoding_direction="k",
        interp="Fourier",
        outputtype="NIFTI",
    )
