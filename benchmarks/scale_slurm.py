"""A study of 2,000 subjects on a SLURM cluster of this machine, killed half-way and resumed.

    OMP_NUM_THREADS=1 python benchmarks/scale_slurm.py [SUBJECTS]

Needs root, for the cluster (tests/slurm/start). Series are synthetic: 40 subjects at each site,
half of them patients. When half of the series are ready, Snakemake and all of its jobs are killed;
then the run is resumed. The same study, run on this machine without interruption, says what the
results must be.
"""

import ctypes
import hashlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import yaml
from scaling import ROOT, Row, cost_of

N_SUBJECTS, N_VOLUMES, SUBJECTS_PER_SITE = 2000, 60, 40
GROUPS = {"patients": "MDD", "controls": "HC"}
SLURM = ROOT / "tests/slurm"
PROFILE = ROOT / "workflow/profiles/slurm"
SERIES = "results/timeseries"
# prctl's number for: processes whose parents have ended become children of this one.
PR_SET_CHILD_SUBREAPER = 36
# The subjects' series, pages and all that every study makes of them; few draws.
SETTINGS = {
    "subjects_per_job": 1,
    "source": {
        "kind": "timeseries", "participants": "participants.tsv", "series": "series.npz",
        "site_column": "site", "group_column": "group",
    },
    "groups": GROUPS,
    "cohort": {"limits": {"min_volumes": 40}},
    "evidence": {"quick": {"permutations": 19, "weight_permutations": 99, "bootstraps": 10}},
    "comparison": {"n_draws": 2, "baselines": ["granger"], "permutations": 99},
}  # fmt: skip


def n_sites_of(n_subjects: int) -> int:
    """Give the number of sites; fewer than two are no study."""
    return max(2, n_subjects // SUBJECTS_PER_SITE)


def write_study(folder: Path, n_subjects: int) -> None:
    """Write participants, their series and settings."""
    rng, n_sites = np.random.default_rng(0), n_sites_of(n_subjects)
    rows, arrays = [], {}
    for number in range(n_subjects):
        site, group = f"S{number % n_sites:02d}", [*GROUPS.values()][number // n_sites % 2]
        who = f"sub-{number:05d}"
        rows.append((who, site, group))
        series = rng.standard_normal((N_VOLUMES, 116), dtype=np.float32)
        series[:, 1:] += 0.5 * series[:, :-1]
        arrays[who] = series
    folder.mkdir()
    table = pd.DataFrame(rows, columns=["participant_id", "site", "group"])
    table.to_csv(folder / "participants.tsv", sep="\t", index=False)
    np.savez(folder / "series.npz", **arrays)
    shutil.copytree(ROOT / "config", folder / "config")
    (folder / "study.yaml").write_text(yaml.safe_dump(SETTINGS))


def snakemake(folder: Path, *options: str) -> list[str]:
    """Command line of Snakemake on the study in a folder."""
    call = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile")]
    return [*call, "--directory", str(folder), "--configfile", str(folder / "study.yaml"), *options]


def on_cluster(folder: Path) -> list[str]:
    """Command line of Snakemake on the cluster."""
    return snakemake(folder, "--profile", str(PROFILE), "--quiet", "all")


def series(folder: Path) -> dict[str, tuple[int, int]]:
    """Time and inode of every finished series: both change when it is written again."""
    found = {}
    for path in (folder / SERIES).glob("sub-*_timeseries.tsv"):
        status = path.stat()
        found[path.name] = (status.st_mtime_ns, status.st_ino)
    return found


def kill_half_way(folder: Path, n_subjects: int) -> None:
    """Start the study on the cluster; kill it and its jobs when half of the series are ready."""
    run = subprocess.Popen(
        on_cluster(folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    while len(series(folder)) < n_subjects // 2:
        if run.poll() is not None:
            sys.exit("The run ended before half of the series were ready.")
        time.sleep(0.2)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    make = ["make", "--no-print-directory", "-C", str(folder), "-f", str(ROOT / "Makefile")]
    subprocess.run([*make, "cancel"], check=True)
    while any(process.info["cwd"] == str(folder) for process in psutil.process_iter(["cwd"])):
        time.sleep(0.5)


def resume(folder: Path) -> None:
    """Unlock the study and run it to its end on the cluster."""
    subprocess.run(snakemake(folder, "--unlock"), check=True, capture_output=True)
    done = subprocess.run(on_cluster(folder), check=False, capture_output=True, text=True)
    if done.returncode != 0:
        logs = sorted((folder / "logs/slurm").iterdir(), key=lambda log: log.stat().st_mtime)
        last = "\n".join(log.read_text()[-2000:] for log in logs[-3:])
        sys.exit(f"The resumed run failed.\n{done.stderr[-3000:]}\n{last}")


def n_jobs(*states: str) -> int:
    """Count the jobs that the cluster has had, or those that ended in one of the states."""
    wanted = ",".join(states) or "all"
    return len(ask("squeue", "--noheader", f"--states={wanted}").splitlines())


def ask(*command: str) -> str:
    """Give what a command prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def checksums(folder: Path) -> dict[str, str]:
    """Give the digests of all results but those that tell the time or the command."""
    varying = ("index.html", "cost.tsv", "provenance.json")
    files = {*(folder / "results").rglob("*")} - half_written(folder)
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(files)
        if path.is_file() and not path.name.endswith(varying)
    }


def half_written(folder: Path) -> set[Path]:
    """Give the files, under names that nothing reads, that jobs were writing when killed."""
    return {*(folder / "results").rglob(".writing-*")}


def cpu_seconds() -> float:
    """CPU seconds of all that this process has started and that has ended, daemons included."""
    while any_child_ended():
        pass
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def any_child_ended() -> bool:
    """Collect a process that has ended, if there is one."""
    try:
        return os.waitpid(-1, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return False


def rows(n_subjects: int = N_SUBJECTS) -> Iterator[Row]:
    """Give the rows of the table."""
    size = ("slurm", n_sites_of(n_subjects), n_subjects, 116)
    with tempfile.TemporaryDirectory() as temporary:
        here = Path(temporary).resolve()
        write_study(here / "cluster", n_subjects)
        write_study(here / "local", n_subjects)
        yield from of_cluster(here, n_subjects, size)
        local = cost_of(snakemake(here / "local", "--cores", "2", "--quiet", "all"))
        yield Row(*size, "CPU seconds of the run without SLURM", local.cpu_s, "CPU s")
        wanted, found = checksums(here / "local"), checksums(here / "cluster")
        differ = {name for name in {*wanted, *found} if wanted.get(name) != found.get(name)}
        print(*sorted(differ), sep="\n", file=sys.stderr)
        yield Row(*size, "results", len(wanted), "files")
        yield Row(*size, "results that differ from the run without SLURM", len(differ), "files")


def of_cluster(here: Path, n_subjects: int, size: tuple) -> Iterator[Row]:
    """Give the rows about the killed and the resumed run."""
    study, began, cpu_before = here / "cluster", time.monotonic(), cpu_seconds()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    subprocess.run([SLURM / "start", here / "slurm", "1"], check=True)
    try:
        kill_half_way(study, n_subjects)
        before, at_kill, cancelled = series(study), n_jobs(), n_jobs("cancelled")
        killed = time.monotonic()
        resume(study)
        ended, after, jobs, done = time.monotonic(), series(study), n_jobs(), n_jobs("completed")
    finally:
        subprocess.run([SLURM / "stop", here / "slurm"], check=True)
    again = sum(after.get(name) != found for name, found in before.items())
    yield Row(*size, "series ready at the kill", len(before), "")
    yield Row(*size, "series ready at the end", len(after), "")
    yield Row(*size, "series ready at the kill and made again", again, "")
    yield Row(*size, "half-written files left by the kill", len(half_written(study)), "")
    yield Row(*size, "SLURM jobs before the kill", at_kill, "")
    yield Row(*size, "SLURM jobs cancelled by the kill", cancelled, "")
    yield Row(*size, "SLURM jobs after the kill", jobs - at_kill, "")
    yield Row(*size, "SLURM jobs that failed", jobs - done - cancelled, "")
    yield Row(*size, "elapsed seconds to the kill", killed - began, "s")
    yield Row(*size, "elapsed seconds of the resumed run", ended - killed, "s")
    yield Row(*size, "CPU seconds on the cluster", cpu_seconds() - cpu_before, "CPU s")


if __name__ == "__main__":
    for row in rows(*map(int, sys.argv[1:])):
        print(*row, sep="\t", flush=True)
