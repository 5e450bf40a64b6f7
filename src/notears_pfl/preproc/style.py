"""Two named styles of preprocessing: that of the paper's software, and current practice.

A setting of ``style`` takes the value of the style that was chosen; any other value stands.
"""

from collections.abc import Mapping
from typing import Any

STYLES: Mapping[str, Mapping[str, Any]] = {
    # DPARSF: motion is estimated after slice timing; SPM's kernel; cleaning step by step.
    "dparsf": {"motion_from": "slice_timed", "fwhm_mm": 6.0, "kernel": "spm", "order": "dparsf"},
    # Motion is estimated on raw volumes, where spikes are sharp. A regional mean needs no
    # smoothing, which mixes in its neighbours. Simultaneous cleaning reintroduces nothing.
    "modern": {
        "motion_from": "raw",
        "fwhm_mm": 0.0,
        "kernel": "gaussian",
        "order": "simultaneous",
    },
}


def styled(settings: Mapping[str, Any], value: Any, key: str) -> Any:
    """Replace a ``value`` of ``style`` by that of the style in the settings under ``preproc``."""
    return STYLES[settings["style"]][key] if value == "style" else value
