"""The volumes of a run: checks, initial volumes discarded, DVARS and temporal signal to noise."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from notears_pfl.acquisition import is_repetition_time
from notears_pfl.errors import SignalError
from notears_pfl.geometry import Floats

# Smallest mean of a volume, as a share of its mean absolute value: 1 if no voxel is negative.
SMALLEST_MEAN = 0.5
# BOLD signal below this share of the median over the brain, or over its white matter's surface, is
# lost to dropout, air or bone.
DROPOUT = 0.3
# Framewise displacement above which a volume counts as moved, mm.
MOVED_MM = 0.5


def check_volumes(bold: Floats, tr: float) -> None:
    """Refuse anything but a series of finite, positive volumes ``tr`` seconds apart.

    Messages count volumes from 1.
    """
    if bold.ndim != 4 or bold.shape[3] < 2:
        msg = f"A run needs several volumes; its shape is {bold.shape}. Give the 4D BOLD image."
        raise SignalError(msg)
    if not is_repetition_time(tr):
        msg = f"RepetitionTime is {tr:g}; it must be seconds above 0. Correct the sidecar."
        raise SignalError(msg)
    # A sum is finite only if all its terms are, and needs no second array.
    sums = np.array([volume.sum(dtype=float) for volume in np.moveaxis(bold, 3, 0)])
    bad = [t + 1 for t, total in enumerate(sums) if not np.isfinite(total)]
    if bad:
        msg = f"Volumes {_first(bad)} contain values that are not finite. Convert the run again."
        raise SignalError(msg)
    empty = [t + 1 for t, volume in enumerate(np.moveaxis(bold, 3, 0)) if not np.ptp(volume)]
    if empty:
        msg = (
            f"Volumes {_first(empty)} have one value throughout. Convert the run again, or leave "
            "it out."
        )
        raise SignalError(msg)
    sizes = np.array([np.abs(volume).sum(dtype=float) for volume in np.moveaxis(bold, 3, 0)])
    n_dark = int(np.count_nonzero(sums < SMALLEST_MEAN * sizes))
    if n_dark:
        msg = (
            f"The mean of a volume must be clearly positive; it is not in {n_dark} of {len(sums)} "
            "volumes: the run was demeaned or standardised. Give it as it was acquired."
        )
        raise SignalError(msg)


def drop_volumes(bold: Floats, n_dropped: int) -> Floats:
    """Discard the first ``n_dropped`` volumes, acquired before the signal is steady."""
    if bold.shape[3] - n_dropped < 2:
        msg = (
            f"Dropping {n_dropped} of {bold.shape[3]} volumes leaves no series. "
            "Lower preproc.drop_volumes or leave this run out."
        )
        raise SignalError(msg)
    return bold[..., n_dropped:]


def drop_sentence(n_dropped: int, image: str = "") -> str:
    """Methods: how many volumes of the run (or of the ``image`` named) were discarded."""
    return f"The first {n_dropped} volumes{f' of {image}' if image else ''} were discarded."


def dvars_percent(series: Floats) -> Floats:
    """Root mean square change of ``series`` (volumes, voxels), in per cent of its mean."""
    change = np.sqrt(np.mean(np.diff(series, axis=0) ** 2, axis=1, dtype=float))
    return np.concatenate([[0.0], 100 * change / float(np.mean(series, dtype=float))])


def standardised_dvars(series: Floats) -> Floats:
    """DVARS of ``series`` (volumes, voxels) over what is expected without artefacts; Nichols 2013.

    Expected of a voxel are sqrt(2 (1 - r)) robust standard deviations, r its autocorrelation at
    lag 1. The first volume has no predecessor: 0.
    """
    low, high = np.percentile(series, [25, 75], axis=0, method="lower")
    spread = (high - low) / 1.349
    centred = series - series.mean(axis=0)
    power = np.einsum("tv,tv->v", centred, centred)
    lagged = np.einsum("tv,tv->v", centred[1:], centred[:-1])
    r = np.divide(lagged, power, out=np.zeros_like(power), where=power > 0)
    expected = float(np.mean(np.sqrt(2 * (1 - r)) * spread, dtype=float))
    change = np.sqrt(np.mean(np.diff(series, axis=0) ** 2, axis=1, dtype=float))
    return np.concatenate([[0.0], change / expected if expected > 0 else 0 * change])


def non_steady_figures(n_found: int, n_dropped: int) -> dict[str, int]:
    """Figures: volumes before the steady state, and how many of these were not dropped."""
    return {"non_steady_volumes": n_found, "non_steady_kept": max(0, n_found - n_dropped)}


def temporal_snr(series: Floats) -> Floats:
    """Temporal mean over standard deviation of ``series`` (volumes, voxels); 0 if constant."""
    mean, deviation = series.mean(axis=0, dtype=float), series.std(axis=0, dtype=float)
    return np.asarray(np.divide(mean, deviation, out=np.zeros_like(mean), where=deviation > 0))


@dataclass(frozen=True)
class SeenVoxels:
    """Voxels of a run: the base of our own runs and of fMRIPrep's.

    ``series`` (volumes, n) are the signals of the voxels ``near`` (x, y, z) the brain, in C order.
    On the same grid, ``covered`` (x, y, z) marks voxels in the field of view of every volume and
    with signal, ``dropout`` those of the brain that are in view but without signal, ``brain`` is
    the template's mask.
    """

    series: NDArray[np.float32]
    near: NDArray[np.bool_]
    covered: NDArray[np.bool_]
    dropout: NDArray[np.bool_]
    brain: NDArray[np.bool_]

    @cached_property
    def brain_series(self) -> NDArray[np.float32]:
        """Signals (volumes, n) of the brain's voxels that are covered."""
        return self.series[:, (self.brain & self.covered)[self.near]]

    @property
    def brain_coverage(self) -> float:
        """Share of the brain that is covered."""
        return float(np.mean(self.covered[self.brain]))


def seen_voxels(
    series: NDArray[np.float32],
    seen: NDArray[np.bool_],
    near: NDArray[np.bool_],
    brain: NDArray[np.bool_],
) -> SeenVoxels:
    """Tell dropout from signal in ``series`` (volumes, n); ``seen`` (n,) are those in view.

    Like voxels out of view, those without signal become zero: they must not darken their
    neighbours when these are smoothed.
    """
    lost = lost_to_dropout(series, seen & brain[near])
    covered, dropout = (np.zeros(near.shape, dtype=bool) for _ in range(2))
    covered[near], dropout[near] = seen & ~lost, lost
    kept = np.where(covered[near], series, np.float32(0))
    return SeenVoxels(kept, near, covered, dropout, brain)


def lost_to_dropout(series: Floats, brain: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tell which voxels of ``series`` (volumes, n) have no signal though they are in the ``brain``.

    ``brain`` (n,) marks the voxels of the brain in the field of view.
    """
    signal = series.mean(axis=0, dtype=float)
    level = np.median(signal[brain]) if brain.any() else 0.0
    return np.asarray(brain & (signal < DROPOUT * level))


def run_figures(figures: pd.DataFrame, motion: Floats, series: Floats) -> Mapping[str, Any]:
    """Summarise a run: framewise displacement, DVARS, temporal SNR and largest motion.

    ``figures`` has one row per volume, ``motion`` is (volumes, 6), ``series`` (volumes, voxels).
    """
    summary: dict[str, Any] = {}
    for name in ("fd_power_mm", "fd_jenkinson_mm"):
        summary[f"mean_{name}"] = float(figures[name].mean())
        summary[f"share_{name}_above_0.5"] = float((figures[name] > MOVED_MM).mean())
    return {
        **summary,
        "mean_dvars_percent": float(figures["dvars_percent"].iloc[1:].mean()),
        "median_tsnr": float(np.median(temporal_snr(series))),
        "largest_translation_mm": float(np.abs(motion[:, :3]).max()),
        "largest_rotation_deg": float(np.degrees(np.abs(motion[:, 3:]).max())),
    }


def _first(numbers: list[int], n_shown: int = 8) -> str:
    more = ", …" if len(numbers) > n_shown else ""
    return f"[{', '.join(map(str, numbers[:n_shown]))}{more}]"
