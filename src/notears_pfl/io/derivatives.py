"""What makes BIDS derivatives of the folders results/preproc and results/timeseries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from notears_pfl.version import __version__

BIDS_VERSION = "1.10.0"
# What BIDS has no names for yet, as fMRIPrep leaves it out: transforms (BEP 14), time series
# (BEP 12 and 17), pictures; and the templates, which are no subjects.
_IGNORED = ("template", "figures", "*_xfm.nii.gz", "*_timeseries.tsv", "*_timeseries.json")


@dataclass(frozen=True)
class Derivative:
    """A dataset that the workflow writes: its name, what it is, and sidecars of all its files."""

    name: str
    readme: str
    sidecars: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


DERIVATIVES = {
    "results/preproc": Derivative(
        "Preprocessed images of NOTEARS-PFL",
        "T1w images, brain masks, tissue maps and registrations to MNI152 of every subject;\n"
        "motion and confounds of every run. Sidecars say how each file was made. Subjects were\n"
        "registered to the images in template/.\n",
        {
            "desc-preproc_T1w.json": {
                "Description": "T1w image, reoriented; the sidecar of each says what was done"
            },
            "desc-brain_mask.json": {
                "Type": "Brain", "Description": "Brain, estimated from the T1w image",
            },
            "probseg.json": {
                "Description": "Probability of grey matter, white matter and cerebrospinal fluid",
            },
        },
    ),
    "results/timeseries": Derivative(
        "Regional time series of NOTEARS-PFL",
        "Mean signals of an atlas's regions: desc-raw before and desc-clean after confounds,\n"
        "trend and frequencies outside the band were removed. Each has one column per region.\n",
    ),
}  # fmt: skip


def dataset_description(folder: str, sources: Sequence[str]) -> dict[str, Any]:
    """Content of the folder's dataset_description.json; ``sources`` are datasets it comes from."""
    return {
        "Name": DERIVATIVES[folder].name,
        "BIDSVersion": BIDS_VERSION,
        "DatasetType": "derivative",
        "GeneratedBy": [{"Name": "notears-pfl", "Version": __version__}],
        "SourceDatasets": [{"URL": source} for source in sources],
    }


def ignored_files() -> str:
    """Content of .bidsignore."""
    return "".join(f"{pattern}\n" for pattern in _IGNORED)
