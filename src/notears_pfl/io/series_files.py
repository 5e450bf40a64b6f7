"""Read ROI series in the forms that studies share them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from notears_pfl.errors import TableError

# Stands for the subject in a pattern of file names.
PLACEHOLDER = "{participant_id}"
SEPARATORS = {".tsv": "\t", ".csv": ","}


def series_path(pattern: str, participant_id: str) -> Path:
    """File that holds a subject's series: the pattern's, or the one file of all subjects."""
    return Path(pattern.replace(PLACEHOLDER, participant_id))


def read_series(pattern: str, participant_id: str) -> pd.DataFrame | np.ndarray:
    """Read a subject's series: a frame where columns are named, else an array.

    ``.tsv`` and ``.csv`` have a line of names; ``.1D`` and ``.txt`` are bare numbers with
    ``#`` comments; ``.npy`` is one array; ``.npz`` has one array per subject, by its id.
    """
    path = series_path(pattern, participant_id)
    if not path.is_file():
        msg = f"{path}: no such file. Provide it, or correct source.series in the configuration."
        raise TableError(msg)
    try:
        match path.suffix:
            case ".tsv" | ".csv":
                return pd.read_csv(path, sep=SEPARATORS[path.suffix], na_values=["n/a"])
            case ".1D" | ".txt":
                return np.loadtxt(path, ndmin=2)
            case ".npy":
                return np.asarray(np.load(path))
            case ".npz":
                return _from_archive(path, participant_id)
    except (ValueError, OSError, EOFError) as error:
        msg = f"{path}: cannot be read ({error}). The file is damaged: copy or export it again."
        raise TableError(msg) from error
    known = ", ".join([*SEPARATORS, ".1D", ".txt", ".npy", ".npz"])
    msg = (
        f"{path}: series cannot be read from {path.suffix or 'a file without ending'}; use {known}."
    )
    raise TableError(msg)


def _from_archive(path: Path, participant_id: str) -> np.ndarray:
    with np.load(path) as archive:
        names: Sequence[str] = archive.files
        for name in (participant_id, participant_id.removeprefix("sub-")):
            if name in names:
                return np.asarray(archive[name])
    msg = (
        f"{path}: no array {participant_id!r} among {len(names)} ({', '.join(names[:3])}, …). "
        "Add it, or remove the subject from participants.tsv."
    )
    raise TableError(msg)
