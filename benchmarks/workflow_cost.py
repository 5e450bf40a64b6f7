"""Cost of the workflow itself: planning, overhead per job, disk, and what each rule used.

    OMP_NUM_THREADS=1 python benchmarks/workflow_cost.py [FOLDER]

FOLDER is that of a finished study (the current one unless named). Planning is a dry run of
config/srpbs.yaml, the paper's study of 713 subjects, on a release of empty files. The overhead of
a job is what a script costs that imports what the rule's does and then does nothing. Rules are
read from the tables that Snakemake's ``benchmark:`` leaves in logs/, disk from results/.
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
sys.path.insert(0, str(ROOT / "tests/workflow"))

from srpbs_release import ACQUISITIONS, PAPER, empty_release  # noqa: E402

# CPU seconds of a subject's jobs at SRPBS size, by benchmarks/preproc_cost.py.
WORK = {"anatomical": 11.0, "functional": 11.0, "clean_timeseries": 0.0}
N_EMPTY = 20


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
        empty_release(folder / "SRPBS_OPEN", PAPER, ACQUISITIONS)
    snakemake = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile")]
    study = ["--configfile", "config/srpbs.yaml", "--dry-run", "--quiet", "all"]
    return cpu_seconds([*snakemake, *options, *study], folder)


def imports_of(script: Path) -> str:
    """Give the import statements of a script."""
    body = ast.parse(script.read_text()).body
    return "\n".join(
        ast.unparse(node) for node in body if isinstance(node, ast.Import | ast.ImportFrom)
    )


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


def rules(study: Path) -> pd.DataFrame:
    """Jobs, seconds, CPU seconds and peak memory of every rule that left a benchmark."""
    rows = []
    for path in (study / "logs").rglob("*.benchmark.tsv"):
        rule = path.relative_to(study / "logs").parts[0].removesuffix(".benchmark.tsv")
        rows.append(pd.read_csv(path, sep="\t").assign(rule=rule))
    if not rows:
        return pd.DataFrame()
    by_rule = pd.concat(rows).groupby("rule")
    table = by_rule.agg(
        jobs=("s", "size"), median_s=("s", "median"), max_s=("s", "max"),
        cpu_s=("cpu_time", "sum"), max_rss_mb=("max_rss", "max"),
    )  # fmt: skip
    return table.round(1).sort_values("cpu_s", ascending=False)


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
        print(f"dry run, 713 subjects: {planning(Path(folder)):.1f} CPU s")
        slurm = planning(Path(folder), "--profile", str(ROOT / "workflow/profiles/slurm"))
        print(f"the same for SLURM, in groups: {slurm:.1f} CPU s")
    total = 0.0
    for rule in WORK:
        with tempfile.TemporaryDirectory() as folder:
            each = overhead(Path(folder), rule)
        print(f"overhead of {rule}: {each:.2f} CPU s")
        total += each
    share = total / sum(WORK.values())
    print(f"overhead of a subject's jobs: {total:.2f} CPU s, {share:.1%} of their work")
    print("\nrules\n", rules(study), sep="")
    print("\ndisk\n", disk(study), sep="")


if __name__ == "__main__":
    main()
