"""preproc.keep decides which images stay on the disk, and no result."""

import os
import shutil
import time

import pytest

from .conftest import StudyFolder

SUBJECTS = ("COIMDD001", "COIMDD002", "COIHC001", "COIHC002")
WORKING = (
    "results/preproc/sub-{0}/anat/sub-{0}_desc-preproc_T1w.nii.gz",
    "results/preproc/sub-{0}/anat/sub-{0}_probseg.nii.gz",
    "results/preproc/sub-{0}/anat/sub-{0}_from-MNI152_to-T1w_xfm.nii.gz",
)
MASK = "results/preproc/sub-{0}/anat/sub-{0}_desc-brain_mask.nii.gz"
CLEANED = (
    "results/preproc/sub-{0}/func/sub-{0}_task-rest_space-MNI152_desc-clean_bold.nii.gz",
    "results/preproc/sub-{0}/func/sub-{0}_task-rest_space-MNI152_desc-clean_bold.json",
)
LISTS = {"results/batches/anatomical_working/site-COI_batch-1.tsv"}


def of_subjects(*patterns):
    return {pattern.format(who) for pattern in patterns for who in SUBJECTS}


@pytest.fixture
def preprocessed(preprocessed_once, tmp_path):
    """Give a copy of the preprocessed study that may be changed."""
    shutil.copytree(preprocessed_once.path, tmp_path / "study")
    return StudyFolder(tmp_path / "study")


def test_working_images_are_removed_once_used_and_made_again_when_they_are_to_stay(preprocessed):
    before = preprocessed.checksums()
    for rule in ("anatomical", "anatomical_working", "functional", "clean_timeseries"):
        shutil.rmtree(preprocessed.path / "results/batches" / rule)
    shutil.rmtree(preprocessed.path / "results/timeseries")
    preprocessed.edit_config(preproc__keep="minimal")

    preprocessed.run("preprocessing")

    gone = of_subjects(*WORKING) | LISTS
    assert gone <= set(before)
    assert preprocessed.checksums() == {k: v for k, v in before.items() if k not in gone}
    assert of_subjects(MASK) <= set(before)
    assert preprocessed.jobs("preprocessing") == {}

    preprocessed.edit_config(preproc__keep="standard")
    preprocessed.run("preprocessing")

    assert preprocessed.checksums() == before
    log = (preprocessed.path / "logs/functional/site-COI_batch-1.log").read_text()
    assert log.count("unchanged, not computed again") == len(SUBJECTS)


def test_working_images_of_a_finished_study_are_removed_and_nothing_runs_again(preprocessed):
    before = preprocessed.checksums()
    preprocessed.edit_config(preproc__keep="minimal")

    assert preprocessed.jobs("preprocessing") == {}
    assert preprocessed.checksums() == before

    preprocessed.run("preprocessing")

    gone = of_subjects(*WORKING) | LISTS
    assert preprocessed.checksums() == {k: v for k, v in before.items() if k not in gone}


def test_only_a_run_removes_working_images(preprocessed):
    before = preprocessed.checksums()
    preprocessed.edit_config(preproc__keep="minimal")
    locks = preprocessed.path / ".snakemake/locks"

    for options in (["-np"], ["--summary"], ["--unlock"]):
        assert preprocessed.snakemake(*options, "--", "preprocessing").returncode == 0
        assert preprocessed.checksums() == before
    locks.mkdir(exist_ok=True)
    (locks / "0.output.lock").write_text("results/cohort/participants.tsv\n")
    shutil.rmtree(preprocessed.path / "results/timeseries")
    refused = preprocessed.snakemake("--cores", "1", "all")

    assert "Directory cannot be locked" in refused.stderr
    kept = preprocessed.checksums()
    assert of_subjects(*WORKING) <= set(kept)


def test_working_images_that_are_newer_than_what_is_made_of_them_are_kept(preprocessed):
    preprocessed.edit_config(preproc__keep="minimal")
    started = time.time_ns()
    for path in of_subjects(*WORKING) | LISTS:
        os.utime(preprocessed.path / path, ns=(started, started))

    preprocessed.snakemake("--cores", "1", "--", "no_such_target")

    assert of_subjects(*WORKING) | LISTS <= set(preprocessed.checksums())


def test_a_step_that_needs_removed_images_has_them_made_again(preprocessed):
    preprocessed.edit_config(preproc__keep="minimal")
    preprocessed.run("preprocessing")
    before = preprocessed.checksums()
    image = CLEANED[0].format("COIHC002")

    preprocessed.run("--", image)
    preprocessed.run("preprocessing")

    after = preprocessed.checksums()
    assert set(after) - set(before) == {path.format("COIHC002") for path in CLEANED}
    assert {name for name in before if after[name] != before[name]} == set()


def test_cleaned_images_of_all_subjects_are_made_on_request(preprocessed):
    before = preprocessed.checksums()
    preprocessed.edit_config(preproc__keep="all")

    preprocessed.run("preprocessing")

    after = preprocessed.checksums()
    assert set(after) == set(before) | of_subjects(*CLEANED)
    assert {name for name in before if after[name] != before[name]} == set()
    assert preprocessed.jobs("preprocessing") == {}
