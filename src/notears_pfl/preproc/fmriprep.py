"""Runs that fMRIPrep has preprocessed: checks, initial volumes and quality figures."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from notears_pfl.acquisition import MOTION
from notears_pfl.errors import SignalError
from notears_pfl.geometry import Floats
from notears_pfl.preproc.cautions import T1W_FIGURES
from notears_pfl.preproc.nuisance import GLOBAL, TISSUES
from notears_pfl.preproc.realign import displacement_power
from notears_pfl.preproc.resample import Grid
from notears_pfl.preproc.smooth import SmoothOptions, brain_on, smooth_sentence
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

# Larger rotations, in radians, must be degrees.
LARGEST_ROTATION = 1.0
# Jenkinson's displacement is fMRIPrep's own: its parameters do not give the centre of rotation.
JENKINSON = "rmsd"
# Columns of the confounds that must be numbers.
NUMBERS = (*MOTION, JENKINSON, *TISSUES, GLOBAL)
# Figures of our own preprocessing that such a run does not have, and why.
ABSENT = {
    "slice_reference_time": "fMRIPrep's own; see its report",
    "motion_converged": "motion was estimated by fMRIPrep",
    "bold_t1w_agreement": "BOLD was registered to T1w by fMRIPrep; see its report",
    "bold_t1w_converged": "BOLD was registered to T1w by fMRIPrep; see its report",
    **dict.fromkeys(T1W_FIGURES, "the T1w image was processed by fMRIPrep; see its report"),
}


@dataclass(frozen=True)
class FmriprepRun(SeenVoxels):
    """A run on its own ``grid`` in MNI space.

    ``motion`` (volumes, 6) is in mm and radians, ``confounds`` has a row per volume.
    """

    grid: Grid
    motion: pd.DataFrame
    confounds: pd.DataFrame
    n_dropped: int

    def volume_figures(self) -> pd.DataFrame:
        """Framewise displacement and DVARS of every volume."""
        jenkinson = self.confounds.get(JENKINSON, pd.Series(np.nan, self.confounds.index))
        return pd.DataFrame(
            {
                "fd_power_mm": displacement_power(self.motion.to_numpy()),
                # The first volume kept has no predecessor.
                "fd_jenkinson_mm": jenkinson.where(jenkinson.index > 0, jenkinson * 0),
                "dvars_percent": dvars_percent(self.brain_series),
                "std_dvars": standardised_dvars(self.brain_series),
            }
        )

    def all_confounds(self) -> pd.DataFrame:
        """Figures of every volume, and all columns of fMRIPrep's but those of the same name."""
        figures = self.volume_figures()
        known = {*figures, *MOTION}
        return figures.join(self.confounds[[name for name in self.confounds if name not in known]])

    def figures(self) -> dict[str, Any]:
        """Quality figures of the run; those that are not known are None, with a reason."""
        motion = self.motion.to_numpy()
        known = run_figures(self.volume_figures(), motion, self.brain_series)
        absent = dict(ABSENT)
        if JENKINSON not in self.confounds:
            reason = f"the confounds have no column {JENKINSON}"
            absent |= {name: reason for name in known if "jenkinson" in name}
        return {
            "n_volumes": len(self.series),
            **non_steady_figures(non_steady_volumes([*self.confounds]), self.n_dropped),
            "voxel_mm": float(self.grid.voxel_mm[0]),
            **known,
            "brain_coverage": self.brain_coverage,
            **dict.fromkeys(absent),
            "why_none": absent,
        }


def prepare_fmriprep_run(
    bold: Floats,
    affine: Floats,
    tr: float,
    confounds: pd.DataFrame,
    brain: tuple[Floats, Floats],
    n_dropped: int,
) -> FmriprepRun:
    """Discard the first volumes of ``bold`` (x, y, z, volumes) and of its confounds.

    Parameters
    ----------
    confounds : DataFrame
        fMRIPrep's, a row per volume: ``MOTION`` in mm and radians, and others.
    brain : pair of ndarray
        The template's brain mask (x, y, z) and its affine.
    n_dropped : int
        Counted from the first volume of the image.
    """
    check_volumes(bold, tr)
    _check_confounds(confounds, bold.shape[3])
    kept = drop_volumes(bold, n_dropped)
    n_x, n_y, n_z, _ = bold.shape
    grid = Grid((n_x, n_y, n_z), affine)
    inside, near = brain_on(grid, brain)
    series = np.ascontiguousarray(kept[near].T, dtype=np.float32)
    # fMRIPrep writes zeros outside the field of view.
    seen = np.all(series != 0, axis=0)
    voxels = seen_voxels(series, seen, near, inside)
    if not np.any(voxels.covered & inside):
        msg = "The image does not overlap the MNI152 brain. Give the run in an MNI space."
        raise SignalError(msg)
    rest = confounds.iloc[n_dropped:].reset_index(drop=True)
    return FmriprepRun(
        **vars(voxels), grid=grid, motion=rest[list(MOTION)], confounds=rest, n_dropped=n_dropped,
    )  # fmt: skip


def fmriprep_methods(
    space: str, n_dropped: int, smoothing: SmoothOptions, voxel_mm: float
) -> dict[str, str]:
    """Methods: the sentences on the run, up to smoothing."""
    return {
        "fmriprep": (
            "Slice timing, head motion, registration and normalisation are fMRIPrep's (see the "
            f"methods text of its own report); the run was used in {space}."
        ),
        "drop_volumes": drop_sentence(n_dropped, "fMRIPrep's image"),
        "smooth": smooth_sentence(smoothing, voxel_mm),
    }


def non_steady_volumes(confounds: Iterable[str]) -> int:
    """Count the volumes that fMRIPrep marked as before the steady state."""
    return sum(str(name).startswith("non_steady_state_outlier") for name in confounds)


def _check_confounds(confounds: pd.DataFrame, n_volumes: int) -> None:
    missing = [name for name in MOTION if name not in confounds]
    if missing:
        msg = f"The confounds have no {', '.join(missing)}. Give fMRIPrep's own confounds file."
        raise SignalError(msg)
    if len(confounds) != n_volumes:
        msg = (
            f"The confounds have {len(confounds)} rows, the run {n_volumes} volumes: they are "
            "of different runs. Copy both from fMRIPrep again."
        )
        raise SignalError(msg)
    motion = confounds[list(MOTION)].to_numpy(dtype=float)
    if not np.isfinite(motion).all():
        msg = "Some motion parameters in the confounds are missing. Run fMRIPrep again."
        raise SignalError(msg)
    if np.abs(motion[:, 3:]).max() > LARGEST_ROTATION:
        msg = (
            f"Rotations reach {np.abs(motion[:, 3:]).max():.3g}, but must be in radians. Give "
            "fMRIPrep's own confounds file."
        )
        raise SignalError(msg)
