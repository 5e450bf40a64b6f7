"""Two named styles of preprocessing: the paper's software, and today's practice.

A setting left at ``style`` takes the style's value; any other value stands.
"""

from collections.abc import Mapping
from typing import Any

from notears_pfl.preproc.options import (
    CleanOptions,
    FunctionalOptions,
    ResampleOptions,
    SmoothOptions,
)

STYLES: Mapping[str, Mapping[str, Any]] = {
    # DPARSF: motion is estimated after slice timing, SPM's kernel, one step after the other.
    "dparsf": {"motion_from": "slice_timed", "fwhm_mm": 6.0, "kernel": "spm", "order": "dparsf"},
    # Motion is estimated on raw volumes, where spikes are sharp. A region's mean needs no
    # smoothing, which mixes its neighbours in. Filtering brings nothing back.
    "modern": {
        "motion_from": "raw",
        "fwhm_mm": 0.0,
        "kernel": "gaussian",
        "order": "simultaneous",
    },
}


def functional_options(settings: Mapping[str, Any]) -> FunctionalOptions:
    """Read the options of the functional half off the settings under ``preproc``."""
    return FunctionalOptions(
        drop_volumes=settings["drop_volumes"],
        slice_timing=settings["slice_timing"],
        motion_from=_styled(settings, settings["motion_from"], "motion_from"),
        resample=ResampleOptions(**settings["resample"]),
    )


def smooth_options(settings: Mapping[str, Any]) -> SmoothOptions:
    """Read the options of smoothing off the settings under ``preproc``."""
    section = settings["smooth"]
    return SmoothOptions(*(_styled(settings, section[key], key) for key in ("fwhm_mm", "kernel")))


def clean_options(settings: Mapping[str, Any]) -> CleanOptions:
    """Read the options of cleaning off the settings under ``preproc``."""
    section = settings["clean"]
    low_hz, high_hz = section["band_hz"]
    return CleanOptions(_styled(settings, section["order"], "order"), low_hz, high_hz)


def _styled(settings: Mapping[str, Any], value: Any, key: str) -> Any:
    return STYLES[settings["style"]][key] if value == "style" else value
