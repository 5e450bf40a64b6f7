"""Cost of the evidence's draws against the numbers of sites, ROIs and subjects.

    OMP_NUM_THREADS=1 python benchmarks/scale_evidence.py

A draw sums the moments of subjects and searches networks from a fit of both groups, here from the
true networks of synthetic series (synthetic_series.py); half of the subjects are patients, not the
same number at every site. All subjects are measured up to 116 ROIs; the last size has fewer, so
that their moments stay small, and few draws.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np
import yaml
from scaling import ROOT, Row, cost_of, exponent
from synthetic_series import SHARE, VOLUMES, noise_products, site_mixings

from notears_pfl.evidence.bootstrap import bootstrap_draws
from notears_pfl.evidence.moments import SubjectMoments
from notears_pfl.evidence.permutation import Labels, contrast_draws, permutation_draws
from notears_pfl.evidence.pooled import compared_connections, resumed
from notears_pfl.model.coordinator import topological_order
from notears_pfl.model.estimator import NotearsPFL
from notears_pfl.seeds import stream

# Sites, subjects per site, ROIs, draws of networks.
SIZES = [(5, 150, 56, 3), (16, 150, 56, 3), (50, 150, 56, 3), (5, 150, 116, 3), (5, 60, 400, 3),
         (50, 20, 400, 1)]  # fmt: skip
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
    for n_sites, per_site, n_rois, n_draws in SIZES:
        arguments = map(str, (n_sites, per_site, n_rois, n_draws))
        cost = cost_of([sys.executable, __file__, *arguments])
        each = json.loads(cost.output)
        costs[n_sites, n_rois] = each
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
    for quantity, axis, fixed in (("ROIs", 1, 5), ("sites", 0, 56)):
        sizes = [size for size in costs if size[1 - axis] == fixed]
        for kind in KINDS[:2]:
            grown = exponent([s[axis] for s in sizes], [costs[s][kind] for s in sizes])
            how = f"line through {len(sizes)} sizes"
            what = f"exponent of a {kind} in {quantity}"
            yield Row("evidence", None, None, None, what, grown, "", how)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(*map(int, sys.argv[1:]))
    else:
        for row in rows():
            print(*row, sep="\t", flush=True)
