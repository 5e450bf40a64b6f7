"""CPU seconds of a study of ready ROI series: 468 subjects at five sites, from tables to report.

    OMP_NUM_THREADS=1 python benchmarks/series_study.py DATA [--against FOLDER] [--keep FOLDER]

DATA holds ROI series of AAL-116 as one ``.npz`` with an array per subject, and beside it a table
``*participants.tsv`` with ``participant_id``, ``site``, ``group`` (ASD or TC) and ``mean_fd_mm``.
Subjects are repeated, with noise of a hundredth of a region's standard deviation, until there are
468. The study runs with its default settings, as ``snakemake --cores 2``. FOLDER after --against is
another checkout of the project: its run of the same study is measured too, and the tables of
results that differ are named. FOLDER after --keep keeps the study and its results.
"""

import argparse
import hashlib
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from scaling import ROOT, cost_of

sys.path.insert(0, str(ROOT / "tools"))

from run_cost import rule_costs, stage_costs

N_SUBJECTS = 468
N_SITES = 5
SETTINGS = """\
source: {kind: timeseries, participants: participants.tsv, series: series.npz}
groups: {patients: ASD, controls: TC}
"""
# Tables that hold times, which no two runs share.
TIMED = ("cost.tsv", ".benchmark.tsv")


def write_study(data: Path, folder: Path) -> None:
    """Write the series and the participants of the study, and its settings."""
    (archive,), (table,) = data.glob("*.npz"), data.glob("*participants.tsv")
    own = pd.read_csv(table, sep="\t").sort_values("site", kind="stable")
    rows = np.arange(N_SUBJECTS) % len(own)
    subjects = own.iloc[np.sort(rows)].reset_index(drop=True)
    # Sites follow those of the data, so that subjects of a site resemble each other.
    place = subjects.groupby("group").cumcount()
    most = subjects.groupby("group")["group"].transform("size")
    source = subjects["participant_id"]
    subjects = subjects.assign(
        participant_id=[f"sub-{number:04d}" for number in range(N_SUBJECTS)],
        site=[f"Site{N_SITES * i // n + 1}" for i, n in zip(place, most, strict=True)],
    )
    rng = np.random.default_rng(0)
    with np.load(archive) as arrays:
        series = {}
        for who, whose in zip(subjects["participant_id"], source, strict=True):
            values = arrays[whose]
            noise = 0.01 * values.std(axis=0) * rng.standard_normal(values.shape)
            series[who] = (values + noise).astype(values.dtype)
    folder.mkdir(parents=True)
    np.savez(folder / "series.npz", **series)
    subjects.to_csv(folder / "participants.tsv", sep="\t", index=False)
    (folder / "study.yaml").write_text(SETTINGS)


def run_study(data: Path, checkout: Path, folder: Path) -> float:
    """Run the study with the workflow of a checkout; return its CPU seconds."""
    write_study(data, folder)
    (folder / "config").symlink_to(checkout.resolve() / "config")
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(checkout / "Snakefile")]
    options = ["--cores", "2", "--quiet", "all", "--configfile", "study.yaml"]
    # Jobs take the package from the checkout, not from where it is installed.
    paths = [str(checkout.resolve() / "src"), os.environ.get("PYTHONPATH", "")]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    return cost_of([*command, *options], cwd=folder, env=env).cpu_s


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 of every table of the results, by its path."""
    results = folder / "results"
    return {
        str(path.relative_to(results)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(results.rglob("*.tsv"))
        if not path.name.endswith(TIMED)
    }


def compare(folder: Path, other: Path) -> None:
    """Print which tables of two runs differ."""
    ours, theirs = digests(folder), digests(other)
    names = sorted(ours.keys() | theirs.keys())
    different = [name for name in names if ours.get(name) != theirs.get(name)]
    same = len(names) - len(different)
    print(f"tables that are the same: {same}; that differ: {', '.join(different) or 'none'}")


def measure(data: Path, folder: Path, against: Path | None) -> None:
    """Run the study, and that of another checkout, and print what they cost."""
    total = run_study(data, ROOT, folder / "ours")
    rules = rule_costs(folder / "ours")
    print(rules.round(1).to_string(), "\n\n", stage_costs(rules).round(1).to_string(), sep="")
    print(f"\ntotal, with Snakemake's own share: {total:.1f} CPU s")
    if against:
        other = run_study(data, against, folder / "other")
        print(f"{against}: {other:.1f} CPU s; ratio {total / other:.2f}")
        compare(folder / "ours", folder / "other")


def main() -> None:
    """Measure, in a folder that is removed unless it is to be kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(options.data, options.keep or Path(folder), options.against)


if __name__ == "__main__":
    main()
