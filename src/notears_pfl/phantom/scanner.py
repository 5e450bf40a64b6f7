"""The scanners: T1w and BOLD images of a head, by each site's protocol."""

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.ndimage import binary_dilation, gaussian_filter, map_coordinates, spline_filter

from notears_pfl.geometry import centred_affine, grid_points, rigid_matrix, transform
from notears_pfl.phantom.cohort import Protocol
from notears_pfl.phantom.head import (
    Head,
    grid_to_template,
    nearest,
    nearest_within,
    sample,
    sample_labels,
    to_template,
    where_shown,
)
from notears_pfl.phantom.movement import artefact_courses
from notears_pfl.phantom.signals import Series

# Middle of the brain in the template, mm, left to right and back to front.
BRAIN_CENTRE_MM = np.array([0.0, -18.0])
BRAIN_RADIUS_MM = 100.0
T1W_FOV_MM, T1W_CENTRE_MM = np.array([200.0, 240.0, 232.0]), np.array([0.0, -18.0, 0.0])
T1W_GAIN, T1W_NOISE = 1000.0, 0.02
# Smooth patterns over the image are polynomials in position over this length, mm.
PATTERN_MM = 80.0
# Order of the spline through the blurred baseline. It departs from the cubic spline by 0.04 % of
# grey matter (root mean square), the cubic from order 5 by 0.02 %, and takes half the time.
SPLINE = 2
# Part of the baseline's spline below which there is air: a tenth of a unit at the largest gain.
NOTHING = 1e-4
# Within a voxel, regions are looked up at these eight points (fractions of its size).
SUBVOXEL = np.array(list(product((-0.25, 0.25), repeat=3)))


@dataclass(frozen=True)
class ScannerOptions:
    """What scanners add to the signal; the settings of ``phantom.scanner``."""

    gain_range: tuple[float, float]
    noise_percent: float
    drift_percent: float
    artefact_percent: float
    nonsteady_volumes: int
    nonsteady_percent: float
    slab_centre_mm: float


def site_gain(rng: np.random.Generator, options: ScannerOptions) -> float:
    """Draw a site's gain: image units of a voxel of grey matter."""
    return float(rng.uniform(*options.gain_range))


def reference_time(times: np.ndarray) -> float:
    """Acquisition time of the slice taken midway, number ⌈N/2⌉ in order of acquisition."""
    return float(np.sort(times)[int(np.ceil(len(times) / 2)) - 1])


def t1w_grid(protocol: Protocol) -> tuple[tuple[int, ...], np.ndarray]:
    """Shape and affine of the T1w image."""
    shape = tuple(int(n) for n in np.ceil(T1W_FOV_MM / protocol.t1w_voxel_mm))
    return shape, centred_affine(shape, protocol.t1w_voxel_mm, T1W_CENTRE_MM)


def acquire_t1w(
    rng: np.random.Generator, template: Head, field: np.ndarray, head_from_scanner: np.ndarray,
    protocol: Protocol, bias_percent: float,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Image the head deformed by ``field``; also return its true brain mask on the same grid."""
    shape, affine = t1w_grid(protocol)
    scanner_points = grid_points(shape, affine)
    in_head = transform(head_from_scanner, scanner_points)
    head_voxels = transform(np.linalg.inv(template.affine), in_head)
    shown = nearest_within(where_shown(template.t1w, template.affine, field), head_voxels)
    points = to_template(field, in_head[:, shown])
    x, y, z = scanner_points / PATTERN_MM
    a, b, c, d = rng.uniform(-1, 1, 4)
    bias = a * x + b * y + c * z + d * (x**2 - y**2)
    bias *= bias_percent / 100 / np.abs(bias).max()
    image, brain = np.zeros(shape), np.zeros(shape, dtype=bool)
    image[shown] = T1W_GAIN * sample(template.t1w, template.affine, points) * (1 + bias[shown])
    brain[shown] = sample_labels(template.brain, template.affine, points)
    image += T1W_GAIN * T1W_NOISE * rng.standard_normal(shape)
    return _as_int16(image), brain


@dataclass(frozen=True)
class Scene:
    """What the BOLD scanner images, in head coordinates: baseline, regions, and their grid."""

    baseline: np.ndarray
    labels: np.ndarray
    affine: np.ndarray


def bold_scene(template: Head, field: np.ndarray, voxel_mm: np.ndarray) -> Scene:
    """Deform the template head by ``field``; blur the baseline as voxels of this size would."""
    points = grid_to_template(field, template.bold.shape, template.affine)
    baseline = sample(template.bold, template.affine, points)
    # A box of width v has the variance of a Gaussian with sigma v / sqrt(12).
    sigma = voxel_mm / np.sqrt(12) / np.diag(template.affine)[:3]
    return Scene(
        baseline=spline_filter(gaussian_filter(baseline, sigma), order=SPLINE).astype(np.float32),
        labels=sample_labels(template.labels, template.affine, points),
        affine=template.affine,
    )


def bold_affine(protocol: Protocol, slab_centre_mm: float) -> np.ndarray:
    """Affine of the BOLD image: along the scanner axes, with the slab centred at a height."""
    centre = np.array([*BRAIN_CENTRE_MM, slab_centre_mm])
    return centred_affine(protocol.shape, protocol.voxel_mm, centre)


def acquire_bold(
    rng: np.random.Generator, scene: Scene, series: Series, motion: np.ndarray,
    head_from_scanner: np.ndarray, protocol: Protocol, gain: float, options: ScannerOptions,
) -> np.ndarray:  # fmt: skip
    """Image the moving head, of shape (nx, ny, nz, n_volumes).

    gain · baseline · (1 + signal + artefact + drift + non-steady state) + noise, with the head
    moved at each volume and each slice acquired at its own time.
    """
    affine = bold_affine(protocol, options.slab_centre_mm)
    to_scene = np.linalg.inv(scene.affine) @ head_from_scanner @ rigid_matrix(motion) @ affine
    x, y, z = grid_points(protocol.shape, affine) / PATTERN_MM
    patterns = np.stack([np.ones_like(x), x, y, z])
    courses = _slow_courses(rng, motion, len(patterns), options)
    head = np.nonzero(_near(np.abs(scene.baseline) > NOTHING, to_scene[0], protocol, motion))
    grey = np.nonzero(_near(scene.labels > 0, to_scene[0], protocol, motion))
    in_head, in_grey = np.array(head, dtype=float), np.array(grey, dtype=float)
    regions = np.pad(scene.labels, 1)
    # Region 0 is no region and carries no signal: (n_volumes, n_slices, n_rois + 1).
    signal = np.stack(
        [np.pad(series.at(t), ((0, 0), (1, 0))) for t in protocol.slice_times], axis=1
    )
    # Voxels larger by the reduction in each direction average out noise accordingly.
    noise = gain * options.noise_percent / 100 / protocol.reduction**1.5
    bold = np.empty((*protocol.shape, protocol.n_volumes), dtype=np.int16)
    for t, matrix in enumerate(to_scene):
        baseline = np.zeros(protocol.shape)
        baseline[head] = map_coordinates(
            scene.baseline, transform(matrix, in_head), order=SPLINE, prefilter=False
        )
        change = np.tensordot(courses[t], patterns, axes=1)
        parts = (matrix[:3, :3] @ SUBVOXEL.T)[:, :, None] + transform(matrix, in_grey)[:, None]
        labels = nearest_within(regions, parts)
        change[grey] += signal[t, grey[2], labels].mean(axis=0)
        image = gain * baseline * (1 + change)
        bold[..., t] = _as_int16(image + noise * rng.standard_normal(protocol.shape))
    return bold


def _near(
    scene: np.ndarray, matrix: np.ndarray, protocol: Protocol, motion: np.ndarray
) -> np.ndarray:
    """Voxels that contain part of a mask at the first volume, or may when the head moves."""
    touched = np.zeros(protocol.shape, dtype=bool)
    for shift in SUBVOXEL:
        indices = np.indices(protocol.shape).reshape(3, -1) + shift[:, None]
        touched |= nearest(scene, transform(matrix, indices)).reshape(protocol.shape)
    farthest_mm = np.abs(motion[:, :3]).max() + BRAIN_RADIUS_MM * np.abs(motion[:, 3:]).max()
    steps = int(np.ceil(farthest_mm / protocol.voxel_mm.min())) + 1
    return np.asarray(binary_dilation(touched, np.ones((3, 3, 3)), iterations=steps))


def region_coverage(
    scene: Scene,
    head_from_scanner: np.ndarray,
    protocol: Protocol,
    slab_centre_mm: float,
    n_rois: int,
) -> np.ndarray:
    """Share of each region inside the BOLD field of view, of shape (n_rois,)."""
    labelled = np.argwhere(scene.labels > 0)
    scanner_from_scene = np.linalg.inv(head_from_scanner) @ scene.affine
    voxel_from_scanner = np.linalg.inv(bold_affine(protocol, slab_centre_mm))
    indices = transform(voxel_from_scanner @ scanner_from_scene, labelled.T.astype(float)).T
    inside = np.all((indices > -0.5) & (indices < np.array(protocol.shape) - 0.5), axis=1)
    labels = scene.labels[tuple(labelled.T)]
    total = np.bincount(labels, minlength=n_rois + 1)[1:]
    covered = np.bincount(labels, weights=inside, minlength=n_rois + 1)[1:]
    return np.divide(covered, total, where=total > 0, out=np.zeros(n_rois))


def _slow_courses(
    rng: np.random.Generator, motion: np.ndarray, n_patterns: int, options: ScannerOptions
) -> np.ndarray:
    """Relative change over time of each smooth pattern, of shape (n_volumes, n_patterns)."""
    n_volumes = len(motion)
    artefact = options.artefact_percent / 100 * artefact_courses(rng, motion, n_patterns)
    ramp = np.linspace(-0.5, 0.5, n_volumes)[:, None]
    drift = (
        options.drift_percent
        / 100
        * (
            rng.uniform(-1, 1, n_patterns) * ramp
            + rng.uniform(-1, 1, n_patterns) * (2 * ramp**2 - 0.5)
        )
    )
    courses = artefact + drift
    left = np.clip(1 - np.arange(n_volumes) / max(options.nonsteady_volumes, 1), 0, None)
    if options.nonsteady_volumes:
        courses[:, 0] += options.nonsteady_percent / 100 * left**2
    return courses


def _as_int16(image: np.ndarray) -> np.ndarray:
    """Magnitude image as scanners store it: non-negative integers."""
    return np.clip(np.rint(np.abs(image)), 0, np.iinfo(np.int16).max).astype(np.int16)
