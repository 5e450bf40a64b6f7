"""Cost of the workflow itself: planning, overhead per job, disk, and what each rule used.

    OMP_NUM_THREADS=1 python benchmarks/workflow_cost.py [FOLDER]

FOLDER is that of a finished study (the current one unless named). Planning is a dry run of
config/srpbs.yaml, the paper's study of 713 subjects, on a release of tiny images. The jobs of a
subject are run on one phantom at full resolution; the overhead of a job is what a script costs that
imports what the rule's does and then does nothing. Rules are read from the tables that Snakemake's
``benchmark:`` leaves in logs/, disk from results/.
"""

import ast
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from tests.workflow.srpbs_release import ACQUISITIONS, PAPER, tiny_release  # noqa: E402

from run_cost import rule_costs, stage_costs  # noqa: E402

# The jobs of a subject, in turn, in a batch of its own.
RULES = ("anatomical", "functional", "clean_timeseries")
JOBS = {rule: f"results/batches/{rule}/site-KUT_batch-1.tsv" for rule in RULES}
N_EMPTY = 20
# Subjects of the paper's study.
N_SUBJECTS = 713


def cpu_seconds(command: list[str], folder: Path) -> float:
    """CPU seconds of a command and of all that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def planning(folder: Path, *options: str) -> float:
    """CPU seconds of a dry run of the paper's study."""
    if not (folder / "SRPBS_OPEN").exists():
        shutil.copytree(ROOT / "config", folder / "config")
        tiny_release(folder / "SRPBS_OPEN", PAPER, ACQUISITIONS)
    snakemake = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile")]
    study = ["--configfile", "config/srpbs.yaml", "--dry-run", "--quiet", "all"]
    return cpu_seconds([*snakemake, *options, *study], folder)


def planning_of_empty_jobs(folder: Path) -> float:
    """CPU seconds of a dry run of as many jobs of one input and one output each."""
    (folder / "Snakefile").write_text(
        f'rule all:\n    input: expand("{{n}}.4", n=range({N_SUBJECTS}))\n'
        + "".join(
            f"rule step{i}:\n"
            + (f'    input: "{{n}}.{i - 1}"\n' if i > 1 else "")
            + f'    output: "{{n}}.{i}"\n    shell: "touch {{output}}"\n'
            for i in range(1, 5)
        )
    )
    return cpu_seconds([sys.executable, "-m", "snakemake", "--dry-run", "--quiet", "all"], folder)


def imports_of(script: Path) -> str:
    """Give the import statements of a script."""
    body = ast.parse(script.read_text()).body
    return "\n".join(
        ast.unparse(node) for node in body if isinstance(node, ast.Import | ast.ImportFrom)
    )


def jobs_of_a_subject(folder: Path) -> dict[str, float]:
    """CPU seconds of each job of one phantom, without those of starting Snakemake."""
    shutil.copytree(ROOT / "config", folder / "config")
    (folder / "full.yaml").write_text("subjects_per_job: 1\nphantom: {spatial_reduction: 1}\n")
    snakemake = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile")]
    study = ["--cores", "1", "--quiet", "all", "--configfile", "full.yaml", "--"]
    inputs = ["--until", "phantom_subject", "brain_template", "atlas"]
    cpu_seconds([*snakemake, *inputs, *study, *JOBS.values()], folder)
    seconds = {}
    for rule, made in JOBS.items():
        all_of_it = cpu_seconds([*snakemake, *study, made], folder)
        seconds[rule] = all_of_it - cpu_seconds([*snakemake, *study, made], folder)
    return seconds


def overhead(folder: Path, rule: str) -> float:
    """CPU seconds of a job that only imports, beyond those of starting Snakemake."""
    (folder / "empty.py").write_text(
        imports_of(ROOT / f"scripts/{rule}.py")
        + "\nfrom pathlib import Path\nPath(snakemake.output[0]).touch()\n"
    )
    (folder / "Snakefile").write_text(
        f'rule all:\n    input: expand("{{n}}.done", n=range({N_EMPTY}))\n'
        'rule empty:\n    output: "{n}.done"\n    script: "empty.py"\n'
    )
    snakemake = [sys.executable, "-m", "snakemake", "--cores", "1", "--quiet", "all"]
    many = cpu_seconds(snakemake, folder)
    none = cpu_seconds(snakemake, folder)
    return (many - none) / N_EMPTY


def disk(study: Path) -> pd.DataFrame:
    """Megabytes below results/ by folder: in all, and per subject."""
    files = [p for p in (study / "results").rglob("*") if p.is_file()]
    sizes = pd.Series(
        [p.stat().st_size / 1e6 for p in files],
        index=[p.relative_to(study / "results").parts[0] for p in files],
    )
    subjects = {m[0] for p in files if (m := re.search(r"sub-[A-Za-z0-9]+", p.name))}
    mb = sizes.groupby(level=0).sum()
    return pd.DataFrame({"MB": mb, "MB per subject": mb / len(subjects)}).round(2)


def main() -> None:
    """Print it all."""
    study = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    with tempfile.TemporaryDirectory() as folder:
        ours = planning(Path(folder))
        slurm = planning(Path(folder), "--profile", str(ROOT / "workflow/profiles/slurm"))
    with tempfile.TemporaryDirectory() as folder:
        empty = planning_of_empty_jobs(Path(folder))
    print(f"dry run, {N_SUBJECTS} subjects: {ours:.1f} CPU s; for SLURM, in groups: {slurm:.1f}")
    times = f"{ours / empty:.1f} and {slurm / empty:.1f} times"
    print(f"four jobs of one file for each subject: {empty:.1f} CPU s, so ours take {times} that")
    with tempfile.TemporaryDirectory() as folder:
        jobs = pd.Series(jobs_of_a_subject(Path(folder)), name="CPU s")
    idle = {}
    for rule in JOBS:
        with tempfile.TemporaryDirectory() as folder:
            idle[rule] = overhead(Path(folder), rule)
    table = jobs.to_frame().assign(overhead=idle)
    table.loc["a subject"] = table.sum()
    table["share of work"] = table["overhead"] / (table["CPU s"] - table["overhead"])
    print("\njobs of a subject at full resolution\n", table.round(3), sep="")
    costs = rule_costs(study)
    print("\nrules\n", costs.round(1), "\n\nstages\n", stage_costs(costs).round(1), sep="")
    print("\ndisk\n", disk(study), sep="")


if __name__ == "__main__":
    main()
