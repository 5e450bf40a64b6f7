"""The functional half of a subject: from raw volumes to the signals of brain points."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.ndimage import binary_erosion

from notears_pfl.errors import SignalError
from notears_pfl.geometry import transform
from notears_pfl.preproc.clean import clean_signals
from notears_pfl.preproc.coregister import Coregistration, coregister
from notears_pfl.preproc.options import (
    CleanOptions,
    CoregisterOptions,
    FunctionalOptions,
    RealignOptions,
    SmoothOptions,
)
from notears_pfl.preproc.quality import run_figures, volume_figures
from notears_pfl.preproc.realign import Motion, estimate_motion
from notears_pfl.preproc.resample import Grid, mni_grid, sample_moving_volumes, sample_volume
from notears_pfl.preproc.rigid import Floats
from notears_pfl.preproc.slice_timing import correct_slice_timing, middle_slice_time
from notears_pfl.preproc.smooth import smooth, smoother
from notears_pfl.preproc.volumes import check_volumes, drop_volumes
from notears_pfl.preproc.warp import Normalisation

# The grid is no finer than this share of the mean edge of a BOLD voxel.
FINEST = 0.6
# This many volumes, evenly spaced, make the mean image that is registered to the T1w.
N_AVERAGED = 24
# Tissue masks for mean signals take voxels at least this pure.
PURE = 0.95


@dataclass(frozen=True)
class FunctionalSteps:
    """The functions that do the work; others of the same signature stand for other engines."""

    correct_slice_timing: Callable[[Floats, Floats, Floats, float, float], Floats] = (
        lambda bold, affine, times, tr, reference: correct_slice_timing(bold, times, tr, reference)
    )
    estimate_motion: Callable[[Floats, Floats, float, RealignOptions], Motion] = (
        lambda bold, affine, tr, options: estimate_motion(bold, affine, options)
    )
    coregister: Callable[[Floats, Floats, Floats, Grid, CoregisterOptions], Coregistration] = (
        coregister
    )


OWN = FunctionalSteps()


@dataclass(frozen=True)
class Run:
    """A run in MNI space, unsmoothed.

    ``series`` (volumes, n) are the signals of the grid's voxels ``near`` (x, y, z) the brain, in
    C order; ``covered`` (x, y, z) those in the field of view of every volume; ``tissues``
    (3, x, y, z) the subject's fluid, grey and white matter there; ``brain`` the template's mask;
    ``mean`` (x, y, z) the mean image in BOLD space, whose voxels ``affine`` places, and
    ``centre_mm`` the centre of its field of view.
    """

    series: NDArray[np.float32]
    near: NDArray[np.bool_]
    covered: NDArray[np.bool_]
    brain: NDArray[np.bool_]
    tissues: NDArray[np.float32]
    grid: Grid
    motion: Motion
    coregistration: Coregistration
    mean: Floats
    affine: Floats
    centre_mm: Floats
    reference_time: float | None

    def volume(self, t: int) -> NDArray[np.float32]:
        """One volume on the whole grid, zero away from the brain."""
        filled = np.zeros(self.grid.shape, dtype=np.float32)
        filled[self.near] = self.series[t]
        return filled

    def cleaned(
        self, smoothing: SmoothOptions, confounds: Floats, tr: float, options: CleanOptions
    ) -> NDArray[np.float32]:
        """Smoothed and cleaned image (x, y, z, volumes); zero out of view and off the brain."""
        inside = self.near & self.covered
        smoothed_volume = smoother(smoothing, self.grid.voxel_mm)
        reach = np.maximum(smoothed_volume(self.covered), 1e-6)
        smoothed = np.stack(
            [(smoothed_volume(self.volume(t)) / reach)[inside] for t in range(len(self.series))]
        )
        image = np.zeros((*self.grid.shape, len(self.series)), dtype=np.float32)
        image[inside] = clean_signals(smoothed, confounds, tr, options).T
        return image

    def tissue_signals(self) -> pd.DataFrame:
        """Mean signals of pure fluid and of eroded white matter; NaN where there are no voxels."""
        fluid, _, white = (self.tissues > PURE) & self.covered
        masks = {"csf": fluid, "white_matter": binary_erosion(white)}
        columns = {
            name: self.series[:, mask[self.near]].mean(axis=1, dtype=float)
            if mask.any()
            else np.full(len(self.series), np.nan)
            for name, mask in masks.items()
        }
        return pd.DataFrame(columns)

    def volume_figures(self) -> pd.DataFrame:
        """Displacement and DVARS of every volume."""
        return volume_figures(self.motion.parameters, self.centre_mm, self._brain_series)

    def figures(self) -> dict[str, Any]:
        """Quality of the run in a few numbers."""
        return {
            "n_volumes": len(self.series),
            "slice_reference_time": self.reference_time,
            "voxel_mm": float(self.grid.voxel_mm[0]),
            **run_figures(self.volume_figures(), self.motion.parameters, self._brain_series),
            "motion_converged": bool(self.motion.converged.all()),
            "bold_t1w_agreement": self.coregistration.explained,
            "bold_t1w_converged": self.coregistration.converged,
            "brain_coverage": float(np.mean(self.covered[self.brain])),
        }

    @property
    def _brain_series(self) -> NDArray[np.float32]:
        return self.series[:, (self.brain & self.covered)[self.near]]


def prepare_run(
    bold: Floats,
    affine: Floats,
    tr: float,
    slice_times: Floats | None,
    tissues: Floats,
    tissue_grid: Grid,
    normalisation: Normalisation,
    brain: tuple[Floats, Floats],
    options: FunctionalOptions,
    steps: FunctionalSteps = OWN,
) -> Run:
    """Bring the volumes ``bold`` (x, y, z, volumes) to MNI space in one interpolation.

    Parameters
    ----------
    slice_times : ndarray of shape (slices,), or None
        Seconds after the start of a volume; None skips slice timing.
    tissues, tissue_grid, normalisation
        From the anatomical half.
    brain : pair of ndarray
        The template's brain mask (x, y, z) and its affine.
    """
    check_volumes(bold, tr)
    raw = drop_volumes(bold, options.drop_volumes)
    reference_time, corrected = None, raw
    if options.slice_timing and slice_times is not None:
        reference_time = middle_slice_time(slice_times)
        corrected = steps.correct_slice_timing(raw, affine, slice_times, tr, reference_time)
    estimated_on = raw if options.motion_from == "raw" else corrected
    motion = steps.estimate_motion(estimated_on, affine, tr, options.realign)
    _check_motion(motion, bold.shape)
    mean = _mean_volume(corrected, affine, motion)
    coregistration = steps.coregister(mean, affine, tissues, tissue_grid, options.coregister)
    _check_agreement(coregistration)

    edge_mm = float(np.prod(np.linalg.norm(affine[:3, :3], axis=0)) ** (1 / 3))
    grid = mni_grid(max(options.resample.voxel_mm, round(FINEST * edge_mm, 1)))
    inside, near = brain_on(grid, brain)
    in_t1w = normalisation.to_t1w(grid.points()[:, near.ravel()])
    in_bold = transform(coregistration.matrix, in_t1w)
    series, seen = sample_moving_volumes(
        corrected, affine, motion.parameters, in_bold, options.resample.order
    )
    covered = np.zeros(grid.shape, dtype=bool)
    covered[near] = seen
    if not np.any(covered & inside):
        msg = (
            f"None of the {np.count_nonzero(inside)} voxels of the brain in MNI space stays in the "
            f"field of view of all {bold.shape[3]} volumes. Look at the orientation and the motion "
            "of the run, or leave this subject out."
        )
        raise SignalError(msg)
    in_mni = np.zeros((3, *grid.shape), dtype=np.float32)
    for target, tissue in zip(in_mni, tissues, strict=True):
        target[near] = sample_volume(tissue, tissue_grid.affine, in_t1w, order=1)
    centre = transform(affine, (np.array(bold.shape[:3], dtype=float)[:, None] - 1) / 2)
    return Run(
        series=series,
        near=near,
        covered=covered,
        brain=inside,
        tissues=in_mni,
        grid=grid,
        motion=motion,
        coregistration=coregistration,
        mean=mean,
        affine=affine,
        centre_mm=centre[:, 0],
        reference_time=reference_time,
    )


def brain_on(
    grid: Grid, brain: tuple[Floats, Floats]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Voxels of ``grid`` inside the brain mask (voxels, affine), and those near it."""
    mask = sample_volume(brain[0].astype(float), brain[1], grid.points(), 1).reshape(grid.shape)
    return mask > 0.5, smooth(mask, grid.voxel_mm, 8.0, "gaussian") > 0.01


def _check_motion(motion: Motion, shape: tuple[int, ...]) -> None:
    n_lost = np.count_nonzero(~np.isfinite(motion.parameters).all(axis=1))
    if n_lost:
        msg = (
            f"Head motion cannot be estimated in {n_lost} of {len(motion.parameters)} "
            f"volumes: a head of at least four slices was needed, the run of shape {shape} has no "
            "structure to match. Convert it again, or leave this subject out."
        )
        raise SignalError(msg)


def _check_agreement(coregistration: Coregistration) -> None:
    agreement = coregistration.explained
    if agreement is not None and not np.isfinite(agreement):
        msg = (
            "The mean BOLD image cannot be registered to the T1w image: where they meet there are "
            f"too few voxels of brain, or none that differ (agreement {agreement}). Look at both "
            "images, or leave this subject out."
        )
        raise SignalError(msg)


def _mean_volume(bold: Floats, affine: Floats, motion: Motion) -> Floats:
    """Mean of evenly spaced volumes, brought to the position of the first."""
    n_x, n_y, n_z, n_volumes = bold.shape
    chosen = np.unique(np.linspace(0, n_volumes - 1, N_AVERAGED).round().astype(int))
    points = Grid((n_x, n_y, n_z), affine).points()
    series, _ = sample_moving_volumes(
        bold[..., chosen], affine, motion.parameters[chosen], points, order=1
    )
    return np.asarray(series.mean(axis=0).reshape(n_x, n_y, n_z))
