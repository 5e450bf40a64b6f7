"""The phantom cohort: subjects, acquisition protocol of each site, and BIDS metadata."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from notears_pfl.acquisition import scanner_sidecar, slice_times
from notears_pfl.seeds import stream

# Mean and standard deviation of age in years, and of Beck's inventory by group.
AGE = (42.0, 11.0)
AGE_RANGE = (20, 75)
BDI = {"patients": (30.0, 8.0), "controls": (6.0, 5.0)}
BDI_RANGE = (0, 63)

PARTICIPANTS_SIDECAR = {
    "site": {"Description": "Where the subject was scanned"},
    "group": {"Description": "Patients or controls"},
    "age": {"Description": "Age, drawn at random", "Units": "year"},
    "sex": {"Description": "Sex, drawn at random", "Levels": {"F": "female", "M": "male"}},
    "bdi": {"Description": "Beck Depression Inventory II, total, drawn at random"},
}

README = """\
Phantom cohort
==============
Every image in this dataset was computed; no person was scanned. Brains are the MNI152 template,
deformed; skull, scalp, face and neck are drawn around them. The regions that carry signal are a
surrogate parcellation grown from the MNI coordinates of an atlas's regions (AAL's unless another
table was given): they are not that atlas.
Age, sex and BDI are random numbers. The true networks, movement, ROI series and deformations lie
beside this dataset, in ../phantom/truth.
"""


@dataclass(frozen=True)
class Protocol:
    """One site's BOLD and T1w acquisition, reduced in space."""

    repetition_time: float
    n_volumes: int
    slice_times: np.ndarray
    shape: tuple[int, int, int]
    voxel_mm: np.ndarray
    t1w_voxel_mm: np.ndarray
    reduction: float


def site_protocol(site: Mapping[str, Any], reduction: float) -> Protocol:
    """Protocol of a row of the sites table, with voxels ``reduction`` times larger."""
    n_slices, in_plane = round(site["n_slices"] / reduction), round(site["matrix"] / reduction)
    spacing_mm = site["slice_thickness_mm"] + site["slice_gap_mm"]
    return Protocol(
        repetition_time=site["repetition_time"],
        n_volumes=site["n_volumes"],
        slice_times=slice_times(n_slices, site["repetition_time"], site["slice_order"]),
        shape=(in_plane, in_plane, n_slices),
        voxel_mm=np.array([site["in_plane_mm"], site["in_plane_mm"], spacing_mm]) * reduction,
        t1w_voxel_mm=np.array([site["t1_thickness_mm"], *[site["t1_in_plane_mm"]] * 2]) * reduction,
        reduction=reduction,
    )


def list_subjects(sites: pd.DataFrame, groups: tuple[str, str]) -> pd.DataFrame:
    """Name every subject: ``participant_id``, ``site``, ``group``; patients first at each site.

    A subject keeps its name, and so its random draws, when other counts change.
    """
    columns = ("phantom_patients", "phantom_controls")
    rows = [
        {"participant_id": f"sub-{site}{group}{number:03d}", "site": site, "group": group}
        for site, counts in sites.iterrows()
        for group, column in zip(groups, columns, strict=True)
        for number in range(1, counts[column] + 1)
    ]
    return pd.DataFrame(rows)


def participants_table(subjects: pd.DataFrame, patients: str, seed: int) -> pd.DataFrame:
    """Content of participants.tsv for the subjects of :func:`list_subjects`."""
    people = [
        draw_person(stream(seed, "person", name), group == patients)
        for name, group in zip(subjects["participant_id"], subjects["group"], strict=True)
    ]
    return subjects.join(pd.DataFrame(people))


def draw_person(rng: np.random.Generator, is_patient: bool) -> dict[str, Any]:
    """Draw the columns of participants.tsv that describe a person."""
    bdi = BDI["patients" if is_patient else "controls"]
    return {
        "age": int(np.clip(round(rng.normal(*AGE)), *AGE_RANGE)),
        "sex": str(rng.choice(["F", "M"])),
        "bdi": int(np.clip(round(rng.normal(*bdi)), *BDI_RANGE)),
    }


def dataset_description(version: str) -> dict[str, Any]:
    """Content of dataset_description.json."""
    return {
        "Name": "Phantom cohort of NOTEARS-PFL",
        "BIDSVersion": "1.10.0",
        "DatasetType": "raw",
        "License": "CC0",
        "Authors": ["NOTEARS-PFL developers"],
        "HowToAcknowledge": "No acknowledgement is needed: the data were computed.",
        "GeneratedBy": [{"Name": "notears-pfl", "Version": version}],
    }


def bold_sidecar(site: Mapping[str, Any], protocol: Protocol) -> dict[str, Any]:
    """Sidecar of the BOLD image; slice times count from the lowest slice, along axis k."""
    return {
        "TaskName": "rest",
        "RepetitionTime": site["repetition_time"],
        "EchoTime": site["echo_time_ms"] / 1000,
        "FlipAngle": site["flip_angle_deg"],
        "SliceTiming": [round(float(t), 6) for t in protocol.slice_times],
        "SliceEncodingDirection": "k",
        "SliceThickness": site["slice_thickness_mm"] * protocol.reduction,
        "SpacingBetweenSlices": float(protocol.voxel_mm[2]),
        "Instructions": "Relax, stay awake, look at the cross. (Computed: nobody was scanned.)",
        **scanner_sidecar(site),
    }
