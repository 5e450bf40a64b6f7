"""FSL: BET, FAST, MCFLIRT and FLIRT."""

from pathlib import Path
from typing import Any

import numpy as np
from nipype.interfaces import fsl
from numpy.typing import NDArray

from notears_pfl.geometry import Floats, rigid_parameters
from notears_pfl.preproc.engines.program import (
    outputs_of,
    program,
    read_output,
    write_input,
    write_registration_inputs,
)
from notears_pfl.preproc.resample import Grid

NIFTI = "NIFTI"


@program("brain", "BET of FSL")
def find_brain(folder: Path, t1w: Floats, affine: Floats) -> NDArray[np.bool_]:
    """Brain mask of a T1w image."""
    path = write_input(t1w, affine, folder / "t1w.nii")
    return np.asarray(read_output(outputs_of(bet(path), folder).mask_file).data > 0)


@program("tissues", "FAST of FSL")
def find_tissues(folder: Path, brain: Floats, affine: Floats, inside: NDArray[np.bool_]) -> Floats:
    """Tissue probabilities (3, n) of the voxels ``inside`` (x, y, z) of a ``brain``."""
    path = write_input(brain, affine, folder / "tissue_brain.nii")
    files = outputs_of(fast(path), folder).partial_volume_files
    return np.stack([read_output(file).data[inside] for file in sorted(files)])


@program("realign", "MCFLIRT of FSL")
def estimate_motion(folder: Path, bold: Floats, affine: Floats, tr: float) -> Floats:
    """Motion parameters (volumes, 6) from one matrix per volume."""
    path = write_input(bold, affine, folder / "bold.nii", repetition_time=tr)
    n_x, n_y, n_z, _ = bold.shape
    grid = Grid((n_x, n_y, n_z), affine)
    files = outputs_of(mcflirt(path), folder).mat_file
    return rigid_parameters(np.stack([world_from_fsl(np.loadtxt(f), grid, grid) for f in files]))


@program("coregister", "FLIRT of FSL")
def coregister(
    folder: Path, mean_bold: Floats, affine: Floats, tissues: Floats, grid: Grid
) -> Floats:
    """Matrix (4, 4) from T1w to BOLD coordinates."""
    bold, brain = write_registration_inputs(folder, mean_bold, affine, tissues, grid.affine)
    outputs = outputs_of(flirt(bold, brain), folder)
    n_x, n_y, n_z = mean_bold.shape
    moving = Grid((n_x, n_y, n_z), affine)
    to_t1w = world_from_fsl(np.loadtxt(outputs.out_matrix_file), moving, grid)
    return np.linalg.inv(to_t1w)


def bet(t1w: Path) -> Any:
    """FSL's brain extraction with robust centre, with a mask."""
    return fsl.BET(in_file=str(t1w), mask=True, robust=True, output_type=NIFTI)


def fast(brain: Path) -> Any:
    """FSL's segmentation of a brain into three tissues, darkest first."""
    return fsl.FAST(
        in_files=str(brain), img_type=1, number_classes=3, no_bias=True, output_type=NIFTI
    )


def mcflirt(bold: Path) -> Any:
    """FSL's motion correction to the first volume, with one matrix per volume."""
    return fsl.MCFLIRT(in_file=str(bold), ref_vol=0, save_mats=True, output_type=NIFTI)


def flirt(mean_bold: Path, t1w_brain: Path) -> Any:
    """FSL's rigid registration of the mean BOLD image to the T1w brain."""
    return fsl.FLIRT(
        in_file=str(mean_bold),
        reference=str(t1w_brain),
        dof=6,
        cost="corratio",
        out_matrix_file="bold_to_t1w.mat",
        output_type=NIFTI,
    )


def world_from_fsl(matrix: Floats, moving: Grid, reference: Grid) -> Floats:
    """World matrix, moving to reference, from FSL's matrix between scaled voxels.

    FSL measures millimetres from the corner of the image; where the affine's determinant is
    positive, x runs from the other end.
    """
    return np.asarray(
        reference.affine
        @ np.linalg.inv(_fsl_scaling(reference))
        @ matrix
        @ _fsl_scaling(moving)
        @ np.linalg.inv(moving.affine)
    )


def _fsl_scaling(grid: Grid) -> Floats:
    scaling = np.diag([*grid.voxel_mm, 1.0])
    if np.linalg.det(grid.affine[:3, :3]) > 0:
        scaling[0] = [-grid.voxel_mm[0], 0, 0, (grid.shape[0] - 1) * grid.voxel_mm[0]]
    return scaling
