"""Whether p-values are uniform without a difference between groups, and the power with one.

    OMP_NUM_THREADS=1 python benchmarks/evidence_calibration.py simulated paper --studies 200
    OMP_NUM_THREADS=1 python benchmarks/evidence_calibration.py abide series.npz participants.tsv
    OMP_NUM_THREADS=1 python benchmarks/evidence_calibration.py power
    OMP_NUM_THREADS=1 python benchmarks/evidence_calibration.py cost series.npz participants.tsv

To afford hundreds of studies, networks have 20 ROIs, series are short, κ is .25, and labels are
permuted 199 times for weights and ``--refits`` times with networks searched again (0: only the
observed labels). ``paper`` has a quarter of the paper's discovery sizes, with their ratios (KUT: 3
patients and 28 controls), ``equal`` eight and eight. Weights lie around the threshold and differ
between subjects, so that networks of a study's groups differ by chance.
ABIDE labels are permuted before the test, so that no difference is left; ``--share .25`` makes a
quarter of every site patients, instead of as many as there are. One connection of each
study, drawn at random, goes into the test of uniformity: those of a study are not independent.
Degrees and counts are whole numbers with many ties, which make p-values too large: ties are broken
at random for the test of uniformity, and count for the share of false findings, as in the workflow.
"""

import argparse
import time
import warnings

import numpy as np
import pandas as pd
from scipy.stats import kstest, wilcoxon

from notears_pfl import NotearsPFL
from notears_pfl.evidence.labels import permuted
from notears_pfl.evidence.moments import subject_moments
from notears_pfl.evidence.permutation import (
    Labels,
    contrast_draws,
    fair_comparison,
    permutation_draws,
)
from notears_pfl.evidence.pooled import compared_connections
from notears_pfl.evidence.significance import ROUNDING, compared, p_two_sided, weight_test
from notears_pfl.seeds import stream

D, N_VOLUMES, N_EDGES = 20, 30, 18
# Patients and controls per site: the paper's discovery set (70 %), divided by four; equal numbers.
PAPER = ((12, 22), (3, 28), (11, 17), (6, 5), (10, 12))
EQUAL = ((8, 8),) * 5
# κ of all fits, and permutations of the labels for weights.
KAPPA, WEIGHTS = 0.25, 199


def network(rng, n_edges=N_EDGES):
    """Random acyclic network with weights of 0.2 to 0.6."""
    order, earlier = rng.permutation(D), np.triu_indices(D, k=1)
    chosen = rng.choice(len(earlier[0]), n_edges, replace=False)
    W = np.zeros((D, D))
    signs = rng.choice([-1, 1], n_edges)
    W[order[earlier[0][chosen]], order[earlier[1][chosen]]] = rng.uniform(0.2, 0.6, n_edges) * signs
    return W


def series_of(rng, W):
    """Series of one subject, whose weights deviate from W by a third."""
    own = W * (1 + rng.standard_normal(W.shape) / 3)
    noise = rng.standard_normal((N_VOLUMES, D))
    x = noise @ np.linalg.inv(np.eye(D) - own)
    x = x - x.mean(axis=0)
    return x / np.sqrt((x**2).mean())


def simulated(number, sizes, planted=0):
    """Simulate the subjects of one study; ``planted`` edges are the patients' alone."""
    rng = stream(1, "evidence benchmark", str(number), str(sizes), str(planted))
    W = network(rng)
    edges = rng.permutation(np.argwhere(W))[:planted]
    series, site, patients = [], [], []
    for k, (n_patients, n_controls) in enumerate(sizes):
        for is_patient in [True] * n_patients + [False] * n_controls:
            own = W.copy()
            if not is_patient:
                own[edges[:, 0], edges[:, 1]] = 0.0
            series.append(series_of(rng, own))
            site.append(k)
            patients.append(is_patient)
    return series, np.array(site), np.array(patients), {tuple(map(int, e)) for e in edges}


def stacked(series, site, patients):
    """Arrange subjects as users of arrays do: samples, subjects and labels by site."""
    rows = [np.flatnonzero(site == k) for k in np.unique(site)]
    samples = [np.concatenate([series[i] for i in own]) for own in rows]
    subjects = [np.repeat(own, [len(series[i]) for i in own]) for own in rows]
    labels = [np.repeat(patients[own], [len(series[i]) for i in own]) for own in rows]
    return samples, subjects, labels


def fitted(series, site, patients):
    """Pooled fit, moments and labels of a study."""
    samples, subjects, _ = stacked(series, site, patients)
    fit = NotearsPFL(kappa=KAPPA).fit(samples, subjects=subjects)
    return fit, subject_moments(series, site), patients


def abide_subjects(series_path, participants_path, n_rois):
    """Scaled series, site and label of every subject; the first ``n_rois`` regions."""
    table = pd.read_csv(participants_path, sep="\t")
    archive = np.load(series_path)
    series = []
    for name in table["participant_id"]:
        x = np.asarray(archive[name], dtype=float)[:, :n_rois]
        x = x - x.mean(axis=0)
        series.append(x / np.sqrt((x**2).mean()))
    site = table["site"].astype("category").cat.codes.to_numpy(dtype=np.intp)
    return series, site, (table["group"] == "ASD").to_numpy()


def figures(fit, moments, patients, number, refits):
    """One row of the benchmark: p-values and counts of a study with these labels."""
    labels = Labels(patients, moments.site)
    tested = compared_connections(fit, moments)
    test = weight_test(*contrast_draws(moments, labels, tested, WEIGHTS, 0.0, number))
    draws = permutation_draws(fit, moments, labels, tested, range(refits + 1), 1, number)
    rng = stream(2, "evidence benchmark", str(number))
    row = {
        "tested": len(test.p),
        "p_connection": rng.choice(test.p),
        "any_q": bool((test.q <= 0.05).any()),
        "any_largest": bool((test.p_largest <= 0.05).any()),
        "patients_only": draws.counts[0, 0, 2],
        "controls_only": draws.counts[0, 0, 3],
        "both": draws.counts[0, 0, 4],
    }
    if refits:
        statistics = {
            "degree": draws.degree[:, 2, rng.integers(D)],
            "edges": compared(draws.counts)[:, 0, 0],
            "only": compared(draws.counts)[:, 0, 1],
        }
        for name, null in statistics.items():
            row[f"p_{name}"] = p_two_sided(null[:, None])[0]
            row[f"uniform_{name}"] = randomised_p(null, rng)
    return row


def randomised_p(null, rng):
    """P-value of |T|, the observed labelling first, with ties broken at random."""
    size = np.abs(null)
    ties = (np.abs(size - size[0]) < ROUNDING).sum()
    return ((size > size[0] + ROUNDING).sum() + ties * rng.random()) / len(size)


def calibrate(studies, n, refits):
    """Print calibration over studies without a difference; ``studies`` gives the n-th one."""
    rows = []
    for number in range(n):
        rows.append(figures(*studies(number), number, refits))
        if (number + 1) % 50 == 0 or number + 1 == n:
            report(pd.DataFrame(rows))


def report(table):
    """Print uniformity, false findings and the two groups' counts."""
    print(f"{len(table)} studies, {table['tested'].mean():.0f} connections tested in each")
    for name in table.columns[table.columns.str.startswith("p_")]:
        p, smooth = table[name], table.get(name.replace("p_", "uniform_"), table[name])
        print(f"  {name}: KS p = {kstest(smooth, 'uniform').pvalue:.3f}, "
              f"share <= .05 {np.mean(p <= 0.05):.3f}")  # fmt: skip
    print(f"  any q <= .05 in {table['any_q'].mean():.1%} of studies, "
          f"any p_largest <= .05 in {table['any_largest'].mean():.1%}")  # fmt: skip
    first, second = table["patients_only"], table["controls_only"]
    same = wilcoxon(first - second).pvalue if (first != second).any() else 1.0
    print(f"  at every site: patients only {first.mean():.2f}, controls only {second.mean():.2f} "
          f"(Wilcoxon p = {same:.3f}), both {table['both'].mean():.1f}", flush=True)  # fmt: skip


def power(n, planted=4):
    """Print the share of planted differences found, against the number of subjects."""
    for size in (2, 3, 5, 12):
        found, false = [], []
        for number in range(n):
            *study, true = simulated(1000 + number, ((size, size),) * 5, planted)
            fit, moments, patients = fitted(*study)
            tested = compared_connections(fit, moments)
            labels = Labels(patients, moments.site)
            test = weight_test(*contrast_draws(moments, labels, tested, 999, 0.0, number))
            hits = {frozenset(map(int, pair)) for pair in np.argwhere(tested)[test.q <= 0.05]}
            wanted = {frozenset(pair) for pair in true}
            found.append(len(hits & wanted) / planted)
            false.append(len(hits - wanted))
        print(
            f"{size} patients and {size} controls at each of 5 sites, {n} studies: "
            f"recall {np.mean(found):.2f}, false {np.mean(false):.2f} per study",
            flush=True,
        )


def cost(series, site, patients, n=20):
    """Print the CPU time of a permutation, and of two full fits as they were needed before."""
    samples, subjects, _ = stacked(series, site, patients)
    fit = NotearsPFL().fit(samples, subjects=subjects)
    moments = subject_moments(series, site)
    seconds = {"permutation": [], "permutation, two subsamples": [], "two full fits": []}
    for number in range(n):
        rng = np.random.default_rng(number)
        labels = permuted(patients, site, rng)
        for name, subsamples in (("permutation", 1), ("permutation, two subsamples", 2)):
            began = time.process_time()
            fair_comparison(fit, moments, labels, subsamples, rng)
            seconds[name].append(time.process_time() - began)
        if number < 5:
            began = time.process_time()
            for own in (labels, ~labels):
                x, who, _ = stacked([series[i] for i in np.flatnonzero(own)], site[own], own[own])
                NotearsPFL().fit(x, subjects=who)
            seconds["two full fits"].append(time.process_time() - began)
    for name, values in seconds.items():
        print(f"{name}: {np.median(values):.3f} CPU s")
    ratio = np.median(seconds["two full fits"]) / np.median(seconds["permutation"])
    print(f"ratio {ratio:.1f} (K = {len(samples)}, d = {samples[0].shape[1]})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["simulated", "abide", "power", "cost"])
    parser.add_argument("inputs", nargs="*")
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--refits", type=int, default=19)
    parser.add_argument("--share", type=float, help="share of patients at every site of ABIDE")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.what == "simulated":
        sizes = PAPER if arguments.inputs == ["paper"] else EQUAL
        calibrate(
            lambda number: fitted(*simulated(number, sizes)[:3]),
            arguments.studies,
            arguments.refits,
        )
    elif arguments.what == "abide":
        # The pooled fit does not know labels: one serves all studies.
        pooled, all_moments, true = fitted(*abide_subjects(*arguments.inputs, n_rois=D))

        def relabelled(number):
            """All subjects, with labels permuted within sites."""
            rng = stream(3, "abide", str(number))
            labels = true
            if arguments.share:
                site = all_moments.site
                rank = np.array([(site[:i] == k).sum() for i, k in enumerate(site)])
                labels = rank < np.round(arguments.share * np.bincount(site))[site]
            return pooled, all_moments, permuted(labels, all_moments.site, rng)

        calibrate(relabelled, arguments.studies, arguments.refits)
    elif arguments.what == "power":
        power(min(arguments.studies, 40))
    else:
        cost(*abide_subjects(*arguments.inputs, n_rois=56))
