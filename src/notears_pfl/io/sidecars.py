"""The JSON beside images and tables, and what it says of a BOLD image's timing."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from notears_pfl.acquisition import same_repetition_time
from notears_pfl.errors import MachineError, SignalError
from notears_pfl.io.atomic import whole_file
from notears_pfl.io.machine import blaming_the_machine
from notears_pfl.io.text import UnreadableError, read_text


@dataclass(frozen=True)
class Timing:
    """Repetition time in seconds, and when each slice along the third axis is acquired."""

    repetition_time: float
    slice_times: np.ndarray | None


def read_sidecar(path: str | Path) -> dict[str, Any]:
    """Read the JSON beside an image or a table: an object that says nothing twice."""
    try:
        # A sidecar that is missing now existed when the run was planned.
        with blaming_the_machine(path, "read"):
            text = read_text(path)
        content = json.loads(text, object_pairs_hook=_without_contradictions)
    except MachineError:
        raise
    except (UnreadableError, ValueError, RecursionError) as error:
        msg = f"{path}: cannot be read as JSON ({error}). Correct or replace the sidecar."
        raise SignalError(msg) from error
    if not isinstance(content, dict):
        msg = f"{path}: a JSON object was needed, found {type(content).__name__}. Correct it."
        raise SignalError(msg)
    return content


def _without_contradictions(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its pairs; Python would take the last of two values in silence."""
    content = dict(pairs)
    for key, value in pairs:
        if value is not content[key] and value != content[key]:
            msg = f"{key!r} appears twice, with different values"
            raise ValueError(msg)
    return content


def write_json(content: Mapping[str, Any], path: str | Path) -> None:
    """Write ``content`` as JSON, keys in the order given; not-a-number is refused."""
    with whole_file(path) as temporary:
        text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
        temporary.write_text(text + "\n", encoding="utf-8")


def read_metadata(sidecars: Sequence[str | Path]) -> dict[str, Any]:
    """Merge sidecars; what stands in a later one replaces what stands in an earlier one."""
    merged: dict[str, Any] = {}
    for path in sidecars:
        merged |= read_sidecar(path)
    return merged


def read_timing(sidecars: str | Path | Sequence[str | Path], *, slices: bool = True) -> Timing:
    """Read RepetitionTime and SliceTiming off BIDS sidecars; the latter may be absent.

    Of several sidecars the nearest to the image comes last and goes before the others. Without
    ``slices``, what they say of slices is neither read nor judged.
    """
    paths = [sidecars] if isinstance(sidecars, str | Path) else list(sidecars)
    sidecar, named = read_metadata(paths), ", ".join(map(str, paths))
    if sidecar.get("status") == "failed":
        raise SignalError(str(sidecar.get("reason", f"{named}: its status is 'failed'")))
    if "RepetitionTime" not in sidecar:
        msg = f"{named}: RepetitionTime is missing. Add it, in seconds."
        raise SignalError(msg)
    try:
        repetition_time = float(sidecar["RepetitionTime"])
        times = np.array(sidecar.get("SliceTiming", []) if slices else [], dtype=float).ravel()
    except (TypeError, ValueError, OverflowError) as error:
        msg = f"{named}: RepetitionTime or SliceTiming is not in numbers ({error}). Correct it."
        raise SignalError(msg) from error
    if not slices or "SliceTiming" not in sidecar:
        return Timing(repetition_time, None)
    direction = sidecar.get("SliceEncodingDirection", "k")
    if direction not in ("k", "k-"):
        msg = (
            f"{named}: SliceEncodingDirection is {direction!r}; slices along the third axis (k or "
            "k-) are needed. Reorient the image, or set preproc.slice_timing to false."
        )
        raise SignalError(msg)
    return Timing(repetition_time, times[::-1] if direction == "k-" else times)


def check_header(
    in_header: float | None,
    image: str | Path,
    in_sidecar: float,
    sidecars: str | Path | Sequence[str | Path],
) -> None:
    """Refuse a run whose header tells another repetition time than its sidecars."""
    if in_header is None or same_repetition_time(in_header, in_sidecar):
        return
    paths = [sidecars] if isinstance(sidecars, str | Path) else sidecars
    msg = (
        f"The repetition time is {in_header:g} s in the header of {image}, but {in_sidecar:g} s in "
        f"{', '.join(map(str, paths))}. Find out which is right, and correct the other."
    )
    raise SignalError(msg)
