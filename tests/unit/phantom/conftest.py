"""A small head and a quiet scanner, so that each effect can be tested alone."""

from dataclasses import replace

import numpy as np
import pytest

from notears_pfl.geometry import centred_affine
from notears_pfl.phantom.cohort import site_protocol
from notears_pfl.phantom.head import FIELD_SHAPE, AnatomyOptions, Head
from notears_pfl.phantom.movement import MotionOptions
from notears_pfl.phantom.scan import SubjectOptions
from notears_pfl.phantom.scanner import ScannerOptions
from notears_pfl.phantom.signals import SignalOptions

SITE = {
    "site": "COI", "name": "Center", "scanner": "Siemens Verio", "field_strength_t": 3.0,
    "channels": 12, "repetition_time": 2.0, "echo_time_ms": 30.0, "flip_angle_deg": 80.0,
    "n_volumes": 40, "n_slices": 20, "matrix": 24, "in_plane_mm": 4.0, "slice_thickness_mm": 3.0,
    "slice_gap_mm": 1.0, "slice_order": "ascending", "t1_in_plane_mm": 5.0, "t1_thickness_mm": 5.0,
}  # fmt: skip


@pytest.fixture
def site():
    return dict(SITE)


@pytest.fixture
def protocol(site):
    return site_protocol(site, reduction=1)


@pytest.fixture
def head():
    """Two boxes, regions 1 (left) and 2 (right), in a dark surround, at 2 mm."""
    shape = (60, 60, 60)
    labels = np.zeros(shape, dtype=np.int16)
    labels[14:30, 16:44, 16:44] = 1
    labels[30:46, 16:44, 16:44] = 2
    brain = labels > 0
    image = np.where(brain, 1.0, 0.0).astype(np.float32)
    affine = centred_affine(shape, np.full(3, 2.0), np.array([0.0, -18, 10]))
    return Head(t1w=image, bold=image, brain=brain, labels=labels, affine=affine)


@pytest.fixture
def no_field():
    return np.zeros((*FIELD_SHAPE, 3), dtype=np.float32)


@pytest.fixture
def quiet():
    """Give a scanner that adds nothing."""
    return ScannerOptions(
        gain_range=(900, 1100), noise_percent=0, drift_percent=0, artefact_percent=0,
        nonsteady_volumes=0, nonsteady_percent=0, slab_centre_mm=10,
    )  # fmt: skip


@pytest.fixture
def options(quiet):
    return SubjectOptions(
        anatomy=AnatomyOptions(2.5, 45, 3, 4, 3, 1.5, 1, 20),
        signal=SignalOptions(amplitude_percent=1, band_hz=(0.01, 0.1)),
        motion=MotionOptions(0.3, 0.3, 2, 0.8, 0.8, 0.4),
        scanner=replace(quiet, noise_percent=2, artefact_percent=1),
    )
