"""Cost of a fit against the numbers of sites and ROIs, up to 50 sites of 400 ROIs.

    OMP_NUM_THREADS=1 python benchmarks/scale_fit.py

A fit with default settings, cross-validation included, of synthetic series of 100 to 200 subjects
per site (synthetic_series.py). Sites hold moments, of all subjects and of each fold, as a fit reads
nothing else of series. Each fit has a process of its own. Its floor is one factorisation and
inverse of a d × d matrix per site and round of the path.
"""

import json
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from scaling import Row, cost_of, exponent
from synthetic_series import SHARE, VOLUMES, noise_products, site_mixings

from notears_pfl import NotearsPFL
from notears_pfl.errors import DoubtfulFitWarning
from notears_pfl.model.federation import Description, LocalSites, Site
from notears_pfl.model.problem import LogDeterminant, Moments
from notears_pfl.model.solver import Options
from notears_pfl.seeds import stream

FOLDS = 3
SIZES = [(5, 56), (16, 56), (50, 56), (5, 116), (5, 200), (5, 400), (50, 400)]


class SiteOfFolds(Site):
    """A site that holds the moments of its folds instead of samples."""

    def __init__(self, S: np.ndarray, n: np.ndarray) -> None:
        total, size = S.sum(axis=0), int(n.sum())
        super().__init__(Moments(total / size, size), n_effective=SHARE * size)
        self._folds = [
            (Moments((total - own) / (size - m), int(size - m)), Moments(own / m, int(m)))
            for own, m in zip(S, n, strict=True)
        ]

    def describe(self) -> Description:
        """Say that the site can cross-validate."""
        return replace(super().describe(), has_samples=True)

    def split(self, n_folds: int) -> None:
        """Keep the folds, which are given."""
        assert n_folds == FOLDS


def write_sites(path: Path, n_sites: int, n_rois: int) -> None:
    """Write sums of squares, (K, folds, d, d), and numbers of volumes, (K, folds)."""
    rng = stream(0, "subjects", str(n_sites), str(n_rois))
    S, n = np.empty((n_sites, FOLDS, n_rois, n_rois)), np.empty((n_sites, FOLDS))
    for k, T in enumerate(site_mixings(n_sites, n_rois)):
        subjects = np.array_split(np.arange(rng.integers(100, 201)), FOLDS)
        n[k] = [VOLUMES * len(fold) for fold in subjects]
        for fold, own in enumerate(subjects):
            S[k, fold] = T.T @ sum(noise_products(rng, len(own), n_rois)) @ T
    np.savez(path, S=S, n=n)


def fit(path: Path) -> None:
    """Fit the sites of a file; print CPU seconds, rounds and the seconds of the floor."""
    warnings.simplefilter("ignore", DoubtfulFitWarning)
    with np.load(path) as saved:
        n = saved["n"]
        sites = LocalSites([SiteOfFolds(*own) for own in zip(saved["S"], n, strict=True)])
    started = time.process_time()
    found = NotearsPFL(progress=False).fit_over(sites)
    seconds = time.process_time() - started
    started = time.process_time()
    LogDeterminant().evaluate(found.weights_ / 4, 1.0)
    inverse = time.process_time() - started
    rounds = sum(stage.rounds for stage in Options().path)
    said = {"cpu_s": seconds, "rounds": found.n_rounds_, "floor_s": rounds * inverse}
    print(json.dumps(said | {"converged": found.converged_, "subjects": n.sum() / VOLUMES}))


def rows() -> Iterator[Row]:
    """Give the rows of the table."""
    costs = {}
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "sites.npz"
        for n_sites, n_rois in SIZES:
            write_sites(path, n_sites, n_rois)
            cost = cost_of([sys.executable, __file__, str(path)])
            said = json.loads(cost.output)
            costs[n_sites, n_rois] = said["cpu_s"]
            size = ("fit", n_sites, round(said["subjects"]), n_rois)
            yield Row(*size, "a fit", said["cpu_s"], "CPU s")
            yield Row(*size, "peak memory", cost.peak_gib, "GiB")
            yield Row(*size, "rounds", said["rounds"], "")
            yield Row(*size, "converged", said["converged"], "")
            ratio = said["cpu_s"] / said["floor_s"]
            yield Row(*size, "a fit, in units of its floor", ratio, "", "measured, the floor too")
    for quantity, axis, fixed in (("ROIs", 1, 5), ("sites", 0, 56)):
        sizes = [size for size in SIZES if size[1 - axis] == fixed]
        grown = exponent([size[axis] for size in sizes], [costs[size] for size in sizes])
        how = f"line through {len(sizes)} fits"
        yield Row("fit", *(None,) * 3, f"exponent of a fit in {quantity}", grown, "", how)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        fit(Path(sys.argv[1]))
    else:
        for row in rows():
            print(*row, sep="\t", flush=True)
