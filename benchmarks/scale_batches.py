"""The default run, `make run`'s, with one subject per job and with batches of subjects.

    OMP_NUM_THREADS=1 python benchmarks/scale_batches.py

Runs the phantom study from images to report twice on two cores, and counts the results that differ:
those under results/ but the lists of batches, and what tells the time or the command.
"""

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from scale_slurm import checksums
from scaling import ROOT, Row, cost_of

WAYS = {"one subject per job": "subjects_per_job: 1\n", "batches": "{}\n"}
SIZE = ("batches", 5, 100, 56)
LISTS = "results/batches/"


def run(folder: Path, settings: str) -> tuple[float, float]:
    """Run the study in a folder; return CPU and elapsed seconds."""
    folder.mkdir()
    shutil.copytree(ROOT / "config", folder / "config")
    (folder / "study.yaml").write_text(settings)
    snakemake = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile")]
    study = ["--directory", str(folder), "--configfile", str(folder / "study.yaml")]
    began = time.monotonic()
    cost = cost_of([*snakemake, *study, "--cores", "2", "--quiet", "all"])
    return cost.cpu_s, time.monotonic() - began


def rows() -> Iterator[Row]:
    """Give the rows of the table."""
    with tempfile.TemporaryDirectory() as temporary:
        found = []
        for way, settings in WAYS.items():
            folder = Path(temporary).resolve() / way.split()[0]
            cpu_s, elapsed_s = run(folder, settings)
            yield Row(*SIZE, f"default run, {way}", cpu_s, "CPU s")
            yield Row(*SIZE, f"default run, {way}, elapsed", elapsed_s, "s")
            results = checksums(folder)
            found.append({name: at for name, at in results.items() if not name.startswith(LISTS)})
        first, second = found
        differ = {name for name in {*first, *second} if first.get(name) != second.get(name)}
        print(*sorted(differ), sep="\n", file=sys.stderr)
        yield Row(*SIZE, "results", len(second), "files")
        yield Row(*SIZE, "results that differ", len(differ), "files")


if __name__ == "__main__":
    for row in rows():
        print(*row, sep="\t", flush=True)
