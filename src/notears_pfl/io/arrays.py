"""Read and write named arrays."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from notears_pfl.errors import TableError
from notears_pfl.io.atomic import whole_file


def write_arrays(arrays: Mapping[str, Any], path: str | Path) -> None:
    """Write arrays as .npz; equal arrays give equal bytes."""
    with whole_file(path) as temporary:
        np.savez(temporary, **arrays)


def read_arrays(path: str | Path) -> dict[str, np.ndarray]:
    """Read all arrays of an .npz file."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return dict(archive)
    except (ValueError, EOFError, OSError, BadZipFile) as error:
        msg = f"{path}: cannot be read as arrays ({error}). Delete it and run the workflow again."
        raise TableError(msg) from error
