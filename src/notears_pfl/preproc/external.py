"""Steps done by SPM, FSL, AFNI, ANTs or deepbet: arrays to files, the program, files to arrays.

Past ``engine`` and ``folder``, each function has the signature of our own step.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from notears_pfl.errors import ConfigError, PflError, SignalError
from notears_pfl.io.images import Image, read_image, write_image
from notears_pfl.io.machine import machine_error
from notears_pfl.preproc import deepbet
from notears_pfl.preproc.anatomical import AnatomicalSteps
from notears_pfl.preproc.coregister import Coregistration
from notears_pfl.preproc.engines import Interface, engine_for, field_ants
from notears_pfl.preproc.functional import FunctionalSteps
from notears_pfl.preproc.options import CoregisterOptions, NormaliseOptions, RealignOptions
from notears_pfl.preproc.realign import Motion
from notears_pfl.preproc.resample import Grid
from notears_pfl.preproc.rigid import Floats, rigid_parameters
from notears_pfl.preproc.tissues import TissueModel
from notears_pfl.preproc.warp import Normalisation

Steps = Mapping[str, Callable[..., Any]]
# How nipype says that a program is not installed.
NO_COMMAND = 'No command "'
# Characters of a program's last words in a message; the log has them all.
MOST_TOLD = 300


@contextlib.contextmanager
def program_of(step: str) -> Iterator[None]:
    """Distinguish a program that fails a subject from one that is not here or was stopped.

    The first marks the subject; without a program, memory or space on the disk the job fails.
    """
    try:
        yield
    except PflError:
        raise
    except (MemoryError, OSError, RuntimeError, ValueError) as error:
        if blamed := machine_error(error, f"The program of preproc.engine.{step}", "run"):
            raise blamed from error
        told = " ".join(str(error).split())
        if told.startswith(NO_COMMAND):
            msg = (
                f"preproc.engine.{step} asks for a program that is not here. {told} Then run "
                "again, or set the engine to own."
            )
            raise ConfigError(msg) from error
        msg = (
            f"The program of preproc.engine.{step} failed: … {told[-MOST_TOLD:]} Look at the "
            "rule's log, and leave this subject out or choose another engine."
        )
        raise SignalError(msg) from error


@program_of("bias")
def correct_bias(engine: str, folder: Path, t1w: Floats, affine: Floats) -> Floats:
    """Even out the intensity of a T1w image."""
    write_image(t1w, affine, folder / "t1w.nii")
    outputs = _run(engine_for("bias", engine)(folder / "t1w.nii"), folder)
    return np.asarray(_result(outputs.output_image).data, dtype=np.float32)


@program_of("brain")
def find_brain(engine: str, folder: Path, t1w: Floats, affine: Floats) -> NDArray[np.bool_]:
    """Extract the brain of a T1w image."""
    if engine == "deepbet":
        return deepbet.find_brain(t1w, affine)
    write_image(t1w, affine, folder / "t1w.nii")
    outputs = _run(engine_for("brain", engine)(folder / "t1w.nii"), folder)
    return np.asarray(_result(outputs.mask_file).data > 0)


@program_of("tissues")
def find_tissues(
    engine: str,
    folder: Path,
    brain: Floats,
    affine: Floats,
    inside: NDArray[np.bool_],
    model: TissueModel,
    priors: Floats,
) -> Floats:
    """Tell tissues apart in ``brain`` (x, y, z); ``model`` and ``priors`` are our own engine's."""
    del model, priors
    image, mask = folder / "tissue_brain.nii", folder / "tissue_mask.nii"
    write_image(np.asarray(brain, np.float32), affine, image)
    write_image(inside, affine, mask)
    outputs = _run(engine_for("tissues", engine)(image, mask), folder)
    files = outputs.posteriors if engine == "ants" else outputs.partial_volume_files
    return np.stack([_result(path).data[inside] for path in sorted(files)])


@program_of("normalise")
def normalise(
    engine: str,
    folder: Path,
    t1w: Floats,
    affine: Floats,
    template: Floats,
    template_affine: Floats,
    options: NormaliseOptions,
) -> Normalisation:
    """Register a T1w brain to the template; ``options`` are those of our own engine alone."""
    del options
    brain, target = folder / "brain.nii", folder / "template.nii"
    write_image(np.asarray(t1w, np.float32), affine, brain)
    write_image(np.asarray(template, np.float32), template_affine, target)
    outputs = _run(engine_for("normalise", engine)(brain, target), folder)
    if engine == "spm":
        field = _result(_one(outputs.forward_deformation_field))
        return map_from_positions(field.data, field.affine)
    return _ants_map(outputs, brain, target, folder)


@program_of("slice_timing")
def correct_slice_timing(
    engine: str, folder: Path, bold: Floats, affine: Floats, times: Floats, tr: float, _: float
) -> Floats:
    """Shift slices to the one acquired mid-way."""
    path = folder / "bold.nii"
    write_image(np.asarray(bold, np.float32), affine, path, repetition_time=tr)
    outputs = _run(engine_for("slice_timing", engine)(path, tr, times), folder)
    name = "timecorrected_files" if engine == "spm" else "out_file"
    return np.asarray(_result(_one(getattr(outputs, name))).data, dtype=np.float32)


@program_of("realign")
def estimate_motion(
    engine: str, folder: Path, bold: Floats, affine: Floats, tr: float, options: RealignOptions
) -> Motion:
    """Estimate head motion; ``options`` are those of our own engine alone."""
    del options
    path = folder / "bold.nii"
    write_image(np.asarray(bold, np.float32), affine, path, repetition_time=tr)
    outputs = _run(engine_for("realign", engine)(path), folder)
    if engine == "spm":
        parameters: Floats = np.loadtxt(_one(outputs.realignment_parameters))
    else:
        n_x, n_y, n_z, _ = bold.shape
        grid = Grid((n_x, n_y, n_z), affine)
        matrices = [world_from_fsl(np.loadtxt(m), grid, grid) for m in outputs.mat_file]
        parameters = rigid_parameters(np.stack(matrices))
    return Motion(parameters, np.ones(len(parameters), dtype=bool))


@program_of("coregister")
def coregister(
    engine: str,
    folder: Path,
    mean_bold: Floats,
    affine: Floats,
    tissues: Floats,
    grid: Grid,
    options: CoregisterOptions,
) -> Coregistration:
    """Register the mean BOLD image to the tissues, at the usual contrast of a T1w image."""
    del options
    bold, brain = folder / "mean_bold.nii", folder / "tissues.nii"
    contrast = np.tensordot([0.3, 0.65, 1.0], tissues, axes=1)
    write_image(np.asarray(mean_bold, np.float32), affine, bold)
    write_image(contrast.astype(np.float32), grid.affine, brain)
    outputs = _run(engine_for("coregister", engine)(bold, brain), folder)
    if engine == "ants":
        to_bold = _ants_map(outputs, bold, brain, folder).affine
        return Coregistration(to_bold, explained=None, converged=True)
    n_x, n_y, n_z = mean_bold.shape
    moving = Grid((n_x, n_y, n_z), affine)
    to_t1w = world_from_fsl(np.loadtxt(outputs.out_matrix_file), moving, grid)
    return Coregistration(np.linalg.inv(to_t1w), explained=None, converged=True)


def anatomical_steps(engine: Mapping[str, str], folder: Path) -> AnatomicalSteps:
    """Put together the anatomical steps that the settings under ``preproc.engine`` ask for."""
    functions: Steps = {
        "bias": correct_bias,
        "brain": find_brain,
        "tissues": find_tissues,
        "normalise": normalise,
    }
    return AnatomicalSteps(**_chosen(functions, engine, folder))


def functional_steps(engine: Mapping[str, str], folder: Path) -> FunctionalSteps:
    """Put together the functional steps that the settings under ``preproc.engine`` ask for."""
    functions: Steps = {
        "slice_timing": correct_slice_timing,
        "realign": estimate_motion,
        "coregister": coregister,
    }
    return FunctionalSteps(**_chosen(functions, engine, folder))


def world_from_fsl(matrix: Floats, moving: Grid, reference: Grid) -> Floats:
    """World matrix, moving to reference, of FSL's between scaled voxels.

    FSL counts millimetres from the corner of the image, along x from the other end where the
    affine's determinant is positive.
    """
    return np.asarray(
        reference.affine
        @ np.linalg.inv(_fsl_scaling(reference))
        @ matrix
        @ _fsl_scaling(moving)
        @ np.linalg.inv(moving.affine)
    )


def map_from_positions(field: Floats, affine: Floats) -> Normalisation:
    """Make the map of SPM's ``y_`` image (x, y, z, 1, 3): T1w positions at template voxels."""
    n_x, n_y, n_z = field.shape[:3]
    grid = Grid((n_x, n_y, n_z), affine)
    displacement = field.reshape(-1, 3) - grid.points().T
    return Normalisation(
        displacement.reshape(n_x, n_y, n_z, 3).astype(np.float32),
        grid,
        _best_affine(grid, displacement),
    )


def map_from_lps(field: Floats, affine: Floats) -> Normalisation:
    """Make the map of ITK's field (x, y, z, 1, 3): displacements, x and y counted backwards."""
    n_x, n_y, n_z = field.shape[:3]
    grid = Grid((n_x, n_y, n_z), affine)
    displacement = field.reshape(-1, 3) * np.array([-1.0, -1.0, 1.0])
    return Normalisation(
        displacement.reshape(n_x, n_y, n_z, 3).astype(np.float32),
        grid,
        _best_affine(grid, displacement),
    )


def _best_affine(grid: Grid, displacement: Floats) -> Floats:
    """Affine (4, 4) nearest to a map, over the voxels where it is finite."""
    finite = np.isfinite(displacement).all(axis=1)
    points = grid.points().T[finite]
    design = np.column_stack([points, np.ones(len(points))])
    rows = np.linalg.lstsq(design, points + displacement[finite], rcond=None)[0].T
    return np.vstack([rows, [0, 0, 0, 1]])


def _fsl_scaling(grid: Grid) -> Floats:
    scaling = np.diag([*grid.voxel_mm, 1.0])
    if np.linalg.det(grid.affine[:3, :3]) > 0:
        scaling[0] = [-grid.voxel_mm[0], 0, 0, (grid.shape[0] - 1) * grid.voxel_mm[0]]
    return scaling


def _chosen(functions: Steps, engine: Mapping[str, str], folder: Path) -> dict[str, Any]:
    """Pick the functions of the steps that are not left to our own engine, by their names."""
    return {
        function.__name__: partial(function, engine[step], folder)
        for step, function in functions.items()
        if engine[step] != "own"
    }


def _ants_map(outputs: Any, moving: Path, fixed: Path, folder: Path) -> Normalisation:
    """Map from fixed to moving coordinates of the transforms that ANTs found."""
    composed = _run(field_ants(moving, fixed, outputs.forward_transforms[::-1]), folder)
    field = _result(composed.output_image)
    return map_from_lps(field.data, field.affine)


def _result(path: str | Path) -> Image:
    """Read an image that a program was to write; without it the program failed, not the disk."""
    if not Path(path).is_file():
        msg = f"{path} was not written."
        raise FileNotFoundError(msg)
    return read_image(path)


def _run(interface: Interface, folder: Path) -> Any:
    return interface.run(cwd=str(folder)).outputs


def _one(path: Any) -> Any:
    """Unwrap SPM's lists of one file."""
    return path[0] if isinstance(path, list) else path
