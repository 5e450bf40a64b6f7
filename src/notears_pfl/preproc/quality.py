"""Quality figures of a run: framewise displacement, DVARS and temporal signal to noise."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from notears_pfl.geometry import rigid_matrix
from notears_pfl.preproc.rigid import Floats

# Framewise displacement beyond which a volume counts as moved, mm.
MOVED_MM = 0.5
POWER_RADIUS_MM = 50.0
JENKINSON_RADIUS_MM = 80.0


def displacement_power(motion: Floats) -> Floats:
    """Framewise displacement of Power et al. 2012 in mm; zero for the first volume.

    Sum of absolute changes of the six parameters, rotations as arcs on a sphere of 50 mm.
    """
    millimetres = motion * ([1.0] * 3 + [POWER_RADIUS_MM] * 3)
    return np.concatenate([[0.0], np.abs(np.diff(millimetres, axis=0)).sum(axis=1)])


def displacement_jenkinson(motion: Floats, centre_mm: Floats) -> Floats:
    """Framewise displacement of Jenkinson et al. 2002 in mm; zero for the first volume.

    Root mean square over a sphere of 80 mm about ``centre_mm`` of the relative motion
    D - I = [A b]: sqrt(R²/5 · tr(AᵀA) + |b + A c|²).
    """
    matrices = rigid_matrix(motion)
    relative = matrices[1:] @ np.linalg.inv(matrices[:-1]) - np.eye(4)
    rotation, shift = relative[:, :3, :3], relative[:, :3, 3]
    at_centre = shift + rotation @ np.asarray(centre_mm)
    variance = JENKINSON_RADIUS_MM**2 / 5 * np.sum(rotation**2, axis=(1, 2))
    return np.concatenate([[0.0], np.sqrt(variance + np.sum(at_centre**2, axis=1))])


def dvars_percent(series: Floats) -> Floats:
    """Root mean square change of ``series`` (volumes, voxels), in per cent of its mean."""
    change = np.sqrt(np.mean(np.diff(series, axis=0) ** 2, axis=1, dtype=float))
    return np.concatenate([[0.0], 100 * change / float(np.mean(series, dtype=float))])


def temporal_snr(series: Floats) -> Floats:
    """Mean over standard deviation in time of ``series`` (volumes, voxels); 0 where constant."""
    mean, deviation = series.mean(axis=0, dtype=float), series.std(axis=0, dtype=float)
    return np.asarray(np.divide(mean, deviation, out=np.zeros_like(mean), where=deviation > 0))


def volume_figures(motion: Floats, centre_mm: Floats, series: Floats) -> pd.DataFrame:
    """Figures of every volume: both displacements and DVARS of ``series`` (volumes, voxels)."""
    return pd.DataFrame(
        {
            "fd_power_mm": displacement_power(motion),
            "fd_jenkinson_mm": displacement_jenkinson(motion, centre_mm),
            "dvars_percent": dvars_percent(series),
        }
    )


def run_figures(figures: pd.DataFrame, motion: Floats, series: Floats) -> Mapping[str, Any]:
    """Sum a run up: displacement (mean, share above 0.5 mm), DVARS, tSNR, largest motion."""
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
