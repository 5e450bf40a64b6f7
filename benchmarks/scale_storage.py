"""Disk that a study takes: bytes of a subject by kind of file and by preproc.keep.

    OMP_NUM_THREADS=1 python benchmarks/scale_storage.py

One phantom at the resolution of the SRPBS release is preprocessed by the workflow's own jobs; the
kinds of files are those of docs/guide/outputs.md. A study of 10,000 subjects is worked out from it.
"""

import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from scaling import ROOT, Row, cost_of

N_SITES, N_SUBJECTS, N_ROIS = 50, 10_000, 116
SUBJECT = "sub-KUTMDD001"
CLEAN_BOLD = f"results/preproc/{SUBJECT}/func/{SUBJECT}_task-rest_space-MNI152_desc-clean_bold"
SERIES = "results/batches/clean_timeseries/site-KUT_batch-1.tsv"
# Kinds of files by how their names end; the first that fits counts.
KINDS = {
    "_desc-preproc_T1w.nii.gz": "T1w image",
    "_probseg.nii.gz": "tissues",
    "_xfm.nii.gz": "transform",
    "_desc-clean_bold.nii.gz": "cleaned BOLD",
    "_desc-brain_mask.nii.gz": "brain mask",
    "_slices.npz": "pictures",
    "_timeseries.tsv": "series, motion and confounds",
    ".json": "sidecars",
}
WORKING = {"T1w image", "tissues", "transform"}
KEPT = {"minimal": {*KINDS.values()} - WORKING - {"cleaned BOLD"},
        "standard": {*KINDS.values()} - {"cleaned BOLD"},
        "all": {*KINDS.values()}}  # fmt: skip


def kind_of(name: str) -> str:
    """Kind of a file by its name."""
    return next(kind for ending, kind in KINDS.items() if name.endswith(ending))


def megabytes(folder: Path) -> Counter[str]:
    """Megabytes of a subject by kind of file, after preprocessing with all of them kept."""
    shutil.copytree(ROOT / "config", folder / "config")
    (folder / "full.yaml").write_text("subjects_per_job: 1\nphantom: {spatial_reduction: 1}\n")
    snakemake = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile")]
    study = ["--directory", str(folder), "--configfile", str(folder / "full.yaml")]
    wanted = ["--cores", "1", "--quiet", "all", "--", SERIES, f"{CLEAN_BOLD}.nii.gz"]
    cost_of([*snakemake, *study, *wanted])
    found: Counter[str] = Counter()
    for part in ("preproc", "timeseries"):
        for path in (folder / "results" / part).rglob(f"{SUBJECT}*"):
            if path.is_file():
                found[kind_of(path.name)] += path.stat().st_size / 1e6
    return found


def rows() -> Iterator[Row]:
    """Give the rows of the table."""
    with tempfile.TemporaryDirectory() as folder:
        sizes = megabytes(Path(folder))
    for kind, size in sizes.items():
        yield Row("storage", None, 1, N_ROIS, kind, size, "MB")
    for keep, kinds in KEPT.items():
        total = sum(size for kind, size in sizes.items() if kind in kinds)
        added = f"sum of the files that preproc.keep: {keep} keeps"
        yield Row("storage", None, 1, N_ROIS, f"preproc.keep: {keep}", total, "MB", added)
        times = f"{N_SUBJECTS} times the row above; 1 TB is 10^12 bytes"
        study = ("storage", N_SITES, N_SUBJECTS, N_ROIS)
        yield Row(*study, f"preproc.keep: {keep}", total * N_SUBJECTS / 1e6, "TB", times)


if __name__ == "__main__":
    for row in rows():
        print(*row, sep="\t", flush=True)
