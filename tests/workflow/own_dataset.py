"""Datasets of a user's own, made from the phantom: good ones, and every kind of bad one."""

import json
import shutil

import nibabel as nib
import numpy as np
import pandas as pd
import yaml
from scipy.spatial import KDTree

from .conftest import ROOT, new_study

GOOD = ["sub-COIMDD001", "sub-COIMDD002", "sub-COIHC001", "sub-COIHC002"]
SOURCE = "sub-COIHC001"
# A subject with three runs: two of SOURCE's, and one that cannot be read.
SEVERAL = "sub-SEVERAL"
LOOSE = {
    "max_mean_fd_mm": 50, "max_share_fd_above": 1, "min_volumes": 2, "min_brain_ml": 0,
    "max_brain_ml": 9999, "min_head_agreement": -1, "min_surface_correction": 0,
    "max_surface_correction": 9, "min_template_agreement_affine": -1, "min_template_agreement": -1,
    "min_affine_volume": 0, "max_affine_volume": 9, "min_jacobian": -9,
    "min_bold_t1w_agreement": 0, "min_brain_coverage": 0,
}  # fmt: skip


def own_study(path, dataset, **source):
    """Give a study of the kind that ``source`` names, with regions that pass for AAL's."""
    study = new_study(path)
    default = yaml.safe_load((ROOT / "config/config.yaml").read_text())["source"]
    study.edit_config(
        source=default | {"dataset": str(dataset)} | source,
        rois__atlas="balls.nii.gz",
        cohort__limits=LOOSE,
    )
    write_balls(study.path / "config/rois.tsv", study.path / "balls.nii.gz")
    return study


def write_balls(rois, path):
    """Write balls around the ROI table's coordinates: regions that pass for AAL's."""
    coordinates = pd.read_csv(rois, sep="\t")[["x", "y", "z"]].to_numpy()
    affine = np.diag([2.0, 2.0, 2.0, 1.0])
    affine[:3, 3] = [-90, -126, -72]
    points = 2 * np.indices((91, 109, 91)).reshape(3, -1).T + affine[:3, 3]
    distance, nearest = KDTree(coordinates).query(points, distance_upper_bound=8)
    labels = np.where(np.isfinite(distance), nearest + 1, 0).reshape(91, 109, 91)
    nib.save(nib.Nifti1Image(labels.astype(np.int16), affine), path)


def truncated(run, sidecar, path):
    nib.save(run, path)
    path.write_bytes(path.read_bytes()[:50_000])


def nan_volume(run, sidecar, path):
    data = np.asarray(run.dataobj, dtype=np.float32)
    data[..., 33] = np.nan
    nib.save(nib.Nifti1Image(data, run.affine), path)


def one_volume(run, sidecar, path):
    nib.save(run.slicer[..., :1], path)


def tr_zero(run, sidecar, path):
    sidecar["RepetitionTime"] = 0
    nib.save(run, path)


def tr_missing(run, sidecar, path):
    del sidecar["RepetitionTime"]
    nib.save(run, path)


def too_many_slice_times(run, sidecar, path):
    sidecar["SliceTiming"] = [*sidecar["SliceTiming"], 0.0]
    nib.save(run, path)


def other_tr(run, sidecar, path):
    run.header["pixdim"][4] = 2.0
    nib.save(run, path)


def not_oriented(run, sidecar, path):
    nib.save(nib.Nifti1Image(np.asanyarray(run.dataobj), None), path)


def late_slice_times(run, sidecar, path):
    sidecar["SliceTiming"] = [1000 * t for t in sidecar["SliceTiming"]]
    nib.save(run, path)


def few_volumes(run, sidecar, path):
    nib.save(run.slicer[..., :30], path)


def half_a_brain(run, sidecar, path):
    data = np.asanyarray(run.dataobj).copy()
    keep = data.shape[2] // 2
    sidecar["SliceTiming"] = sidecar["SliceTiming"][keep:]
    nib.save(run.slicer[:, :, keep:], path)


def constant(run, sidecar, path):
    data = np.asanyarray(run.dataobj)
    still = np.repeat(data[..., 20:21], data.shape[3], axis=3)
    nib.save(nib.Nifti1Image(still, run.affine), path)


# What is wrong, and the words in which the user hears of it.
AT_START = {
    tr_zero: "RepetitionTime is 0 in",
    tr_missing: "RepetitionTime is missing in",
    late_slice_times: "is not a list of seconds from 0 to below TR, 2.5",
    one_volume: "_bold.nii.gz: at least 13 volumes were needed",
    too_many_slice_times: "_bold.nii.gz: SliceTiming lists 14 times for 13 slices",
    other_tr: "The repetition time is 2 s in the header of",
    not_oriented: "_bold.nii.gz: a stored orientation was needed",
}
AT_WORK = {
    truncated: "_bold.nii.gz: cannot be read as a NIfTI image",
    nan_volume: "_bold.nii.gz: Volumes [34] contain values that are not finite",
    few_volumes: "20 volumes cannot carry 26 regressors",
    half_a_brain: "of their voxels in the field of view",
    constant: "56 of 56 ROI series do not vary",
}


def name_of(spoil):
    return "sub-" + spoil.__name__.replace("_", "")


def add_bad_subjects(dataset):
    """Copy one subject of ``dataset`` many times, each copy spoilt in its own way."""
    people = pd.read_csv(dataset / "participants.tsv", sep="\t")
    model = people[people["participant_id"] == SOURCE]
    for spoil in (*AT_START, *AT_WORK):
        name = name_of(spoil)
        for folder in ("anat", "func"):
            (dataset / name / folder).mkdir(parents=True)
        stem = f"func/{SOURCE}_task-rest_bold"
        run = nib.load(dataset / SOURCE / f"{stem}.nii.gz")
        sidecar = json.loads((dataset / SOURCE / f"{stem}.json").read_text())
        target = dataset / name / f"func/{name}_task-rest_bold"
        spoil(run, sidecar, target.with_suffix(".nii.gz"))
        target.with_suffix(".json").write_text(json.dumps(sidecar))
        t1w = f"anat/{SOURCE}_T1w.nii.gz"
        shutil.copy(dataset / SOURCE / t1w, dataset / name / t1w.replace(SOURCE, name))
        people = pd.concat([people, model.assign(participant_id=name)])
    people = pd.concat([people, model.assign(participant_id=SEVERAL)])
    people.to_csv(dataset / "participants.tsv", sep="\t", index=False)


def add_subject_with_runs(dataset):
    """Copy a subject's run twice under other numbers, and once cut short."""
    for folder in ("anat", "func"):
        (dataset / SEVERAL / folder).mkdir(parents=True)
    own, theirs = (dataset / name for name in (SEVERAL, SOURCE))
    shutil.copy(theirs / f"anat/{SOURCE}_T1w.nii.gz", own / f"anat/{SEVERAL}_T1w.nii.gz")
    for run in ("run-1", "run-2", "run-3"):
        for ending in (".nii.gz", ".json"):
            shutil.copy(
                theirs / f"func/{SOURCE}_task-rest_bold{ending}",
                own / f"func/{SEVERAL}_task-rest_{run}_bold{ending}",
            )
    bad = own / f"func/{SEVERAL}_task-rest_run-3_bold.nii.gz"
    bad.write_bytes(bad.read_bytes()[:50_000])
