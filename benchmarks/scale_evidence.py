"""Cost of the evidence's draws against the numbers of sites, ROIs and subjects.

    OMP_NUM_THREADS=1 python benchmarks/scale_evidence.py

A draw sums the moments of subjects and searches networks from a fit of both groups, here from the
true networks of synthetic series (synthetic_series.py); half of the subjects are patients, not the
same number at every site. Sizes differ in sites alone, or in ROIs alone; the last has few subjects
and one draw. Draws hold moments in memory; last, those of many subjects are summed from their file.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import yaml
from scaling import ROOT, Row, cost_of, exponent
from synthetic_series import SHARE, VOLUMES, noise_products, site_mixings

from notears_pfl.evidence.bootstrap import bootstrap_draws
from notears_pfl.evidence.moments import SubjectMoments, SubjectSums
from notears_pfl.evidence.permutation import Labels, contrast_draws, permutation_draws
from notears_pfl.evidence.pooled import compared_connections, resumed
from notears_pfl.evidence.subjects import moments_from
from notears_pfl.io.arrays import read_arrays, write_records
from notears_pfl.model.coordinator import topological_order
from notears_pfl.model.estimator import NotearsPFL
from notears_pfl.seeds import stream

# Sites, subjects per site, ROIs, draws of networks.
OF_SITES = [(5, 150, 56, 3), (16, 150, 56, 3), (50, 150, 56, 3)]
OF_ROIS = [(5, 60, 56, 3), (5, 60, 116, 3), (5, 60, 400, 3)]
SIZES = [*OF_SITES, *OF_ROIS, (50, 20, 400, 1)]
# Sites, subjects and ROIs of moments in a file.
STORED = (10, 2000, 400)
CORES = (2, 16, 64)
KINDS = ("permutation", "bootstrap", "permutation of weights")


def study(n_sites: int, per_site: int, n_rois: int) -> tuple[SubjectMoments, NotearsPFL]:
    """Moments of the subjects, and a fit that ended in their true networks."""
    rng = stream(0, "evidence", str(n_sites), str(n_rois))
    triangle = np.tril_indices(n_rois)
    S, edges = np.empty((n_sites * per_site, len(triangle[0]))), []
    for k, T in enumerate(site_mixings(n_sites, n_rois)):
        for i, product in enumerate(noise_products(rng, per_site, n_rois)):
            S[k * per_site + i] = (T.T @ product @ T)[triangle]
        edges.append((np.abs(np.linalg.inv(T)) > 1e-6) & ~np.eye(n_rois, dtype=bool))
    N = len(S)
    n = np.full(N, float(VOLUMES))
    site = np.repeat(np.arange(n_sites), per_site)
    moments = SubjectMoments(S, np.zeros((N, n_rois)), n, SHARE * n, site, np.arange(N))
    orders = [topological_order(A, np.zeros(n_rois)) for A in edges]
    return moments, resumed({}, orders, np.array(edges))


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds of some work."""
    started = time.process_time()
    work()
    return time.process_time() - started


def measure(n_sites: int, per_site: int, n_rois: int, n_draws: int) -> None:
    """Print the CPU seconds of a draw of each kind."""
    moments, start = study(n_sites, per_site, n_rois)
    patients = stream(0, "labels").permutation(len(moments.n)) % 2 == 0
    labels = Labels(patients, moments.site)
    tested = compared_connections(start, moments)
    draws, many = range(1, n_draws + 1), 20 * n_draws - 1
    found = [
        seconds(lambda: permutation_draws(start, moments, labels, tested, draws, 2, 0)) / n_draws,
        seconds(lambda: bootstrap_draws(start, [start] * 2, moments, patients, draws, 0)) / n_draws,
        seconds(lambda: contrast_draws(moments, labels, tested, many, 0.15, 0)) / (many + 1),
    ]
    print(json.dumps(dict(zip(KINDS, found, strict=True))))


def default_draws() -> dict[str, int]:
    """Numbers of draws of the default settings, the observed labelling included."""
    quick = yaml.safe_load((ROOT / "config/config.yaml").read_text())["evidence"]["quick"]
    numbers = (1 + quick["permutations"], quick["bootstraps"], 1 + quick["weight_permutations"])
    return dict(zip(KINDS, numbers, strict=True))


def rows() -> Iterator[Row]:
    """Give the rows of the table."""
    costs, numbers = {}, default_draws()
    for at in SIZES:
        n_sites, per_site, n_rois, _ = at
        cost = cost_of([sys.executable, __file__, *map(str, at)])
        costs[at] = each = json.loads(cost.output)
        size = ("evidence", n_sites, n_sites * per_site, n_rois)
        for kind in KINDS:
            yield Row(*size, f"a {kind}", each[kind], "CPU s", "measured")
        yield Row(*size, "peak memory of a job", cost.peak_gib, "GiB")
        parts = {kind: numbers[kind] * each[kind] for kind in KINDS}
        how = "worked out: " + ", ".join(f"{numbers[kind]} × {kind}" for kind in KINDS)
        for cores in CORES:
            # Weights are drawn in one job.
            longest = max(sum(parts.values()) / cores, parts[KINDS[-1]])
            yield Row(*size, f"all draws on {cores} cores", longest / 3600, "hours", how)
    for quantity, axis, sizes in (("ROIs", 2, OF_ROIS), ("sites", 0, OF_SITES)):
        for kind in KINDS[:2]:
            grown = exponent([at[axis] for at in sizes], [costs[at][kind] for at in sizes])
            how = f"line through {len(sizes)} sizes"
            what = f"exponent of a {kind} in {quantity}"
            yield Row("evidence", None, None, None, what, grown, "", how)
    yield from of_file()


def of_file() -> Iterator[Row]:
    """Give the rows about moments that stay in their file."""
    n_sites, n_subjects, n_rois = size = STORED
    rng, numbers = np.random.default_rng(0), np.arange(n_subjects)
    triangle = n_rois * (n_rois + 1) // 2
    subjects = (
        SubjectSums(rng.random(triangle), np.zeros(n_rois), float(VOLUMES), SHARE * VOLUMES)
        for _ in numbers
    )
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "moments.npz"
        write_records(subjects, n_subjects, {"site": numbers % n_sites}, path)
        yield Row("evidence", *size, "file of the moments", path.stat().st_size / 1e9, "GB")
        cost = cost_of([sys.executable, __file__, str(path)])
    yield Row("evidence", *size, "summing them from the file", cost.cpu_s, "CPU s")
    yield Row("evidence", *size, "summing them from the file, peak memory", cost.peak_gib, "GiB")


def sum_stored(path: str) -> None:
    """Sum the moments of all subjects in a file, site by site."""
    arrays = read_arrays(path, table="S")
    everyone = np.ones(len(arrays["n"]), dtype=bool)
    moments_from(arrays, everyone).summed(everyone)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        sum_stored(sys.argv[1])
    elif len(sys.argv) > 2:
        measure(*map(int, sys.argv[1:]))
    else:
        for row in rows():
            print(*row, sep="\t", flush=True)
