"""A raw BIDS dataset of a user's own, through the workflow: good subjects and every bad kind."""

import json
import shutil

import nibabel as nib
import numpy as np
import pandas as pd
import pytest
from tests.tiny_images import tiny_bold, tiny_t1w

from notears_pfl.io.tables import read_table

from .own_dataset import AT_START, AT_WORK, GOOD, SEVERAL, SOURCE, name_of, own_study


@pytest.fixture
def cohort(bids_study):
    table = pd.read_csv(bids_study.path / "results/cohort/participants.tsv", sep="\t")
    return table.set_index("participant_id")


def test_the_good_subjects_are_unharmed_and_the_same_as_in_the_phantoms_own_run(
    bids_study, preprocessed_once, cohort
):
    assert cohort.index[cohort["included"]].tolist() == [*GOOD, SEVERAL]
    for name in GOOD:
        motion = f"results/preproc/{name}/func/{name}_task-rest_desc-motion_timeseries.tsv"
        assert (bids_study.path / motion).read_bytes() == (
            preprocessed_once.path / motion
        ).read_bytes()
        report = (
            bids_study.path / f"results/timeseries/{name}_seg-AAL116_desc-clean_timeseries.json"
        )
        content = json.loads(report.read_text())
        assert content["status"] == "ok"
        assert f"{name}/func/{name}_task-rest_bold.nii.gz" in content["sources"][0]
        assert "AAL from balls.nii.gz" in content["methods"]["roi"]


def test_runs_are_preprocessed_one_by_one_and_joined_and_a_bad_one_is_left_out(bids_study, cohort):
    clean = "results/timeseries/{}_seg-AAL116_desc-clean_timeseries"
    alone, joined = (
        read_table(bids_study.path / f"{clean.format(name)}.tsv") for name in (SOURCE, SEVERAL)
    )
    report = json.loads((bids_study.path / f"{clean.format(SEVERAL)}.json").read_text())

    runs = dict(list(joined.groupby("run", sort=False)))
    assert [*runs] == ["task-rest_run-1", "task-rest_run-2"]
    for run in runs.values():
        pd.testing.assert_frame_equal(run[alone.columns].reset_index(drop=True), alone)
    assert report["n_volumes"] == 2 * len(alone)
    assert "cannot be read as a NIfTI image" in report["runs"]["task-rest_run-3"]["reason"]
    assert "task-rest_run-3 was left out" in cohort.loc[SEVERAL, "cautions"]


@pytest.mark.parametrize("spoil", AT_START, ids=name_of)
def test_what_sidecars_and_headers_show_is_found_before_the_work(cohort, spoil):
    reason = cohort.loc[name_of(spoil), "exclusion"]

    assert reason.startswith("not enrolled: ")
    assert AT_START[spoil] in reason
    assert f"{name_of(spoil)}_task-rest_bold." in reason


@pytest.mark.parametrize("spoil", AT_WORK, ids=name_of)
def test_what_voxels_show_fails_the_subject_with_file_and_reason(cohort, spoil):
    reason = cohort.loc[name_of(spoil), "exclusion"]

    assert reason.startswith("failed: ")
    assert AT_WORK[spoil] in reason
    assert name_of(spoil) in reason


def test_all_that_sidecars_and_headers_show_stops_the_study_at_once_by_default(
    bids_study, tmp_path
):
    study = own_study(tmp_path, bids_study.path.parent / "dataset", kind="bids")

    done = study.snakemake("--cores", "1")

    assert done.returncode != 0
    assert "7 of 17 subjects cannot be used" in done.stderr
    for spoil, words in AT_START.items():
        assert name_of(spoil) in done.stderr
        assert words in done.stderr
    assert not (study.path / "results").exists()


def test_a_cut_off_above_nyquist_is_an_error_of_the_settings(preprocessed_once, tmp_path):
    study = own_study(tmp_path, preprocessed_once.path / "results/bids", kind="bids")
    study.edit_config(preproc__clean__band_hz=[0.01, 0.25])

    done = study.snakemake("--cores", "1")

    assert "band_hz reaches 0.25 Hz, at or above the Nyquist frequency of site COI" in done.stderr


def test_the_surrogate_is_refused_for_data_of_people(preprocessed_once, tmp_path):
    study = own_study(tmp_path, preprocessed_once.path / "results/bids", kind="bids")
    study.edit_config(rois__atlas="surrogate")

    done = study.snakemake("--cores", "1")

    assert "rois.atlas is 'surrogate', which works for the phantom only" in done.stderr


def test_a_single_pilot_subject_can_be_preprocessed_under_its_own_names(tmp_path):
    dataset, name = tmp_path / "dataset", GOOD[0]
    for kind in ("anat", "func"):
        (dataset / name / kind).mkdir(parents=True)
    nib.save(tiny_t1w(), dataset / f"{name}/anat/{name}_T1w.nii.gz")
    for run in ("run-01", "run-02"):
        stem = dataset / f"{name}/func/{name}_task-eyesopen_{run}_bold"
        nib.save(tiny_bold(), f"{stem}.nii.gz")
        stem.with_suffix(".json").write_text('{"RepetitionTime": 2.0}')
    people = pd.DataFrame({"participant_id": [name], "site": ["COI"], "group": ["MDD"]})
    people.to_csv(dataset / "participants.tsv", sep="\t", index=False)
    study = own_study(tmp_path / "study", dataset, kind="bids", bold={"task": "eyesopen"})
    study.edit_config(preproc__slice_timing=False, preproc__drop_volumes=0)
    image = f"results/preproc/{name}/func/{name}_task-eyesopen_run-02_space-MNI152_desc-clean_bold"

    done = study.snakemake("--dry-run", "--cores", "all", "preprocessing", f"{image}.nii.gz")
    refused = study.snakemake("--dry-run")

    assert done.returncode == 0, done.stderr
    said = done.stdout + done.stderr
    assert "no site has both groups, MDD and HC; the groups in the table are MDD" in said
    assert "can only be preprocessed" in said
    assert f"cleaning the BOLD image of {name}, task-eyesopen_run-02" in done.stdout
    assert "1 of 1 subjects have several runs" in said
    assert refused.returncode != 0
    assert "networks need them" in refused.stdout + refused.stderr


def test_a_changed_run_reruns_its_batch_and_computes_its_subject_alone(preprocessed_once, tmp_path):
    dataset = tmp_path / "dataset"
    shutil.copytree(preprocessed_once.path / "results/bids", dataset)
    study = own_study(tmp_path / "study", dataset, kind="bids")
    study.edit_config(subjects_per_job=2)
    lists = [study.batch("clean_timeseries", number=number) for number in (1, 2)]
    study.run("--", *lists)
    assert study.jobs(*lists) == {}
    before = study.checksums()
    path = dataset / f"{SOURCE}/func/{SOURCE}_task-rest_bold.nii.gz"
    run = nib.load(path)
    data = np.asanyarray(run.dataobj).copy()
    data[..., 20:] += 1
    nib.save(nib.Nifti1Image(data, run.affine, run.header), path)

    assert study.jobs(*lists) == {"functional": 1, "clean_timeseries": 1}

    study.run("--", *lists)

    [changed] = [
        log.read_text()
        for log in (study.path / "logs/functional").glob("*.log")
        if "unchanged, not computed again" in log.read_text()
    ]
    assert changed.count("unchanged, not computed again") == 1
    after = study.checksums()
    others = {name for name in before if before[name] != after[name] and SOURCE not in name}
    assert len(others) == 2
    assert all(name.startswith("results/batches/") for name in others)
    assert study.jobs(*lists) == {}
