"""What was done, one plain sentence per step, for the methods section of a paper."""

from collections.abc import Mapping
from typing import Any

from notears_pfl.preproc.options import (
    FRISTON_24,
    MOTION,
    CleanOptions,
    FunctionalOptions,
    NormaliseOptions,
    SmoothOptions,
)

# A model of head motion in words, by its number of regressors.
MOTION_WORDS = {
    0: [],
    len(MOTION): ["the six parameters of head motion"],
    len(FRISTON_24): ["the Friston 24 of head motion"],
}
NOT_SHIFTED = "Slice timing was not corrected."
# What a step does, and the names of the programs that may do it in our stead.
PROGRAMS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "bias": ("The T1w image was corrected for intensity bias", {"ants": "N4 of ANTs"}),
    "brain": (
        "The brain was extracted from the T1w image",
        {"fsl": "BET of FSL", "deepbet": "deepbet"},
    ),
    "tissues": (
        "Cerebrospinal fluid, grey and white matter were told apart",
        {"fsl": "FAST of FSL", "ants": "Atropos of ANTs"},
    ),
    "normalise": (
        "The brain was registered to MNI space",
        {
            "ants": "SyN of ANTs on the ICBM 2009a template",
            # SPM brings its own tissue maps.
            "spm": "the unified segmentation of SPM",
        },
    ),
    "slice_timing": (
        "Slices were shifted in time to the slice acquired mid-way",
        {"spm": "SPM", "afni": "3dTshift of AFNI"},
    ),
    "realign": ("Head motion was estimated", {"spm": "SPM", "fsl": "MCFLIRT of FSL"}),
    "coregister": (
        "The mean BOLD image was registered rigidly to the T1w image's tissues",
        {"fsl": "FLIRT of FSL", "ants": "ANTs"},
    ),
}


def with_programs(sentences: Mapping[str, str], engine: Mapping[str, str]) -> dict[str, str]:
    """Let the sentences on steps that another program did name that program.

    What our own sentence says of the step before its "by" holds for the program too.
    """
    told = dict(sentences)
    for step, name in engine.items():
        if name != "own" and told.get(step) != NOT_SHIFTED:
            what, programs = PROGRAMS[step]
            ours = told.get(step, "").partition(" by ")[0].rstrip(".")
            told[step] = f"{ours if ours.startswith(what) else what} by {programs[name]}."
    return told


def anatomical_methods(
    options: NormaliseOptions, already_stripped: bool, background_was_nan: bool = False
) -> dict[str, str]:
    """Sentences on the T1w image, where every step is our own."""
    as_it_is = "as it is" if not background_was_nan else "with zero for its missing background"
    brain = (
        f"The T1w image came without skull and was used {as_it_is}."
        if already_stripped
        else "The brain was extracted from the T1w image by thresholding and morphology."
    )
    return {
        "brain": brain,
        "tissues": (
            "Intensity bias and the shares of cerebrospinal fluid, grey and white matter were "
            "estimated together by expectation maximisation."
        ),
        "normalise": (
            "The brain was registered to the ICBM 2009a MNI152 template by an affine and then a "
            "diffeomorphic transformation (greedy, local normalised cross-correlation with a "
            f"radius of {options.radius} voxels)."
        ),
    }


def functional_methods(
    options: FunctionalOptions,
    smoothing: SmoothOptions,
    figures: Mapping[str, Any],
    atlas: str,
) -> dict[str, str]:
    """Sentences on the BOLD run, up to the raw ROI series; ``figures`` are those of the run."""
    voxel_mm, reference_time = figures["voxel_mm"], figures["slice_reference_time"]
    shifted = reference_time is not None
    on_raw = options.motion_from == "raw" or not shifted
    basis = "the volumes as acquired" if on_raw else "the slice-timed volumes"
    sentences = {
        "drop_volumes": f"The first {options.drop_volumes} volumes were left out.",
        "slice_timing": (
            "Slices were shifted in time to the slice acquired mid-way, "
            f"{reference_time:.4g} s after the start of each volume, by Fourier interpolation."
            if shifted
            else NOT_SHIFTED
        ),
        "realign": (
            f"Head motion was estimated on {basis} by rigid least squares, first to the first "
            "volume and then to the mean."
        ),
        "coregister": "The mean BOLD image was registered rigidly to the T1w image's tissues.",
        "resample": (
            "Motion correction, registration and normalisation were applied in one interpolation "
            f"(B-spline of order {options.resample.order}) at {voxel_mm:g} mm."
        ),
        **roi_methods(smoothing, voxel_mm, atlas),
    }
    return sentences


def roi_methods(smoothing: SmoothOptions, voxel_mm: float, atlas: str) -> dict[str, str]:
    """Sentences on smoothing and on the means over regions."""
    effective = smoothing.effective_fwhm_mm(voxel_mm)
    return {
        "smooth": (
            "Data were not smoothed."
            if smoothing.fwhm_mm == 0
            else f"Data were smoothed with a Gaussian of {smoothing.fwhm_mm:g} mm FWHM "
            f"({smoothing.kernel} kernel, effectively {effective:.3g} mm)."
        ),
        "roi": f"Signals were averaged over the voxels of each region ({atlas}).",
    }


def clean_methods(options: CleanOptions, confounds: list[str]) -> dict[str, str]:
    """Sentences on the cleaning of the ROI series."""
    named = f"{len(confounds)} nuisance regressors ({_summary(confounds)})"
    band = f"{options.low_hz:g} to {options.high_hz:g} Hz"
    if options.order == "simultaneous":
        return {
            "clean": (
                f"The linear trend, {named} and all frequencies outside {band} were removed in "
                "one regression."
            )
        }
    return {
        "detrend": "The linear trend of each series was removed.",
        "regress": f"The residuals of a regression on {named}, constant and trend were kept.",
        "filter": f"Residuals were band-passed to {band} by an ideal filter as in DPARSF.",
    }


def _summary(confounds: list[str]) -> str:
    motion = [name for name in FRISTON_24 if name in confounds]
    others = [name for name in confounds if name not in motion]
    return ", ".join([*MOTION_WORDS[len(motion)], *others]) or "none"
