"""``notears-pfl study`` on real data sets: settings, checks without jobs, and what a run shows."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import yaml

from notears_pfl.command.locks import NOTE

from .conftest import ROOT, StudyFolder, new_study, with_series
from .own_dataset import AT_START, name_of


def pfl(folder, *arguments):
    """Run the command in a folder, without a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "notears_pfl", "study", *map(str, arguments)],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip


def files_in(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


@pytest.fixture(scope="module")
def phantom_bids(finished_run, tmp_path_factory):
    """Set up and check a study of the phantom's own BIDS dataset, as a user's."""
    folder = tmp_path_factory.mktemp("phantom")
    new = pfl(folder, "new", finished_run.path / "results/bids")
    return folder, new, pfl(folder, "check", "config/my_study.yaml")


def test_the_phantoms_bids_is_found_set_up_and_planned(phantom_bids):
    _, new, check = phantom_bids

    assert new.returncode == 0, new.stdout + new.stderr
    assert "raw BIDS, table of 8 subjects" in new.stdout
    assert "groups (column group): HC 4, MDD 4" in new.stdout
    assert check.returncode == 0, check.stdout + check.stderr
    assert "All checks passed" in check.stdout
    assert re.search(r"^\d+ jobs: .*Preprocessing \d+", check.stderr, re.MULTILINE)


def test_checking_a_study_starts_no_job(phantom_bids):
    folder, _, _ = phantom_bids

    assert not [f for f in files_in(folder) if not f.startswith(("config/", ".snakemake/"))]


def test_everything_that_headers_and_sidecars_show_is_listed_at_once(bids_study, tmp_path):
    done = pfl(tmp_path, "new", bids_study.path.parent / "dataset")
    again = pfl(tmp_path, "check", "config/my_study.yaml")

    assert (done.returncode, again.returncode) == (1, 1)
    for told in (done.stdout, again.stdout):
        assert f"{len(AT_START)} of 17 subjects cannot be used" in told
        for spoil, words in AT_START.items():
            assert name_of(spoil) in told
            assert words in told


@pytest.fixture(scope="module")
def series_run(tmp_path_factory):
    """Run a study of series with a bad subject up to the cohort, then with a site that is lost."""
    study = with_series(new_study(tmp_path_factory.mktemp("series")))
    with np.load(study.path / "series.npz") as file:
        arrays = dict(file)
    first = run_with(study, arrays, ["sub-PITTASD1"])
    second = run_with(study, arrays, [f"sub-PITTASD{i}" for i in range(4)])
    return first, second


def run_with(study, arrays, constant):
    flat = dict.fromkeys(constant, np.zeros((100, 116)))
    np.savez(study.path / "series.npz", **{**arrays, **flat})
    target = "results/cohort/participants.tsv"
    return pfl(study.path, "run", "config/config.yaml", "--cores", "1", "--", target)


def test_a_run_shows_a_line_per_stage_and_who_failed_when_they_fail(series_run):
    first, _ = series_run

    assert first.returncode == 0, first.stderr
    lines = first.stderr.splitlines()
    assert lines[0] == "3 jobs: Ingestion 2, Cohort 1"
    assert re.match(r"Ingestion +begins: 2 jobs", lines[1])
    assert lines[2].startswith("Ingestion: sub-PITTASD1 failed and is left out: series.npz: 56 ")
    assert re.match(r"Ingestion +2 of 2 jobs done in \d+ s", lines[3])
    assert len(lines) == 6
    assert "\x1b" not in first.stderr
    assert "19 of 20 subjects are included" in first.stdout


def test_a_job_that_fails_is_named_with_its_reason_and_log_and_nothing_else(series_run):
    _, second = series_run

    assert second.returncode == 1
    assert "Cohort: a job of the rule cohort failed: CohortError: site PITT, group ASD" in (
        second.stderr
    )
    assert "  Its whole log: logs/cohort.log" in second.stderr
    assert second.stderr.count("cannot be split") == 1
    assert "Traceback" not in second.stderr
    assert "give the same command again" in second.stdout


def test_a_study_that_cannot_run_is_refused_in_the_words_of_its_checks(study):
    config = yaml.safe_load((study.path / "config/config.yaml").read_text())
    config["groups"] = {"patients": "HC", "controls": "HC"}
    (study.path / "bad.yaml").write_text(yaml.safe_dump(config))

    done = pfl(study.path, "run", "bad.yaml")

    assert done.returncode == 1
    assert done.stderr.startswith("This study cannot be run as it is configured.\n")
    assert "bad.yaml + config/config.yaml: " in done.stderr
    assert "groups.patients and groups.controls are both 'HC'" in done.stderr
    assert "File " not in done.stderr


def test_a_folder_without_the_default_settings_is_refused(tmp_path):
    (tmp_path / "mine.yaml").write_text("seed: 1\n")

    for action in ("check", "run"):
        done = pfl(tmp_path, action, "mine.yaml")
        assert done.returncode == 1
        assert "config/config.yaml: not in" in done.stdout + done.stderr


def test_a_wrong_option_of_snakemake_is_named(study):
    done = pfl(study.path, "run", "config/config.yaml", "--", "--nonsense")

    assert done.returncode == 2
    assert "unrecognized arguments: --nonsense" in done.stderr


def test_options_of_snakemake_are_for_runs_alone(study):
    done = pfl(study.path, "check", "config/config.yaml", "--", "--forceall")

    assert done.returncode == 2
    assert "only notears-pfl study run takes options of Snakemake" in done.stderr


@pytest.fixture
def under_way(tmp_path):
    """Start a run in a folder of its own, and wait until it has locked it."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    run = subprocess.Popen(
        [sys.executable, "-m", "notears_pfl", "study", "run", "config/config.yaml"],
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        while not [*tmp_path.glob(".snakemake/locks/*.output.lock")]:
            assert run.poll() is None
            time.sleep(0.1)
        yield run
    finally:
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGKILL)
            run.wait()


def test_a_killed_run_is_named_and_unlocked(under_way, tmp_path):
    alive = pfl(tmp_path, "unlock")
    os.killpg(under_way.pid, signal.SIGKILL)
    under_way.wait()
    again = pfl(tmp_path, "run", "config/config.yaml")
    unlocked = pfl(tmp_path, "unlock")
    planned = pfl(tmp_path, "run", "config/config.yaml", "--", "--dry-run")

    assert (alive.returncode, again.returncode) == (1, 1)
    assert f"(process {under_way.pid}, begun on" in alive.stdout
    assert f"still locked by a run that was killed (process {under_way.pid}" in again.stderr
    assert "notears-pfl study unlock" in again.stderr
    assert (unlocked.returncode, planned.returncode) == (0, 0)
    assert "locked" not in planned.stderr


def test_jobs_plan_from_the_record_of_their_run_whatever_else_is_started(under_way, tmp_path):
    record, note = tmp_path / ".snakemake/study_source.pickle", tmp_path / NOTE
    before = record.read_bytes(), note.read_bytes()
    study = StudyFolder(tmp_path)
    study.edit_table("sites", lambda sites: sites.iloc[:2])

    checked = pfl(tmp_path, "check", "config/config.yaml")
    summary = study.snakemake("--summary")
    refused = study.snakemake("--cores", "1")

    assert (checked.returncode, summary.returncode, refused.returncode) == (0, 0, 1)
    assert "Directory cannot be locked" in refused.stderr
    assert (record.read_bytes(), note.read_bytes()) == before


def test_a_run_of_a_part_keeps_a_record_for_its_jobs(study):
    record = study.path / ".snakemake/study_source.pickle"
    with_series(study)
    assert study.snakemake("--dry-run").returncode == 0
    assert not record.exists()

    study.run("--until", "ingest_timeseries")

    assert record.is_file()
    assert (study.path / NOTE).read_text() == ""
