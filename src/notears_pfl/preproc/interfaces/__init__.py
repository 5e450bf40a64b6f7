"""Our own steps as nipype interfaces, for workflows built with nipype.

The rules of this project call the functions behind them: no image is written and read again
between two steps of ours.
"""

from notears_pfl.preproc.interfaces.anatomical import ExtractBrain, Normalise, Tissues
from notears_pfl.preproc.interfaces.functional import (
    Clean,
    Coregister,
    DropVolumes,
    Realign,
    Resample,
    SliceTiming,
    Smooth,
)

__all__ = [
    "Clean",
    "Coregister",
    "DropVolumes",
    "ExtractBrain",
    "Normalise",
    "Realign",
    "Resample",
    "SliceTiming",
    "Smooth",
    "Tissues",
]
