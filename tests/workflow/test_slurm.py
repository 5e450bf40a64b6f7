"""The study on a real SLURM cluster of this machine, and what a killed job, node or run costs."""

import os
import re
import shutil
import signal
import subprocess
import time

import psutil
import pytest
import yaml

from .conftest import ROOT, new_study, shorten, workflow_rules

PROFILE = ROOT / "workflow/profiles/slurm"
SCRIPTS = ROOT / "tests/slurm"


def missing():
    """Say what this machine lacks for a SLURM cluster of its own, if anything."""
    if os.geteuid() != 0:
        return "a SLURM cluster can only be started by root"
    if not shutil.which("slurmctld") and not shutil.which("apt-get"):
        return "SLURM is neither installed nor a Debian package away"
    return None


# Continuous integration runs these tests or fails.
pytestmark = pytest.mark.skipif(missing() and not os.environ.get("CI"), reason=str(missing()))


class Cluster:
    """SLURM as its users see it."""

    def submit(self, study, *arguments):
        """Command line of Snakemake on this cluster, asking for news every second."""
        options = ("--profile", str(PROFILE), "--seconds-between-status-checks", "1")
        return ["timeout", "-k", "10", "1200", *study.command(*options, *arguments)]

    def run(self, study, *arguments):
        """Run a study and expect it to end well."""
        done = subprocess.run(
            self.submit(study, *arguments), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stderr

    def start(self, study, *arguments):
        """Start a run in a process group of its own."""
        nowhere = subprocess.DEVNULL
        return subprocess.Popen(
            self.submit(study, *arguments), stdout=nowhere, stderr=nowhere, start_new_session=True
        )

    def jobs(self, study):
        """Jobs of a study in the order of submission: name, state, memory in MB, node."""
        text = ask("squeue", "--noheader", "--states=all", "--sort=i", "--format=%Z|%k|%T|%m|%N")
        rows = [line.split("|") for line in text.splitlines()]
        return [
            {"name": name, "state": state, "mem_mb": int(memory.removesuffix("M")), "node": node}
            for folder, name, state, memory, node in rows
            if folder == str(study.path)
        ]


def ask(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    folder = tmp_path_factory.mktemp("slurm")
    try:
        subprocess.run([SCRIPTS / "start", folder], check=True, timeout=300)
        yield Cluster()
    finally:
        subprocess.run([SCRIPTS / "stop", folder], check=True, timeout=120)


@pytest.fixture
def half_way(full_study):
    """Give a study whose BOLD images of one site wait to be preprocessed."""
    for path in (full_study.path / "results/timeseries").glob("sub-COI*"):
        path.unlink()
    return full_study


def until(condition, seconds=300):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.1)
    return found


def first_series(study):
    """Whether a batch of subjects runs and one of its results is written."""
    running = [job for job in Cluster().jobs(study) if job["state"] == "RUNNING"]
    written = list((study.path / "results/timeseries").glob("sub-COI*_desc-raw_timeseries.tsv"))
    return running[0] if running and written else None


def series(study):
    return {name: d for name, d in study.checksums().items() if "/timeseries/sub-" in name}


def processes_of(study):
    """List the processes that work in the study's folder."""
    return [p for p in psutil.process_iter(["cwd"]) if p.info["cwd"] == str(study.path)]


def test_the_study_on_the_cluster_gives_the_bytes_of_the_local_run(cluster, full_run, tmp_path):
    study = shorten(new_study(tmp_path))

    cluster.run(study, "--group-components", "start=100", "subjects=1", "findings=100")

    assert study.checksums() == full_run.checksums()
    jobs = cluster.jobs(study)
    assert {job["state"] for job in jobs} == {"COMPLETED"}
    # Four rules of two batches are two jobs; small rules at the start and the end one each.
    groups = [job["name"].split("_")[0] for job in jobs]
    assert [groups.count(name) for name in ("start", "subjects", "findings")] == [1, 2, 1]


def test_a_job_killed_for_memory_is_sent_again_with_more(cluster, full_study, full_run):
    template = "results/preproc/template/tpl-MNI152_probseg.nii.gz"
    (full_study.path / template).unlink()

    too_little_at_first = "brain_template:mem_mb=100*3**(attempt-1)"
    cluster.run(full_study, "--set-resources", too_little_at_first, "--", template)

    first, *others = cluster.jobs(full_study)
    assert first["state"] in ("FAILED", "OUT_OF_MEMORY", "CANCELLED")
    assert [job["mem_mb"] for job in (first, *others)] == [100, 300, 900][: 1 + len(others)]
    assert others[-1]["state"] == "COMPLETED"
    assert full_study.checksums() == full_run.checksums()


def test_a_node_that_goes_down_does_not_lose_the_run(cluster, half_way, full_run):
    run = cluster.start(half_way, "preprocessing")
    node = until(lambda: first_series(half_way))["node"]
    try:
        ask("scontrol", "update", f"nodename={node}", "state=down", "reason=test")
        assert run.wait() == 0
    finally:
        ask("scontrol", "update", f"nodename={node}", "state=resume")

    first, second = cluster.jobs(half_way)
    assert (first["state"], first["node"]) == ("NODE_FAIL", node)
    assert second["state"] == "COMPLETED"
    assert second["node"] != node
    assert series(half_way) == series(full_run)


def test_a_killed_run_and_its_killed_jobs_leave_nothing_half_done(cluster, half_way, full_run):
    run = cluster.start(half_way, "preprocessing")
    until(lambda: first_series(half_way))
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    ask("make", "-C", str(half_way.path), "-f", str(ROOT / "Makefile"), "cancel")
    until(lambda: all(job["state"] == "CANCELLED" for job in cluster.jobs(half_way)))
    # A cancelled job is told so before it has removed what it was writing.
    until(lambda: not processes_of(half_way))

    whole = {name: d for name, d in series(half_way).items() if "/.writing-" not in name}
    assert whole.items() <= series(full_run).items()

    assert half_way.snakemake("--unlock").returncode == 0
    cluster.run(half_way, "preprocessing")
    assert series(half_way) == series(full_run)


def test_memory_and_time_of_every_rule_in_the_profile_grow_with_attempts():
    profile = yaml.safe_load((PROFILE / "config.yaml").read_text())

    asked = [profile["default-resources"], *profile["set-resources"].values()]
    for resources in asked:
        assert str(resources["mem_mb"]).endswith("* attempt")
        assert str(resources["runtime"]).endswith("* attempt")


def test_rules_that_work_out_what_they_need_ask_for_more_with_every_attempt():
    asking = {name: body for name, body in workflow_rules() if "_NEED." in body}

    draws = {"permutation_draws", "bootstrap_draws", "weight_draws"}
    assert {*asking} == draws | {"pooled_fit", "fit_networks", "federated_networks"}
    for body in asking.values():
        assert re.search(r"mem_mb=lambda wildcards, attempt: \w+_NEED.megabytes \* attempt,", body)
        assert re.search(r"runtime=lambda wildcards, attempt: \w+_NEED.minutes \* attempt,", body)


def test_every_rule_in_the_profile_exists():
    profile = yaml.safe_load((PROFILE / "config.yaml").read_text())

    assert {*profile["groups"], *profile["set-resources"]} <= {n for n, _ in workflow_rules()}


def test_a_run_of_fmriprep_gets_on_a_cluster_the_memory_that_its_rule_asks_for():
    profile = yaml.safe_load((PROFILE / "config.yaml").read_text())
    rule = dict(workflow_rules())["fmriprep_run"]

    asked = re.search(r"mem_mb=(\d+)", rule)[1]

    assert profile["set-resources"]["fmriprep_run"]["mem_mb"] == f"{asked} * attempt"


def test_every_rule_of_a_subject_shares_slurm_jobs_with_other_subjects():
    text = "".join(path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk"))
    profile = yaml.safe_load((PROFILE / "config.yaml").read_text())

    of_batches = set(re.findall(r'"logs/(\w+)/site-\{site\}_batch-\{batch\}\.log"', text))
    of_a_subject = set(re.findall(r'"logs/(\w+)/sub-\{subject\}_\{run\}\.log"', text))

    grouped = {rule for rule, group in profile["groups"].items() if group == "subjects"}
    assert grouped == of_batches | of_a_subject
