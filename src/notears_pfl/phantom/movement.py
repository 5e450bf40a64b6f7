"""Head movement during a scan, and the intensity artefact that follows it."""

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter1d

# Slow movement is a random walk smoothed over DRIFT_SMOOTHNESS volumes; a spike fades over
# SPIKE_DECAY volumes.
DRIFT_SMOOTHNESS, SPIKE_DECAY = 4.0, 1.5


@dataclass(frozen=True)
class MotionOptions:
    """How much subjects move; the settings of ``phantom.motion``."""

    drift_mm: float
    drift_deg: float
    spikes: int
    spike_mm: float
    spike_deg: float
    subject_spread: float


def random_motion(rng: np.random.Generator, n_volumes: int, options: MotionOptions) -> np.ndarray:
    """Draw (tx, ty, tz) in mm and (rx, ry, rz) in radians per volume, of shape (n_volumes, 6).

    SPM's convention: ``rigid_matrix`` of row t maps a point of the scanner at volume t to where
    that piece of the head was at the first volume, whose row is zero.
    """
    walk = gaussian_filter1d(
        rng.standard_normal((n_volumes, 6)).cumsum(axis=0), DRIFT_SMOOTHNESS, 0
    )
    drift = (
        (walk - walk.mean(axis=0)) / walk.std(axis=0) * _six(options.drift_mm, options.drift_deg)
    )
    onsets = rng.choice(n_volumes - 1, size=min(options.spikes, n_volumes - 1), replace=False) + 1
    since = np.arange(n_volumes)[:, None] - onsets
    fading = np.where(since >= 0, np.exp(-np.maximum(since, 0) / SPIKE_DECAY), 0)
    sizes = rng.standard_normal((len(onsets), 6)) * _six(options.spike_mm, options.spike_deg)
    motion = (drift + fading @ sizes) * np.exp(rng.normal(0, options.subject_spread))
    return np.asarray(motion - motion[0])


def artefact_courses(rng: np.random.Generator, motion: np.ndarray, n_courses: int) -> np.ndarray:
    """Draw time courses of unit variance that Friston's 24 regressors span, (n_volumes, n_courses).

    Each is a mixture of the movement, its square, and the movement one volume earlier. A head
    that does not move leaves no artefact.
    """
    spread = motion.std(axis=0)
    movement = np.divide(
        motion - motion.mean(axis=0), spread, where=spread > 0, out=np.zeros_like(motion)
    )
    earlier = np.vstack([movement[:1], movement[:-1]])
    design = np.hstack([movement, movement**2, earlier])
    courses = design @ rng.standard_normal((design.shape[1], n_courses))
    courses -= courses.mean(axis=0)
    size = courses.std(axis=0)
    return np.divide(courses, size, where=size > 0, out=np.zeros_like(courses))


def _six(mm: float, deg: float) -> np.ndarray:
    """Scale for three translations and three rotations."""
    return np.repeat([mm, np.deg2rad(deg)], 3)
