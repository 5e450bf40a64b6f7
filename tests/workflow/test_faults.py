"""A full disk, a folder that takes no writes, a file that is not there, one job that dies.

And a machine that fails while a subject's file is read or written: the job fails, not the subject.
"""

import contextlib
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from .conftest import FEW_DRAWS, StudyFolder, with_series

NETWORKS = "results/phantom/truth/edges.tsv"
as_root = pytest.mark.skipif(
    os.geteuid() != 0 and not os.environ.get("CI"), reason="only root may mount"
)


@contextlib.contextmanager
def mounted(folder, *options):
    """Mount a file system on ``folder`` and take it away in the end."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", *options, str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@as_root
def test_a_full_disk_is_named_and_more_room_lets_the_run_go_on(study):
    folder = study.path / "results"

    with mounted(folder, "-t", "tmpfs", "-o", "size=64k", "tmpfs"):
        done = study.snakemake("--cores", "1", NETWORKS)
        assert done.returncode != 0
        assert "cannot be written: No space left on device. Free some space" in done.stderr
        assert not (study.path / NETWORKS).exists()

        subprocess.run(["mount", "-o", "remount,size=10m", str(folder)], check=True)
        study.run("--rerun-incomplete", NETWORKS)
        on_tmpfs = study.checksums()

    study.run("--forceall", NETWORKS)
    assert on_tmpfs == study.checksums()
    assert len(on_tmpfs) == 11


@as_root
def test_a_results_folder_that_takes_no_writes_is_refused_before_any_job(study):
    with mounted(study.path / "results", "-t", "tmpfs", "-o", "ro", "tmpfs"):
        done = study.snakemake("--cores", "1", NETWORKS)

    assert done.returncode != 0
    assert f"{study.path}/results: cannot be written to. Make the folder writable" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_that_is_not_there_is_named_with_the_rule_that_needs_it(study):
    study.edit_config(rois__atlas="data/AAL116.nii.gz")

    done = study.snakemake("--cores", "1")

    assert done.returncode != 0
    assert "Missing input files for rule atlas" in done.stderr
    assert "data/AAL116.nii.gz" in done.stderr
    assert not (study.path / "results").exists()


def test_a_job_that_dies_leaves_the_others_their_results(small_study):
    """With --keep-going everything that does not need the dead job's file is made."""
    # No subject can be scanned without the truth of its group and site; this one is a folder.
    broken = small_study.path / "results/bids/README"
    (broken / "in_the_way").mkdir(parents=True)

    done = small_study.snakemake(
        "--cores", "1", "--keep-going", "--", "results/bids/participants.tsv", NETWORKS
    )

    assert done.returncode != 0
    assert "phantom_dataset" in done.stderr
    assert (small_study.path / NETWORKS).exists()
    assert not (small_study.path / "results/bids/participants.tsv").exists()


# Python runs this before a job's script. Files of certain names fail, as on a bad day.
BAD_DAY = """
import builtins, io, json, os, sys

if sys.orig_argv[-1].endswith(tuple(os.environ["FAILING_SCRIPTS"].split())):
    faults, whole = json.loads(os.environ["FAULTS"]), builtins.open

    def failing(file, *arguments, **options):
        for ending, (number, times) in faults.items():
            past = f"{os.environ['PAST_FAULTS']}/{ending}"
            n_past = os.path.getsize(past) if os.path.exists(past) else 0
            if not isinstance(file, int) and str(file).endswith(ending) and n_past < times:
                with whole(past, "a") as count:
                    count.write("x")
                raise OSError(number, os.strerror(number)) if number else MemoryError
        return whole(file, *arguments, **options)

    builtins.open = io.open = failing
"""
ALWAYS = 1000
SUBJECTS = ("COIHC001", "COIHC002", "COIMDD001", "COIMDD002")


@pytest.fixture
def bad_day(tmp_path, monkeypatch):
    """Give a function that sets (errno, or 0 for memory; how often) by the ending of a name."""
    folder = tmp_path / "bad_day"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(BAD_DAY)
    (folder / "past").mkdir()

    def set_faults(scripts, faults):
        monkeypatch.setenv("PYTHONPATH", str(folder), prepend=":")
        monkeypatch.setenv("FAILING_SCRIPTS", scripts)
        monkeypatch.setenv("PAST_FAULTS", str(folder / "past"))
        monkeypatch.setenv("FAULTS", json.dumps(faults))

    return set_faults


@pytest.fixture
def preprocessed(preprocessed_once, tmp_path):
    """Give a copy of the preprocessed study that may be changed."""
    shutil.copytree(preprocessed_once.path, tmp_path / "study")
    return StudyFolder(tmp_path / "study")


def test_memory_and_disk_fail_jobs_and_no_subject_and_a_plain_rerun_completes(
    preprocessed, bad_day
):
    """Each of the four subjects, which are four batches, meets another fault, in three rules."""
    preprocessed.edit_config(subjects_per_job=1)
    preprocessed.run("preprocessing")
    before = preprocessed.checksums()
    series = "results/timeseries/sub-{}_seg-surrogate116_desc-{}_timeseries.json"
    lost = [
        "results/preproc/sub-COIHC001/anat/sub-COIHC001_desc-preproc_T1w.json",
        *(series.format(name, "raw") for name in ("COIHC001", "COIHC002", "COIMDD001")),
        *(series.format(name, "clean") for name in SUBJECTS),
    ]
    reports = [preprocessed.path / report for report in lost]
    for report in reports:
        report.unlink()
    bad_day(
        ".anatomical.py .functional.py .clean_timeseries.py",
        {
            "sub-COIHC001_T1w.nii.gz": (errno.EACCES, ALWAYS),
            "sub-COIHC002_task-rest_bold.nii.gz": (errno.EIO, ALWAYS),
            "sub-COIMDD001_task-rest_bold.nii.gz": (0, ALWAYS),
            "sub-COIMDD002_seg-surrogate116_desc-clean_timeseries.tsv": (errno.ENOSPC, ALWAYS),
        },
    )

    plain = ("preprocessing", "--rerun-triggers", "mtime")

    done = preprocessed.snakemake("--cores", "1", "--keep-going", *plain)

    assert done.returncode != 0
    for line in (
        "sub-COIHC001_T1w.nii.gz: cannot be read: Permission denied. Make the file readable",
        "sub-COIHC002_task-rest_bold.nii.gz: cannot be read: Input/output error. Check that",
        "sub-COIMDD001_task-rest_bold.nii.gz: cannot be read: Out of memory. Run fewer jobs",
        "sub-COIMDD002_seg-surrogate116_desc-clean_timeseries.tsv: cannot be written: No space",
    ):
        assert line in done.stderr
    assert not any(report.exists() for report in reports)

    bad_day("", {})
    preprocessed.run(*plain)

    assert all(json.loads(report.read_text())["status"] == "ok" for report in reports)
    assert preprocessed.checksums() == before


def test_a_fault_in_the_middle_of_a_batch_costs_no_finished_subject(preprocessed, bad_day):
    before = preprocessed.checksums()
    for subject in SUBJECTS:
        name = f"sub-{subject}_seg-surrogate116_desc-raw_timeseries.json"
        (preprocessed.path / "results/timeseries" / name).unlink()
    bad_day(".functional.py", {"sub-COIHC001_task-rest_bold.nii.gz": (errno.EIO, ALWAYS)})
    files = preprocessed.batch("functional")

    done = preprocessed.snakemake("--cores", "1", files)

    assert "sub-COIHC001_task-rest_bold.nii.gz: cannot be read: Input/output" in done.stderr
    assert not (preprocessed.path / files).exists()

    bad_day("", {})
    preprocessed.run(files)

    log = (preprocessed.path / "logs/functional/site-COI_batch-1.log").read_text()
    assert log.count("unchanged, not computed again") == 2
    # Downstream of the batch nothing was asked for.
    after = preprocessed.checksums()
    assert {name for name in before if before[name] != after.get(name)} <= {
        preprocessed.batch("clean_timeseries")
    }


def test_a_job_that_ran_out_of_memory_once_is_tried_again_and_its_subjects_are_in(study, bad_day):
    series = with_series(study)
    bad_day(".ingest_timeseries.py", {"series.npz": (0, 1)})

    done = series.run("--retries", "1", "--", "results/cohort/participants.tsv")

    assert "series.npz: cannot be read: Out of memory" in done.stderr
    table = (series.path / "results/cohort/participants.tsv").read_text()
    assert "failed" not in table
    assert table.count("True") == 20


def test_a_program_that_was_killed_fails_the_job_and_not_the_subject(
    preprocessed, tmp_path, monkeypatch
):
    bet = tmp_path / "programs/bet"
    bet.parent.mkdir()
    bet.write_text(f"#!{sys.executable}\nimport os\nos.kill(os.getpid(), 9)\n")
    bet.chmod(0o755)
    monkeypatch.setenv("PATH", str(bet.parent), prepend=":")
    monkeypatch.setenv("FSLOUTPUTTYPE", "NIFTI")
    preprocessed.edit_config(preproc__engine__brain="fsl")
    files = preprocessed.batch("anatomical")

    done = preprocessed.snakemake("--cores", "1", files)

    assert done.returncode != 0
    assert "sub-COIMDD001_T1w.nii.gz: The program of preproc.engine.brain: cannot" in done.stderr
    assert "Killed, usually for lack of memory" in done.stderr
    assert not (preprocessed.path / files).exists()


def test_a_killed_evidence_run_goes_on_with_the_parts_that_are_missing(study):
    series, target = with_series(study), "results/evidence/counts.tsv"
    # Three jobs of permutations.
    series.edit_config(evidence__quick={**FEW_DRAWS, "permutations": 120})
    series.run("--cores", "1", target)
    undisturbed = series.checksums()
    evidence, logs = series.path / "results/evidence", series.path / "logs/permutation_draws"
    shutil.rmtree(evidence)
    shutil.rmtree(logs)
    parts = [evidence / f"draws/permutation-{part}.npz" for part in range(3)]

    run = series.start("--cores", "1", target)
    deadline = time.monotonic() + 300
    while len(list(logs.glob("*.log"))) < 2:
        assert time.monotonic() < deadline, "no second part was ever begun"
        time.sleep(0.02)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()

    finished = {part: part.stat().st_mtime_ns for part in parts if part.exists()}
    assert len(finished) == 1
    assert not (series.path / target).exists()

    assert series.snakemake("--unlock").returncode == 0
    series.run("--rerun-incomplete", target)

    assert all(part.stat().st_mtime_ns == before for part, before in finished.items())
    after = series.checksums()
    assert {name: after.get(name) for name in undisturbed} == undisturbed
