"""The choice of engine: nipype's interfaces to SPM, FSL, AFNI and ANTs, set up as ours are.

``own`` is the default and needs none of this. The others run where the user has the program.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from nipype.interfaces import afni, ants, fsl, spm

from notears_pfl.errors import ConfigError
from notears_pfl.preproc.rigid import Floats
from notears_pfl.preproc.slice_timing import middle_slice_time

Interface = Any
NIFTI = "NIFTI"


def slice_timing_spm(bold: Path, tr: float, slice_times: Floats) -> Interface:
    """SPM's slice timing with times instead of an order, in milliseconds."""
    n_slices = len(slice_times)
    return spm.SliceTiming(
        in_files=str(bold),
        num_slices=n_slices,
        time_repetition=tr,
        time_acquisition=0.0,
        slice_order=(1000 * slice_times).tolist(),
        ref_slice=1000 * middle_slice_time(slice_times),
    )


def slice_timing_afni(bold: Path, tr: float, slice_times: Floats) -> Interface:
    """AFNI's slice timing by Fourier interpolation."""
    return afni.TShift(
        in_file=str(bold),
        tr=f"{tr:g}s",
        tzero=middle_slice_time(slice_times),
        slice_timing=slice_times.tolist(),
        slice_encoding_direction="k",
        interp="Fourier",
        outputtype=NIFTI,
    )


def realign_spm(bold: Path) -> Interface:
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


def realign_fsl(bold: Path) -> Interface:
    """FSL's motion correction to the first volume, one matrix per volume."""
    return fsl.MCFLIRT(in_file=str(bold), ref_vol=0, save_mats=True, output_type=NIFTI)


def brain_fsl(t1w: Path) -> Interface:
    """FSL's brain extraction with robust centre, mask wanted."""
    return fsl.BET(in_file=str(t1w), mask=True, robust=True, output_type=NIFTI)


def tissues_fsl(brain: Path, mask: Path) -> Interface:
    """Segment a brain into three tissues by FSL's FAST, darkest first."""
    del mask  # FAST takes what is not zero
    return fsl.FAST(
        in_files=str(brain), img_type=1, number_classes=3, no_bias=True, output_type=NIFTI
    )


def tissues_ants(brain: Path, mask: Path) -> Interface:
    """Segment a brain into three tissues by ANTs' Atropos, darkest first."""
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


def bias_ants(t1w: Path) -> Interface:
    """N4 of ANTs."""
    return ants.N4BiasFieldCorrection(input_image=str(t1w), dimension=3, shrink_factor=4)


def coregister_fsl(mean_bold: Path, t1w_brain: Path) -> Interface:
    """FSL's rigid registration of the mean BOLD image to the T1w brain."""
    return fsl.FLIRT(
        in_file=str(mean_bold),
        reference=str(t1w_brain),
        dof=6,
        cost="corratio",
        out_matrix_file="bold_to_t1w.mat",
        output_type=NIFTI,
    )


def coregister_ants(mean_bold: Path, t1w_brain: Path) -> Interface:
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


def field_ants(moving: Path, fixed: Path, transforms: list[str]) -> Interface:
    """Compose ANTs' transforms into one field, displacements from fixed to moving."""
    return ants.ApplyTransforms(
        dimension=3,
        input_image=str(moving),
        reference_image=str(fixed),
        transforms=transforms,
        print_out_composite_warp_file=True,
        output_image="to_moving_field.nii",
    )


def normalise_ants(t1w_brain: Path, template: Path) -> Interface:
    """ANTs SyN from T1w brain to template brain: rigid, affine, diffeomorphic."""
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


def normalise_spm(t1w: Path, template: Path) -> Interface:
    """SPM's unified segmentation, for its deformation from template to T1w."""
    del template  # SPM brings its own tissue maps
    return spm.NewSegment(channel_files=str(t1w), write_deformation_fields=[False, True])


ENGINES: Mapping[str, Mapping[str, Callable[..., Interface]]] = {
    "slice_timing": {"spm": slice_timing_spm, "afni": slice_timing_afni},
    "realign": {"spm": realign_spm, "fsl": realign_fsl},
    "brain": {"fsl": brain_fsl},
    "bias": {"ants": bias_ants},
    "tissues": {"fsl": tissues_fsl, "ants": tissues_ants},
    "coregister": {"fsl": coregister_fsl, "ants": coregister_ants},
    "normalise": {"ants": normalise_ants, "spm": normalise_spm},
}


def engine_for(step: str, engine: str) -> Callable[..., Interface]:
    """Give the maker of the interface for ``step``, or say which engines there are."""
    known = ENGINES[step]
    if engine not in known:
        msg = f"preproc.engine.{step} is {engine!r}. Choose one of own, {', '.join(known)}."
        raise ConfigError(msg)
    return known[engine]
