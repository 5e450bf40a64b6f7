"""The columns of fMRIPrep's confounds that nilearn's strategies choose, for one run."""

import contextlib
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nilearn.interfaces.fmriprep import load_confounds

from notears_pfl.preproc.nuisance import ACOMPCOR

# nilearn asks for the image beside the table, but does not read it.
IMAGE, TABLE = "task-rest_desc-preproc_bold.nii.gz", Path("task-rest_desc-confounds_timeseries.tsv")
# Arguments of ``load_confounds``. The first three are nilearn's presets of these names, with the
# thresholds written out because its versions differ. ``ica_aroma`` regresses out the components of
# noise: nilearn's preset needs another image, from which fMRIPrep has removed them.
SETS: dict[str, dict[str, Any]] = {
    "simple": {"strategy": ("high_pass", "motion", "wm_csf")},
    "scrubbing": {
        "strategy": ("high_pass", "motion", "wm_csf", "scrub"),
        "wm_csf": "full",
        "scrub": 5,
        "fd_threshold": 0.5,
        "std_dvars_threshold": 1.5,
    },
    "compcor": {"strategy": ("high_pass", "motion", "compcor"), "n_compcor": "all"},
    "ica_aroma": {"strategy": ("high_pass", "wm_csf", "ica_aroma"), "ica_aroma": "basic"},
    ACOMPCOR: {
        "strategy": ("high_pass", "compcor"),
        "compcor": "anat_separated",
        "n_compcor": 5,
    },
}


def chosen_confounds(path: str | Path, n_dropped: int) -> dict[str, dict[str, Any]]:
    """Choose columns of the confounds at ``path`` for every strategy.

    Returns
    -------
    dict
        By strategy: ``columns``, and ``censored``, the positions of volumes that it removes,
        counted after the first ``n_dropped``; or ``unavailable``, why this run has no such columns.
    """
    with _alone(Path(path)):
        found = {name: _chosen(n_dropped, **arguments) for name, arguments in SETS.items()}
    for chosen in found.values():
        if "unavailable" in chosen:
            chosen["unavailable"] = chosen["unavailable"].replace(TABLE.stem, Path(path).stem)
    return found


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Work in a folder where ``TABLE`` and its description are all that nilearn's search finds.

    Beside the image it would also find tables of other runs, and a folder's name can mislead it.
    """
    with tempfile.TemporaryDirectory() as folder:
        for file in (path, path.with_suffix(".json")):
            if file == path or file.is_file():
                shutil.copyfile(file, Path(folder) / TABLE.with_suffix(file.suffix))
        with contextlib.chdir(folder):
            yield


def _chosen(n_dropped: int, **arguments: Any) -> dict[str, Any]:
    try:
        with warnings.catch_warnings(action="ignore"):
            columns, kept = load_confounds(IMAGE, **arguments)
    except (KeyError, TypeError, ValueError) as error:
        return {"unavailable": f"{' '.join(str(error).split()).rstrip('.')}."}
    censored = [] if kept is None else sorted({*range(len(columns))} - {*kept.tolist()})
    return {
        "columns": columns.columns.tolist(),
        "censored": [place - n_dropped for place in censored if place >= n_dropped],
    }
