"""A subject's files in, its run in MNI space out: what the rules on BOLD share."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from notears_pfl.io.failures import naming
from notears_pfl.io.images import read_image
from notears_pfl.io.sidecars import check_header, read_timing
from notears_pfl.preproc.choice import functional_engines
from notears_pfl.preproc.functional import Run, prepare_run
from notears_pfl.preproc.resample import Grid
from notears_pfl.preproc.rigid import Floats
from notears_pfl.preproc.style import functional_options
from notears_pfl.preproc.warp import Normalisation


def read_run(
    files: Mapping[str, str | Path], affine: Any, settings: Mapping[str, Any]
) -> tuple[Run, float]:
    """Read and process a run; also give its repetition time.

    Parameters
    ----------
    files : mapping
        Paths of ``bold``, ``sidecar``, ``tissues``, ``xfm`` and ``brain``.
    affine : array-like of shape (4, 4)
        Affine part of the normalisation.
    settings : mapping
        The settings under ``preproc``.
    """
    timing = read_timing(files["sidecar"], slices=settings["slice_timing"])
    bold = read_image(files["bold"], oriented=True)
    check_header(bold.repetition_time, files["bold"], timing.repetition_time, files["sidecar"])
    tissues, tissue_grid = read_tissues(files["tissues"])
    xfm, brain = read_image(files["xfm"]), read_image(files["brain"])
    # Engines name the image they were given where they refuse it.
    with naming(files["bold"]), functional_engines(settings["engine"]) as steps:
        run = prepare_run(
            bold.data,
            bold.affine,
            timing.repetition_time,
            timing.slice_times,
            tissues,
            tissue_grid,
            Normalisation.from_field(xfm.data, xfm.affine, affine),
            (brain.data, brain.affine),
            functional_options(settings),
            steps,
        )
    return run, timing.repetition_time


def read_tissues(path: str | Path) -> tuple[Floats, Grid]:
    """Read the tissue maps (3, x, y, z) of the anatomical rule, and their grid."""
    image = read_image(path)
    n_x, n_y, n_z, _ = image.data.shape
    shares = np.moveaxis(image.data, -1, 0) / np.float32(255)
    return shares, Grid((n_x, n_y, n_z), image.affine)
