"""Accuracy with noise on U^k: F score of the edges found, by ε and subjects per site.

OMP_NUM_THREADS=1 python benchmarks/federated_noise.py
"""

import warnings

import numpy as np
import pandas as pd

from notears_pfl import NotearsPFL
from notears_pfl.cohort.samples import site_samples
from notears_pfl.errors import NotConvergedWarning
from notears_pfl.federated.privacy import Noise, noise_level, private_moments, sensitivity
from notears_pfl.seeds import stream
from notears_pfl.simulate.metrics import compare_sites
from notears_pfl.simulate.sites import GraphOptions, Setting, simulate_sites

K, D, VOLUMES, DELTA = 5, 56, 100, 1e-5
# Scaled subjects have mean variance 1: the norm is √56 = 7.5 for independent regions, 56 for equal.
CLIP = 20.0
SUBJECTS, EPSILONS, RUNS = (16, 70, 1000), (np.inf, 1000.0, 100.0, 10.0, 1.0), 3


def subjects_of(x, n_subjects):
    """Scaled samples of each subject of a site."""
    tables = [pd.DataFrame(part) for part in np.array_split(x, n_subjects)]
    return [site_samples({"one": table}, "subject").x for table in tables]


def main():
    """Fit with and without noise on the same samples."""
    rows = []
    for n_subjects in SUBJECTS:
        for run in range(RUNS):
            rng = stream(1, "benchmark", "noise", str(n_subjects), str(run))
            options = GraphOptions(edges_per_variable=1.0, perturbation="edges")
            setting = Setting(D, K, K * n_subjects * VOLUMES, perturbation=0.1)
            simulated = simulate_sites(rng, setting, "per_site", options)
            parts = [subjects_of(x, n_subjects) for x in simulated.samples]
            norms = [np.linalg.norm(x.T @ x / len(x)) for site in parts for x in site]
            n = n_subjects * VOLUMES
            for epsilon in EPSILONS:
                if np.isinf(epsilon):
                    moments = [(np.mean([x.T @ x / len(x) for x in p], axis=0), n) for p in parts]
                    sigma = 0.0
                else:
                    noise = Noise(epsilon, DELTA, CLIP)
                    moments = [(private_moments(site, noise, rng), n) for site in parts]
                    sigma = noise_level(noise, sensitivity(noise, n_subjects))
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", NotConvergedWarning)
                    fit = NotearsPFL(progress=False).fit_moments(moments)
                scores = compare_sites(simulated.graphs, list(fit.adjacency_))
                clipped = float(np.mean(np.array(norms) > CLIP))
                rows.append((n_subjects, epsilon, sigma, clipped, scores.f_score))
                print(rows[-1], flush=True)
    columns = ["subjects", "epsilon", "sigma", "clipped", "F"]
    table = pd.DataFrame(rows, columns=columns).groupby(["subjects", "epsilon"], sort=False).mean()
    print(f"\nK = {K}, d = {D}, {VOLUMES} volumes per subject, δ = {DELTA:g}, C = {CLIP:g}, "
          f"mean of {RUNS} runs; sigma compares with variances of about 1\n")  # fmt: skip
    print(table.round(3).to_string())


if __name__ == "__main__":
    main()
