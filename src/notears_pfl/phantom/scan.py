"""Scan one phantom subject: from random draws to images and the truth behind them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from notears_pfl.geometry import rigid_matrix
from notears_pfl.phantom.cohort import Protocol
from notears_pfl.phantom.head import AnatomyOptions, Head, random_deformation, random_rigid
from notears_pfl.phantom.movement import MotionOptions, random_motion
from notears_pfl.phantom.scanner import (
    ScannerOptions,
    acquire_bold,
    acquire_t1w,
    bold_affine,
    bold_scene,
    reference_time,
    region_coverage,
    t1w_grid,
)
from notears_pfl.phantom.signals import SignalOptions, draw_series


@dataclass(frozen=True)
class SubjectOptions:
    """The settings under ``phantom`` that one subject's scan depends on."""

    anatomy: AnatomyOptions
    signal: SignalOptions
    motion: MotionOptions
    scanner: ScannerOptions

    @classmethod
    def from_settings(cls, settings: Mapping[str, Mapping[str, Any]]) -> "SubjectOptions":
        """Take the sections of the same names from the configuration."""
        return cls(
            anatomy=AnatomyOptions(**settings["anatomy"]),
            signal=SignalOptions(**settings["signal"]),
            motion=MotionOptions(**settings["motion"]),
            scanner=ScannerOptions(**settings["scanner"]),
        )


@dataclass(frozen=True)
class Scan:
    """Images of one subject, and the truth behind them.

    Parameters
    ----------
    t1w, brain : ndarray of shape (nx, ny, nz)
        T1w image and true brain mask on the same grid, ``t1w_affine``.
    bold : ndarray of shape (mx, my, mz, n_volumes)
        BOLD image, ``bold_affine``.
    motion : ndarray of shape (n_volumes, 6)
        True movement (see :func:`random_motion`).
    series : ndarray of shape (n_volumes, n_rois)
        True ROI series, percent of the baseline, at ``reference_time`` of each volume.
    coverage : ndarray of shape (n_rois,)
        Share of each region inside the BOLD field of view.
    field : ndarray of shape (fx, fy, fz, 3)
        Displacement u: head coordinates h lie at h + u(h) in the template, mm.
    head_from_t1w, head_from_bold : ndarray of shape (4, 4)
        From scanner coordinates of the T1w image, and of the first BOLD volume, to the head's.
    """

    t1w: np.ndarray
    brain: np.ndarray
    t1w_affine: np.ndarray
    bold: np.ndarray
    bold_affine: np.ndarray
    motion: np.ndarray
    series: np.ndarray
    reference_time: float
    coverage: np.ndarray
    field: np.ndarray
    head_from_t1w: np.ndarray
    head_from_bold: np.ndarray


def scan_subject(
    draw: Callable[[str], np.random.Generator], template: Head, W: np.ndarray, protocol: Protocol,
    gain: float, options: SubjectOptions,
) -> Scan:  # fmt: skip
    """Scan a subject; ``draw`` gives its random generator for each purpose.

    ``W`` of shape (n_rois, n_rois) is the true network over all regions of the template.
    """
    anatomy, scanner = options.anatomy, options.scanner
    field = random_deformation(draw("shape"), anatomy)
    position = draw("position")
    head_from_t1w = rigid_matrix(random_rigid(position, anatomy.offset_mm, anatomy.offset_deg))
    between = random_rigid(position, anatomy.between_scans_mm, anatomy.between_scans_deg)
    head_from_bold = head_from_t1w @ rigid_matrix(between)
    t1w, brain = acquire_t1w(
        draw("t1w"), template, field, head_from_t1w, protocol, anatomy.bias_percent
    )
    motion = random_motion(draw("motion"), protocol.n_volumes, options.motion)
    series = draw_series(
        draw("series"), W, protocol.n_volumes, protocol.repetition_time, options.signal
    )
    scene = bold_scene(template, field, protocol.voxel_mm)
    bold = acquire_bold(
        draw("bold"), scene, series, motion, head_from_bold, protocol, gain, scanner
    )
    midway = reference_time(protocol.slice_times)
    return Scan(
        t1w=t1w,
        brain=brain,
        t1w_affine=t1w_grid(protocol)[1],
        bold=bold,
        bold_affine=bold_affine(protocol, scanner.slab_centre_mm),
        motion=motion,
        series=100 * series.at(midway),
        reference_time=midway,
        coverage=region_coverage(scene, head_from_bold, protocol, scanner.slab_centre_mm, len(W)),
        field=field,
        head_from_t1w=head_from_t1w,
        head_from_bold=head_from_bold,
    )


def truth_sidecar(scan: Scan, gain: float, rois: Sequence[str]) -> dict[str, Any]:
    """Describe the truth files of one subject, with the truth that is in no other file."""
    return {
        "Motion": "SPM's convention, mm and radians: from the scanner at volume t to volume 1",
        "SeriesUnits": "percent of the baseline",
        "SeriesTime": scan.reference_time,
        "Deformation": "displacement u in RAS+ mm: head coordinates h lie at h + u(h) in MNI152",
        "HeadFromT1w": scan.head_from_t1w.tolist(),
        "HeadFromBold": scan.head_from_bold.tolist(),
        "Gain": gain,
        "Coverage": dict(zip(rois, scan.coverage.tolist(), strict=True)),
    }
