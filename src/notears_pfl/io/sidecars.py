"""What a BOLD image's sidecar says of its timing."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from notears_pfl.errors import SignalError


@dataclass(frozen=True)
class Timing:
    """Repetition time in seconds, and when each slice along the third axis is acquired."""

    repetition_time: float
    slice_times: np.ndarray | None


def read_sidecar(path: str | Path) -> dict[str, Any]:
    """Read the JSON beside an image or a table."""
    sidecar: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
    return sidecar


def read_timing(path: str | Path) -> Timing:
    """Read RepetitionTime and SliceTiming off a BIDS sidecar; the latter may be absent."""
    sidecar = read_sidecar(path)
    if "RepetitionTime" not in sidecar:
        msg = f"{path}: RepetitionTime is missing. Add it, in seconds."
        raise SignalError(msg)
    times = sidecar.get("SliceTiming")
    if times is None:
        return Timing(float(sidecar["RepetitionTime"]), None)
    direction = sidecar.get("SliceEncodingDirection", "k")
    if direction not in ("k", "k-"):
        msg = (
            f"{path}: SliceEncodingDirection is {direction!r}; slices along the third axis (k or "
            "k-) are needed. Reorient the image or leave out SliceTiming."
        )
        raise SignalError(msg)
    ordered = np.array(times, dtype=float)
    return Timing(float(sidecar["RepetitionTime"]), ordered[::-1] if direction == "k-" else ordered)
