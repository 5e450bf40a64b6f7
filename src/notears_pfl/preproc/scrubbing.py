"""Scrubbing: volumes with movement are censored, bridged for the filter, and then removed.

Power et al. 2014: a filter spreads an artefact over its neighbours, so that censored volumes are
interpolated before it and removed after it. Needs numpy and pandas alone, as does ``clean``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.floating]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Scrub:
    """What censors a volume; the fields are keys of ``preproc.clean.scrub``.

    ``fd_mm`` is the largest framewise displacement (Power) and ``std_dvars`` the largest
    standardised DVARS of a volume that is kept; None for no limit. Of what remains, segments of
    fewer than ``min_segment`` volumes are censored too.
    """

    fd_mm: float | None = None
    std_dvars: float | None = None
    min_segment: int = 1

    @property
    def censors(self) -> bool:
        """Whether there is any limit."""
        return self.fd_mm is not None or self.std_dvars is not None


NO_SCRUBBING = Scrub()


def scrub_options(section: Mapping[str, Any]) -> Scrub:
    """Options from the settings under ``preproc.clean.scrub``, where ``none`` is no limit."""
    fd_mm, std_dvars = (
        None if section[key] == "none" else section[key] for key in ("fd_mm", "std_dvars")
    )
    return Scrub(fd_mm, std_dvars, section["min_segment"])


def kept_volumes(figures: pd.DataFrame, scrub: Scrub, censored: Sequence[int] = ()) -> Mask:
    """Tell which volumes are kept.

    ``figures`` has a row per volume; ``censored`` are positions that are removed in any case.
    """
    kept = np.ones(len(figures), dtype=bool)
    kept[list(censored)] = False
    limits = {"fd_power_mm": scrub.fd_mm, "std_dvars": scrub.std_dvars}
    for name, limit in limits.items():
        if limit is not None:
            kept &= ~(figures[name].to_numpy(dtype=float) > limit)
    if not kept.all():
        edges = np.flatnonzero(np.diff(np.concatenate([[False], kept, [False]])))
        for start, end in edges.reshape(-1, 2):
            kept[start:end] = end - start >= scrub.min_segment
    return kept


def bridge_gaps(values: Floats, kept: Mask) -> Floats:
    """Volumes (volumes, n) from those kept, ``values`` (kept, n), by linear interpolation.

    Before the first volume kept and after the last one, its value is repeated.
    """
    known = np.flatnonzero(kept)
    weights = [np.interp(np.arange(len(kept)), known, unit) for unit in np.eye(len(known))]
    return np.asarray(np.stack(weights, axis=1) @ values)


def scrub_sentence(scrub: Scrub, named: str = "") -> str:
    """Methods: which volumes were censored; ``named`` is a strategy that censors some itself."""
    limits = []
    if scrub.fd_mm is not None:
        limits.append(f"a framewise displacement above {scrub.fd_mm:g} mm")
    if scrub.std_dvars is not None:
        limits.append(f"a standardised DVARS above {scrub.std_dvars:g}")
    reasons = [f"volumes with {' or '.join(limits)}"] if limits else []
    reasons += [named] if named else []
    if scrub.min_segment > 1:
        reasons.append(f"remaining segments of fewer than {scrub.min_segment} volumes")
    sentence = ", and ".join(reasons)
    return f"{sentence[0].upper()}{sentence[1:]} were censored."
