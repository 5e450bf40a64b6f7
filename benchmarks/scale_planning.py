"""Planning studies of up to 10,000 subjects at 50 sites, before their first job and after the last.

    python benchmarks/scale_planning.py [SUBJECTS ...]

Three kinds of data: raw BIDS, fMRIPrep's derivatives and ROI series, in tiny files with the names
and headers of real ones. Of each it measures a first dry run; a dry run once the study is finished,
its results being empty files that Snakemake was told to count as made; and a job as Snakemake
starts it on a cluster, which plans the study again, planned and not run.
"""

import hashlib
import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pandas as pd
import yaml
from scaling import ROOT, Cost, Row, cost_of, exponent

sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from tests.tiny_images import tiny_bold, tiny_t1w  # noqa: E402

from notears_pfl.io.batches import Listed, is_list, write_list  # noqa: E402
from rerun_table import FOLDERS  # noqa: E402

N_SITES, SIZES = 50, (1000, 3000, 10_000)
GROUPS = {"patients": "MDD", "controls": "HC"}
TR = 2.5
SPACE = "MNI152NLin2009cAsym"
RUN = f"task-rest_space-{SPACE}_desc-preproc_bold"
# Regions of the atlas of the studies of images, in a file of any content: it is not read.
ATLAS = {"rois": {"atlas": "atlas.nii.gz"}}
OF_ALL = {"site_column": "site", "group_column": "group"}
SETTINGS = {
    "bids": {"source": {**OF_ALL, "kind": "bids", "dataset": "dataset"}, **ATLAS},
    "fmriprep": {"source": {**OF_ALL, "kind": "fmriprep", "dataset": "dataset"}, **ATLAS},
    "timeseries": {
        "source": {
            **OF_ALL, "kind": "timeseries", "participants": "dataset/participants.tsv",
            "series": "dataset/{participant_id}.tsv",
        },
    },
}  # fmt: skip
# Files of a subject on the lists of batches, by the rule that makes them.
LISTED = {
    "anatomical": 7, "functional": 5, "fmriprep_run": 4, "clean_timeseries": 2,
    "ingest_timeseries": 2,
}  # fmt: skip
# A rule that works on batches of each kind, for the job of a cluster.
OF_BATCHES = {"bids": "functional", "fmriprep": "fmriprep_run", "timeseries": "ingest_timeseries"}


def write_study(folder: Path, kind: str, n_subjects: int) -> None:
    """Write the dataset of a study, its participants and settings."""
    dataset = folder / "dataset"
    dataset.mkdir(parents=True)
    names = [f"sub-{number:05d}" for number in range(n_subjects)]
    sites = [f"S{number % N_SITES:02d}" for number in range(n_subjects)]
    groups = [[*GROUPS.values()][number // N_SITES % 2] for number in range(n_subjects)]
    table = pd.DataFrame({"participant_id": names, "site": sites, "group": groups})
    table.to_csv(dataset / "participants.tsv", sep="\t", index=False)
    write = WRITERS[kind]
    for name in names:
        write(dataset, name)
    shutil.copytree(ROOT / "config", folder / "config")
    (folder / "atlas.nii.gz").touch()
    (folder / "study.yaml").write_text(yaml.safe_dump({**SETTINGS[kind], "groups": GROUPS}))


def write_raw(dataset: Path, name: str) -> None:
    """Write a subject's T1w image, BOLD run and sidecar."""
    write_files(dataset / name / "anat", {f"{name}_T1w.nii": T1W})
    run = f"{name}_task-rest_bold"
    write_files(dataset / name / "func", {f"{run}.nii": BOLD, f"{run}.json": SIDECAR})


def write_derivatives(dataset: Path, name: str) -> None:
    """Write what fMRIPrep makes of a subject's run in MNI space."""
    table = f"{name}_task-rest_desc-confounds_timeseries"
    files = {f"{name}_{RUN}.nii": BOLD, f"{name}_{RUN}.json": SIDECAR}
    write_files(dataset / name / "func", {**files, f"{table}.tsv": b"", f"{table}.json": b"{}"})


def write_series(dataset: Path, name: str) -> None:
    """Write a subject's series."""
    write_files(dataset, {f"{name}.tsv": b""})


WRITERS: dict[str, Callable[[Path, str], None]] = {
    "bids": write_raw, "fmriprep": write_derivatives, "timeseries": write_series,
}  # fmt: skip
T1W, BOLD = tiny_t1w().to_bytes(), tiny_bold(tr=TR).to_bytes()
SIDECAR = json.dumps({"RepetitionTime": TR, "SliceTiming": [0.0, TR / 2]}).encode()


def write_files(folder: Path, files: dict[str, bytes]) -> None:
    """Write the content of files by name."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)


def snakemake(folder: Path, *options: str) -> list[str]:
    """Command line of Snakemake on the study in a folder."""
    call = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile")]
    return [*call, "--directory", str(folder), "--configfile", str(folder / "study.yaml"), *options]


def pretend_finished(folder: Path, n_subjects: int) -> None:
    """Make every file of the study, empty but for lists, and have Snakemake take them for made."""
    summary = cost_of(snakemake(folder, "--summary")).output.splitlines()
    rows = [line.split("\t")[:3] for line in summary if line.startswith("results/")]
    n_batches = Counter(rule for path, _, rule in rows if is_list(path))
    nothing = hashlib.sha256(b"").hexdigest()
    for path, _, rule in rows:
        made = folder / path
        if path.startswith(FOLDERS):
            made.mkdir(parents=True, exist_ok=True)
            continue
        write_files(made.parent, {made.name: b""})
        if is_list(path):
            n_files = LISTED[rule] * n_subjects // n_batches[rule]
            files = [f"{path}_{number}" for number in range(n_files)]
            write_files(folder, dict.fromkeys(files, b""))
            write_list([Listed("sub-1", "file", file, 0, nothing) for file in files], made)
    touch = ["--touch", "--forceall", "--cores", "1", "--scheduler-subsample", "50"]
    cost_of(snakemake(folder, *touch, "--quiet", "all"))


def of_a_job(folder: Path, kind: str) -> list[str]:
    """Command line of a job as Snakemake starts it on a cluster, for a dry run."""
    job = f"{OF_BATCHES[kind]}:site=S00,batch=1"
    as_sent = ["--mode", "remote", "--force", "--allowed-rules", OF_BATCHES[kind]]
    return snakemake(folder, *as_sent, "--target-jobs", job, "--dry-run", "--quiet", "all")


def costs(kind: str, n_subjects: int) -> dict[str, Cost]:
    """Costs of planning a study, by what is asked."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "study"
        write_study(folder, kind, n_subjects)
        dry_run = snakemake(folder, "--dry-run", "--quiet", "all")
        found = {"first dry run": cost_of(dry_run)}
        pretend_finished(folder, n_subjects)
        found["dry run of the finished study"] = cost_of(dry_run)
        found["planning in a cluster job"] = cost_of(of_a_job(folder, kind))
    return found


def rows(sizes: Sequence[int] = SIZES) -> Iterator[Row]:
    """Give the rows of the table."""
    for kind in SETTINGS:
        by_size = {}
        for n_subjects in sizes:
            by_size[n_subjects] = costs(kind, n_subjects)
            for what, cost in by_size[n_subjects].items():
                size = ("planning", N_SITES, n_subjects, 116)
                yield Row(*size, f"{kind}: {what}", cost.cpu_s, "CPU s")
                yield Row(*size, f"{kind}: {what}, peak memory", cost.peak_gib, "GiB")
        for what in by_size[sizes[0]] if len(sizes) > 1 else ():
            slope = exponent(sizes, [by_size[n][what].cpu_s for n in sizes])
            how = "slope of the logarithms of the rows above"
            yield Row("planning", N_SITES, None, 116, f"{kind}: {what}, exponent", slope, "", how)


if __name__ == "__main__":
    for row in rows([*map(int, sys.argv[1:])] or SIZES):
        print(*row, sep="\t", flush=True)
