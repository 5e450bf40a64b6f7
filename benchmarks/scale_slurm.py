"""A study of 2,000 subjects on a SLURM cluster of this machine, killed half-way and resumed.

    OMP_NUM_THREADS=1 python benchmarks/scale_slurm.py [SUBJECTS]

Needs root, for the cluster (tests/slurm/start). Series are synthetic: at 50 sites, half of the
subjects are patients. When half of the series are ready, Snakemake and all of its jobs are killed;
then the run is resumed. The same study, run on this machine without interruption, says what the
results must be.
"""

import hashlib
import os
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
import yaml
from scaling import ROOT, Row, cost_of

N_SITES, N_SUBJECTS, N_VOLUMES = 50, 2000, 60
GROUPS = {"patients": "MDD", "controls": "HC"}
SLURM = ROOT / "tests/slurm"
PROFILE = ROOT / "workflow/profiles/slurm"
SERIES = "results/timeseries"
# The subjects' series, pages and all that every study makes of them; few draws.
SETTINGS = {
    "subjects_per_job": 1,
    "source": {
        "kind": "timeseries", "participants": "participants.tsv", "series": "series.npz",
        "site_column": "site", "group_column": "group",
    },
    "groups": GROUPS,
    "evidence": {"quick": {"permutations": 19, "weight_permutations": 99, "bootstraps": 10}},
    "comparison": {"n_draws": 2, "baselines": ["granger"], "permutations": 99},
}  # fmt: skip


def write_study(folder: Path, n_subjects: int) -> None:
    """Write participants, their series and settings."""
    rng = np.random.default_rng(0)
    rows, arrays = [], {}
    for number in range(n_subjects):
        site, group = f"S{number % N_SITES:02d}", [*GROUPS.values()][number // N_SITES % 2]
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
    subprocess.run(["make", "-C", str(folder), "-f", str(ROOT / "Makefile"), "cancel"], check=True)
    while ask("squeue", "--noheader"):
        time.sleep(0.5)


def ask(*command: str) -> str:
    """Give what a command prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def checksums(folder: Path) -> dict[str, str]:
    """Digests of all results but those that tell the time or the command."""
    varying = ("index.html", "cost.tsv", "provenance.json")
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((folder / "results").rglob("*"))
        if path.is_file() and not path.name.endswith(varying)
    }


def rows(n_subjects: int = N_SUBJECTS) -> Iterator[Row]:
    """Give the rows of the table."""
    size = ("slurm", N_SITES, n_subjects, 116)
    with tempfile.TemporaryDirectory() as temporary:
        here = Path(temporary)
        write_study(here / "cluster", n_subjects)
        write_study(here / "local", n_subjects)
        subprocess.run([SLURM / "start", here / "slurm"], check=True)
        try:
            kill_half_way(here / "cluster", n_subjects)
            before = series(here / "cluster")
            killed = len(ask("squeue", "--noheader", "--states=all").splitlines())
            yield Row(*size, "series ready at the kill", len(before), "")
            subprocess.run(snakemake(here / "cluster", "--unlock"), check=True, capture_output=True)
            subprocess.run(on_cluster(here / "cluster"), check=True, stderr=subprocess.DEVNULL)
            total = len(ask("squeue", "--noheader", "--states=all").splitlines())
        finally:
            subprocess.run([SLURM / "stop", here / "slurm"], check=True)
        after = series(here / "cluster")
        twice = sum(after.get(name) != found for name, found in before.items())
        yield Row(*size, "series ready at the end", len(after), "")
        yield Row(*size, "series ready at the kill and made again", twice, "")
        yield Row(*size, "SLURM jobs before the kill", killed, "")
        yield Row(*size, "SLURM jobs after it", total - killed, "")
        local = cost_of(snakemake(here / "local", "--cores", "2", "--quiet", "all"))
        yield Row(*size, "CPU seconds of the run without SLURM", local.cpu_s, "CPU s")
        wanted, found = checksums(here / "local"), checksums(here / "cluster")
        differ = {name for name in {*wanted, *found} if wanted.get(name) != found.get(name)}
        yield Row(*size, "results that differ from the run without SLURM", len(differ), "")


if __name__ == "__main__":
    for row in rows(*map(int, sys.argv[1:])):
        print(*row, sep="\t", flush=True)
