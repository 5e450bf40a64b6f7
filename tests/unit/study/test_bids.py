"""What is wrong with datasets and their names is said of all at once, never by a crash."""

import errno
import os
from pathlib import Path

import nibabel as nib
import pytest
from tests.tiny_images import tiny_bold

from notears_pfl.errors import DatasetError, StorageError
from notears_pfl.io.bids_tree import BidsTree
from notears_pfl.io.sidecars import write_json
from notears_pfl.study.bids import enrol_datasets, find_normalised_scan, find_raw_scan
from notears_pfl.study.headers import HeaderChecks

CHECKS = HeaderChecks(drop_volumes=10, needs_slice_times=False)


def test_datasets_that_are_not_there_are_all_named(tmp_path):
    roots = {"A": str(tmp_path / "nowhere"), "B": str(tmp_path), "C": str(tmp_path / "gone")}

    with pytest.raises(DatasetError, match=r"/nowhere, .*/gone: no such folder\. Correct source"):
        enrol_datasets({"dataset": roots}, ("MDD", "HC"), CHECKS, find_raw_scan)


def test_a_run_that_is_not_counted_is_a_problem_of_its_subject(tmp_path):
    for kind, name in (("func", "sub-01_task-rest_run-a_bold"), ("anat", "sub-01_T1w")):
        (tmp_path / "sub-01" / kind).mkdir(parents=True)
        (tmp_path / "sub-01" / kind / f"{name}.nii.gz").touch()
    source = {"bold": {"task": "rest"}, "t1w": {}}

    found = find_raw_scan(BidsTree(tmp_path), "sub-01", source, CHECKS)

    assert not found.scans
    assert "run-a_bold.nii.gz is of run-a, but BIDS counts runs by number" in found.problems[0]


@pytest.mark.parametrize(
    ("find", "stem"),
    [(find_raw_scan, "bold"), (find_normalised_scan, "space-MNI_desc-preproc_bold")],
)
def test_a_sidecar_that_the_disk_does_not_give_stops_the_study_and_costs_no_subject(
    find, stem, monkeypatch, tmp_path
):
    (tmp_path / "sub-01/func").mkdir(parents=True)
    (tmp_path / f"sub-01/func/sub-01_task-rest_{stem}.nii.gz").touch()
    write_json({"RepetitionTime": 2.0}, tmp_path / f"sub-01/func/sub-01_task-rest_{stem}.json")
    source = {"bold": {"task": "rest"}, "t1w": {}, "space": "MNI"}

    def fail(path, **_):
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))

    monkeypatch.setattr(Path, "read_bytes", fail)

    with pytest.raises(StorageError, match=r"_bold\.json: cannot be read: Input/output error"):
        find(BidsTree(tmp_path), "sub-01", source, CHECKS)


@pytest.mark.parametrize("has_json", [True, False])
def test_the_description_of_the_confounds_is_found_where_there_is_one(has_json, tmp_path):
    stem = tmp_path / "sub-01/func/sub-01_task-rest_desc-confounds_timeseries"
    stem.parent.mkdir(parents=True)
    nib.save(tiny_bold(), stem.with_name("sub-01_task-rest_space-MNI_desc-preproc_bold.nii.gz"))
    write_json({"RepetitionTime": 2.0}, tmp_path / "task-rest_bold.json")
    for ending in (".tsv", ".json")[: 1 + has_json]:
        stem.with_suffix(ending).touch()
    source = {"bold": {"task": "rest"}, "space": "MNI"}

    (scan,) = find_normalised_scan(BidsTree(tmp_path), "sub-01", source, CHECKS).scans

    assert scan.confounds == f"{stem}.tsv"
    assert scan.confounds_json == (f"{stem}.json" if has_json else None)


def test_fmriprep_run_is_found_beside_its_run_in_the_space_of_the_scan(tmp_path):
    func, space = tmp_path / "sub-01/func", "MNI152NLin2009cAsym"
    func.mkdir(parents=True)
    for stem in ("desc-preproc_bold", f"space-{space}_desc-preproc_bold"):
        nib.save(tiny_bold(), func / f"sub-01_task-rest_{stem}.nii.gz")
        write_json({"RepetitionTime": 2.0}, func / f"sub-01_task-rest_{stem}.json")
    (func / "sub-01_task-rest_desc-confounds_timeseries.tsv").touch()
    source = {"bold": {"task": "rest"}, "space": space}

    found = find_normalised_scan(BidsTree(tmp_path), "sub-01", source, CHECKS)
    (scan,) = found.scans

    assert found.problems == []
    assert scan.run == "task-rest"
    assert scan.sidecars == (str(func / f"sub-01_task-rest_space-{space}_desc-preproc_bold.json"),)
