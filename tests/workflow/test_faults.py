"""A full disk, a folder that takes no writes, a file that is not there, one job that dies."""

import contextlib
import os
import subprocess

import pytest

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
