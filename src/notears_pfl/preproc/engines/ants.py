"""ANTs: N4, Atropos, rigid registration and SyN."""

from pathlib import Path
from typing import Any

import numpy as np
from nipype.interfaces import ants
from numpy.typing import NDArray

from notears_pfl.geometry import Floats
from notears_pfl.io.images import write_image
from notears_pfl.preproc.engines.program import (
    outputs_of,
    program,
    read_output,
    write_input,
    write_registration_inputs,
)
from notears_pfl.preproc.resample import Grid, Normalisation


@program("bias", "N4 of ANTs")
def correct_bias(folder: Path, t1w: Floats, affine: Floats) -> Floats:
    """T1w image without its bias field."""
    path = write_input(t1w, affine, folder / "t1w.nii")
    outputs = outputs_of(n4(path), folder)
    return np.asarray(read_output(outputs.output_image).data, dtype=np.float32)


@program("tissues", "Atropos of ANTs")
def find_tissues(folder: Path, brain: Floats, affine: Floats, inside: NDArray[np.bool_]) -> Floats:
    """Tissue probabilities (3, n) of the voxels ``inside`` (x, y, z) of a ``brain``."""
    path = write_input(brain, affine, folder / "tissue_brain.nii")
    mask = folder / "tissue_mask.nii"
    write_image(inside, affine, mask)
    files = outputs_of(atropos(path, mask), folder).posteriors
    return np.stack([read_output(file).data[inside] for file in sorted(files)])


@program("normalise", "SyN of ANTs on the ICBM 2009a template")
def normalise(
    folder: Path, t1w: Floats, affine: Floats, template: Floats, template_affine: Floats
) -> Normalisation:
    """Register a T1w brain to the template."""
    brain = write_input(t1w, affine, folder / "brain.nii")
    target = write_input(template, template_affine, folder / "template.nii")
    return _found_map(outputs_of(syn(brain, target), folder), brain, target, folder)


@program("coregister", "ANTs")
def coregister(
    folder: Path, mean_bold: Floats, affine: Floats, tissues: Floats, grid: Grid
) -> Floats:
    """Matrix (4, 4) from T1w to BOLD coordinates."""
    bold, brain = write_registration_inputs(folder, mean_bold, affine, tissues, grid.affine)
    return _found_map(outputs_of(rigid(bold, brain), folder), bold, brain, folder).affine


def n4(t1w: Path) -> Any:
    """ANTs' bias field correction."""
    return ants.N4BiasFieldCorrection(input_image=str(t1w), dimension=3, shrink_factor=4)


def atropos(brain: Path, mask: Path) -> Any:
    """ANTs' segmentation of a brain into three tissues, darkest first."""
    return ants.Atropos(
        dimension=3,
        intensity_images=[str(brain)],
        mask_image=str(mask),
        initialization="KMeans",
        number_of_tissue_classes=3,
        likelihood_model="Gaussian",
        mrf_smoothing_factor=0.1,
        mrf_radius=[1, 1, 1],
        n_iterations=25,
        convergence_threshold=1e-4,
        posterior_formulation="Socrates",
        use_mixture_model_proportions=True,
        use_random_seed=False,
        save_posteriors=True,
        output_posteriors_name_template="tissue_%02d.nii",
        out_classified_image_name="tissues.nii",
    )


def rigid(mean_bold: Path, t1w_brain: Path) -> Any:
    """ANTs' rigid registration of the mean BOLD image to the T1w brain."""
    return ants.Registration(
        fixed_image=str(t1w_brain),
        moving_image=str(mean_bold),
        dimension=3,
        transforms=["Rigid"],
        transform_parameters=[(0.1,)],
        metric=["MI"],
        metric_weight=[1.0],
        radius_or_number_of_bins=[32],
        sampling_strategy=["Regular"],
        sampling_percentage=[0.25],
        number_of_iterations=[[1000, 500, 250]],
        convergence_threshold=[1e-6],
        convergence_window_size=[10],
        shrink_factors=[[4, 2, 1]],
        smoothing_sigmas=[[2.0, 1.0, 0.0]],
        sigma_units=["vox"],
        initial_moving_transform_com=1,
        output_transform_prefix="bold_to_t1w_",
        random_seed=1,
    )


def syn(t1w_brain: Path, template: Path) -> Any:
    """ANTs' registration of T1w brain to template brain: rigid, affine, diffeomorphic."""
    return ants.Registration(
        fixed_image=str(template),
        moving_image=str(t1w_brain),
        dimension=3,
        transforms=["Rigid", "Affine", "SyN"],
        transform_parameters=[(0.1,), (0.1,), (0.1, 3.0, 0.0)],
        metric=["MI", "MI", "CC"],
        metric_weight=[1.0] * 3,
        radius_or_number_of_bins=[32, 32, 4],
        sampling_strategy=["Regular", "Regular", "None"],
        sampling_percentage=[0.25, 0.25, 1.0],
        number_of_iterations=[[1000, 500, 250], [1000, 500, 250], [70, 50, 20]],
        convergence_threshold=[1e-6] * 3,
        convergence_window_size=[10] * 3,
        shrink_factors=[[4, 2, 1]] * 3,
        smoothing_sigmas=[[2.0, 1.0, 0.0]] * 3,
        sigma_units=["vox"] * 3,
        initial_moving_transform_com=1,
        output_transform_prefix="to_template_",
        random_seed=1,
    )


def composed(moving: Path, fixed: Path, transforms: list[str]) -> Any:
    """ANTs' composition of transforms into one field of displacements from fixed to moving."""
    return ants.ApplyTransforms(
        dimension=3,
        input_image=str(moving),
        reference_image=str(fixed),
        transforms=transforms,
        print_out_composite_warp_file=True,
        output_image="to_moving_field.nii",
    )


def map_from_lps(field: Floats, affine: Floats) -> Normalisation:
    """Make the map from ITK's field (x, y, z, 1, 3) of displacements, in which x and y run back."""
    n_x, n_y, n_z = field.shape[:3]
    displacement = field.reshape(-1, 3) * np.array([-1.0, -1.0, 1.0])
    return Normalisation.from_displacement(displacement, Grid((n_x, n_y, n_z), affine))


def _found_map(outputs: Any, moving: Path, fixed: Path, folder: Path) -> Normalisation:
    """Map from fixed to moving coordinates, from the transforms that ANTs found."""
    transforms = composed(moving, fixed, outputs.forward_transforms[::-1])
    field = read_output(outputs_of(transforms, folder).output_image)
    return map_from_lps(field.data, field.affine)
