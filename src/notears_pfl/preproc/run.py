"""The BOLD run of a subject: from raw volumes to signals in MNI space."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.ndimage import binary_erosion

from notears_pfl.errors import SignalError
from notears_pfl.geometry import SPM_SPACE, TEMPLATE_SPACE, Floats, transform
from notears_pfl.io.failures import naming
from notears_pfl.io.images import read_image
from notears_pfl.io.sidecars import check_header, read_timing
from notears_pfl.preproc.coregister import (
    CoregisterOptions,
    Coregistration,
    boundary_agreement,
    check_agreement,
    coregister,
    coregister_sentence,
)
from notears_pfl.preproc.engines.program import programs_for
from notears_pfl.preproc.noise import compcor, count_non_steady
from notears_pfl.preproc.realign import (
    Motion,
    RealignOptions,
    check_motion,
    displacement_jenkinson,
    displacement_power,
    estimate_motion,
    realign_sentence,
)
from notears_pfl.preproc.resample import (
    Grid,
    Normalisation,
    ResampleOptions,
    grid_for,
    resample_sentence,
    sample_moving_volumes,
    sample_volume,
)
from notears_pfl.preproc.slice_timing import (
    correct_slice_timing,
    middle_slice_time,
    slice_timing_sentence,
)
from notears_pfl.preproc.smooth import SmoothOptions, brain_on, smooth_sentence, smoother
from notears_pfl.preproc.style import styled
from notears_pfl.preproc.volumes import (
    SeenVoxels,
    check_volumes,
    drop_sentence,
    drop_volumes,
    dvars_percent,
    non_steady_figures,
    run_figures,
    seen_voxels,
    standardised_dvars,
)

# Programs that can do a step in place of our own code, by the setting's value.
FUNCTIONAL_PROGRAMS = {
    "slice_timing": {
        "spm": "notears_pfl.preproc.engines.spm.correct_slice_timing",
        "afni": "notears_pfl.preproc.engines.afni.correct_slice_timing",
    },
    "realign": {
        "spm": "notears_pfl.preproc.engines.spm.estimate_motion",
        "fsl": "notears_pfl.preproc.engines.fsl.estimate_motion",
    },
    "coregister": {
        "fsl": "notears_pfl.preproc.engines.fsl.coregister",
        "ants": "notears_pfl.preproc.engines.ants.coregister",
    },
}
# This many evenly spaced volumes make the mean image that is registered to the T1w image.
N_AVERAGED = 24
# Smallest tissue probability of the voxels behind mean tissue signals.
PURE = 0.95


@dataclass(frozen=True)
class RunOptions:
    """How a run is processed, up to signals in MNI space.

    The fields are keys of ``preproc``, except ``realign`` and ``coregister``.
    """

    drop_volumes: int = 10
    slice_timing: bool = True
    motion_from: Literal["slice_timed", "raw"] = "raw"
    realign: RealignOptions = field(default_factory=RealignOptions)
    coregister: CoregisterOptions = field(default_factory=CoregisterOptions)
    resample: ResampleOptions = field(default_factory=ResampleOptions)


def run_options(settings: Mapping[str, Any]) -> RunOptions:
    """Options of a run from the settings under ``preproc``."""
    return RunOptions(
        drop_volumes=settings["drop_volumes"],
        slice_timing=settings["slice_timing"],
        motion_from=styled(settings, settings["motion_from"], "motion_from"),
        resample=ResampleOptions(**settings["resample"]),
    )


@dataclass(frozen=True)
class Run(SeenVoxels):
    """A run on a ``grid`` in MNI space, unsmoothed.

    ``tissues`` (3, x, y, z) are the subject's cerebrospinal fluid, grey and white matter. ``mean``
    (x, y, z) is the mean image in BOLD space, ``affine`` its affine and ``centre_mm`` the centre of
    its field of view. ``n_non_steady`` volumes came before the steady state.
    """

    tissues: NDArray[np.float32]
    grid: Grid
    motion: Motion
    coregistration: Coregistration
    mean: Floats
    affine: Floats
    centre_mm: Floats
    reference_time: float | None
    repetition_time: float
    n_non_steady: int
    n_dropped: int

    def volume(self, t: int) -> NDArray[np.float32]:
        """One volume on the whole grid; zero far from the brain."""
        filled = np.zeros(self.grid.shape, dtype=np.float32)
        filled[self.near] = self.series[t]
        return filled

    def smoothed(self, options: SmoothOptions) -> NDArray[np.float32]:
        """Smoothed signals (volumes, n) of the voxels near the brain that are covered."""
        inside = self.near & self.covered
        smooth = smoother(options, self.grid.voxel_mm)
        reach = np.maximum(smooth(self.covered), 1e-6)
        return np.stack([(smooth(self.volume(t)) / reach)[inside] for t in range(len(self.series))])

    def image(self, signals: Floats) -> NDArray[np.float32]:
        """Image (x, y, z, volumes) of signals such as those of ``smoothed``; zero elsewhere."""
        image = np.zeros((*self.grid.shape, len(signals)), dtype=np.float32)
        image[self.near & self.covered] = signals.T
        return image

    def tissue_signals(self) -> pd.DataFrame:
        """Mean signals and components of pure CSF and eroded white matter; that of the brain.

        NaN if there are no such voxels, or fewer than components.
        """
        fluid, _, white = (self.tissues > PURE) & self.covered
        masks = {"csf": fluid, "white_matter": binary_erosion(white)}
        voxels = {name: self.series[:, mask[self.near]] for name, mask in masks.items()}
        columns = {
            name: series.mean(axis=1, dtype=float) if series.size else np.full(len(series), np.nan)
            for name, series in voxels.items()
        }
        columns["global_signal"] = self.brain_series.mean(axis=1, dtype=float)
        return pd.DataFrame(columns).join(compcor(voxels, self.repetition_time))

    def volume_figures(self) -> pd.DataFrame:
        """Framewise displacement and DVARS of every volume."""
        motion = self.motion.parameters
        return pd.DataFrame(
            {
                "fd_power_mm": displacement_power(motion),
                "fd_jenkinson_mm": displacement_jenkinson(motion, self.centre_mm),
                "dvars_percent": dvars_percent(self.brain_series),
                "std_dvars": standardised_dvars(self.brain_series),
            }
        )

    def figures(self) -> dict[str, Any]:
        """Quality figures of the run."""
        return {
            "n_volumes": len(self.series),
            **non_steady_figures(self.n_non_steady, self.n_dropped),
            "slice_reference_time": self.reference_time,
            "voxel_mm": float(self.grid.voxel_mm[0]),
            **run_figures(self.volume_figures(), self.motion.parameters, self.brain_series),
            "motion_converged": bool(self.motion.converged.all()),
            "bold_t1w_agreement": self.coregistration.agreement,
            "bold_t1w_converged": self.coregistration.converged,
            "brain_coverage": self.brain_coverage,
        }


def preprocess_volumes(
    bold: Floats,
    affine: Floats,
    tr: float,
    slice_times: Floats | None,
    tissues: Floats,
    tissue_grid: Grid,
    normalisation: Normalisation,
    brain: tuple[Floats, Floats],
    options: RunOptions,
    programs: Mapping[str, Callable[..., Any]] | None = None,
) -> Run:
    """Bring the volumes ``bold`` (x, y, z, volumes) to MNI space in one interpolation.

    Parameters
    ----------
    slice_times : ndarray of shape (slices,), or None
        Seconds after the start of a volume; None skips slice timing.
    tissues, tissue_grid, normalisation
        From the T1w image.
    brain : pair of ndarray
        The template's brain mask (x, y, z) and its affine.
    programs : mapping, optional
        They do the steps of ``FUNCTIONAL_PROGRAMS`` in place of our own code.
    """
    programs = programs or {}
    check_volumes(bold, tr)
    raw = drop_volumes(bold, options.drop_volumes)
    reference_time, corrected = None, raw
    if options.slice_timing and slice_times is not None:
        reference_time = middle_slice_time(slice_times)
        corrected = (
            programs["slice_timing"](raw, affine, slice_times, tr, reference_time)
            if "slice_timing" in programs
            else correct_slice_timing(raw, slice_times, tr, reference_time)
        )
    estimated_on = raw if options.motion_from == "raw" else corrected
    motion = _motion(estimated_on, affine, tr, options.realign, programs.get("realign"))
    check_motion(motion, bold.shape)
    mean = _mean_volume(corrected, affine, motion)
    if "coregister" in programs:
        matrix = programs["coregister"](mean, affine, tissues, tissue_grid)
        agreement = boundary_agreement(mean, affine, tissues, tissue_grid, matrix)
        coregistration = Coregistration(matrix, agreement, converged=True)
    else:
        coregistration = coregister(mean, affine, tissues, tissue_grid, options.coregister)
    check_agreement(coregistration)

    grid = grid_for(affine, options.resample)
    inside, near = brain_on(grid, brain)
    in_t1w = normalisation.to_t1w(grid.points()[:, near.ravel()])
    in_bold = transform(coregistration.matrix, in_t1w)
    series, seen = sample_moving_volumes(
        corrected, affine, motion.parameters, in_bold, options.resample.order
    )
    voxels = seen_voxels(series, seen, near, inside)
    if not np.any(voxels.covered & inside):
        msg = (
            f"None of the {np.count_nonzero(inside)} voxels of the brain in MNI space is in the "
            f"field of view of all {bold.shape[3]} volumes. Look at the orientation and the motion "
            "of the run, or leave this subject out."
        )
        raise SignalError(msg)
    in_mni = np.zeros((3, *grid.shape), dtype=np.float32)
    for target, tissue in zip(in_mni, tissues, strict=True):
        target[near] = sample_volume(tissue, tissue_grid.affine, in_t1w, order=1)
    centre = transform(affine, (np.array(bold.shape[:3], dtype=float)[:, None] - 1) / 2)
    return Run(
        **vars(voxels),
        tissues=in_mni,
        grid=grid,
        motion=motion,
        coregistration=coregistration,
        mean=mean,
        affine=affine,
        centre_mm=centre[:, 0],
        reference_time=reference_time,
        repetition_time=tr,
        n_non_steady=count_non_steady(bold),
        n_dropped=options.drop_volumes,
    )


def preprocess_run(
    files: Mapping[str, str | Path], affine: Any, settings: Mapping[str, Any]
) -> tuple[Run, float]:
    """Read a run and bring it to MNI space; also return its repetition time.

    Parameters
    ----------
    files : mapping
        Paths of ``bold``, ``sidecar``, ``tissues``, ``xfm`` and ``brain``.
    affine : array-like of shape (4, 4)
        Affine part of the normalisation.
    settings : mapping
        The settings under ``preproc``.
    """
    timing = read_timing(files["sidecar"], slices=settings["slice_timing"])
    bold = read_image(files["bold"], oriented=True)
    check_header(bold.repetition_time, files["bold"], timing.repetition_time, files["sidecar"])
    tissues, tissue_grid = read_tissues(files["tissues"])
    xfm, brain = read_image(files["xfm"]), read_image(files["brain"])
    with (
        naming(files["bold"]),
        programs_for(settings["engine"], FUNCTIONAL_PROGRAMS) as programs,
    ):
        run = preprocess_volumes(
            bold.data,
            bold.affine,
            timing.repetition_time,
            timing.slice_times,
            tissues,
            tissue_grid,
            Normalisation.from_field(xfm.data, xfm.affine, affine),
            (brain.data, brain.affine),
            run_options(settings),
            programs,
        )
    return run, timing.repetition_time


def read_tissues(path: str | Path) -> tuple[Floats, Grid]:
    """Read the tissue probabilities (3, x, y, z) that the anatomical rule wrote, and their grid."""
    image = read_image(path)
    n_x, n_y, n_z, _ = image.data.shape
    shares = np.moveaxis(image.data, -1, 0) / np.float32(255)
    return shares, Grid((n_x, n_y, n_z), image.affine)


def normalised_space(program: str) -> str:
    """Space that the program of ``preproc.engine.normalise`` brings images to."""
    return SPM_SPACE if program == "spm" else TEMPLATE_SPACE


def run_methods(
    options: RunOptions,
    smoothing: SmoothOptions,
    figures: Mapping[str, Any],
    programs: Mapping[str, str],
) -> dict[str, str]:
    """Methods: the sentences on the run, up to smoothing.

    ``figures`` are those of the run, ``programs`` the names of those that did a step.
    """
    voxel_mm, reference_time = figures["voxel_mm"], figures["slice_reference_time"]
    on_slice_timed = options.motion_from == "slice_timed" and reference_time is not None
    return {
        "drop_volumes": drop_sentence(options.drop_volumes),
        "slice_timing": slice_timing_sentence(reference_time, programs.get("slice_timing")),
        "realign": realign_sentence(on_slice_timed, programs.get("realign")),
        "coregister": coregister_sentence(programs.get("coregister")),
        "resample": resample_sentence(options.resample, voxel_mm),
        "smooth": smooth_sentence(smoothing, voxel_mm),
    }


def _motion(
    bold: Floats,
    affine: Floats,
    tr: float,
    options: RealignOptions,
    program: Callable[..., Floats] | None,
) -> Motion:
    if program is None:
        return estimate_motion(bold, affine, options)
    parameters = program(bold, affine, tr)
    # Programs do not report convergence.
    return Motion(parameters, np.ones(len(parameters), dtype=bool))


def _mean_volume(bold: Floats, affine: Floats, motion: Motion) -> Floats:
    """Mean of evenly spaced volumes, realigned to the first."""
    n_x, n_y, n_z, n_volumes = bold.shape
    chosen = np.unique(np.linspace(0, n_volumes - 1, N_AVERAGED).round().astype(int))
    points = Grid((n_x, n_y, n_z), affine).points()
    series, _ = sample_moving_volumes(
        bold[..., chosen], affine, motion.parameters[chosen], points, order=1
    )
    return np.asarray(series.mean(axis=0).reshape(n_x, n_y, n_z))
