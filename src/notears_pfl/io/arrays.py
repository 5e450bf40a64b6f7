"""Write several small arrays to one file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from notears_pfl.io.atomic import whole_file


def write_arrays(arrays: Mapping[str, Any], path: str | Path) -> None:
    """Write ``arrays`` by name as a compressed NPZ, the same bytes every time."""
    with whole_file(path) as temporary:
        np.savez_compressed(temporary, **arrays)
