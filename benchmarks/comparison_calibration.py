"""How often tests of the comparison find a difference between groups, with and without one.

    OMP_NUM_THREADS=1 python benchmarks/comparison_calibration.py

Simulated studies: at each of three sites eight patients and eight controls for validation, each
with a network of its own, whose edge 0 → 1 is on average stronger in patients by ``effect``.
Draws, networks by PC and by Granger causality with the same number of edges, and tests are
those of the workflow. Without an effect a test at level 5 % should reject in 5 % of the studies.
"""

import argparse

import numpy as np
import pandas as pd
from scipy.stats import kstest

from notears_pfl.analysis.comparison import Design, proportion_tests
from notears_pfl.analysis.presence import connection_presence
from notears_pfl.baselines.equal_sparsity import strongest
from notears_pfl.baselines.granger import granger
from notears_pfl.baselines.pc import pc_with_edges
from notears_pfl.cohort.draws import draw_subjects
from notears_pfl.seeds import stream

GROUPS, SITES, PER_GROUP, D, N_EDGES, N_VOLUMES = ("MDD", "HC"), ("A", "B", "C"), 8, 5, 4, 80
CONNECTION = pd.DataFrame({"source": ["published"], "from": ["0"], "to": ["1"]})
P_VALUES = ["p_z", "p_fisher", "p_permutation", "p_permutation_two_sided"]


def simulated_series(rng, strength):
    """Series (volumes × D) that decay slowly; 0 drives 1 at once and a step later, 2 drives 3."""
    noise = rng.normal(size=(N_VOLUMES, D))
    x = np.zeros((N_VOLUMES, D))
    for t in range(N_VOLUMES):
        past = x[t - 1] if t else np.zeros(D)
        x[t] = 0.5 * past + noise[t]
        x[t, 1] += strength * (x[t, 0] + past[0]) / 2
        x[t, 3] += 0.3 * (x[t, 2] + past[2]) / 2
    return x - x.mean(axis=0)


def cohort_and_series(rng, effect):
    """Simulate validation subjects of all sites; every subject has a strength of its own."""
    rows, series = [], {}
    for site in SITES:
        for group in GROUPS:
            for i in range(PER_GROUP):
                name = f"sub-{site}{group}{i}"
                shift = effect / 2 if group == GROUPS[0] else -effect / 2
                series[name] = simulated_series(rng, rng.normal(0.12 + shift, 0.3))
                rows.append((name, site, group, "validation"))
    return pd.DataFrame(rows, columns=["participant_id", "site", "group", "split"]), series


def networks_of(subjects):
    """Edges by method; PC's are trimmed to the same number."""
    fit = pc_with_edges(np.concatenate(subjects), N_EDGES, max_condition=2)
    return {
        "pc": strongest(fit.evidence, N_EDGES),
        "granger": strongest(granger(subjects).statistic, N_EDGES),
    }


def study(number, effect, n_draws):
    """One simulated study: its p-values by method."""
    rng = stream(1, "calibration", str(number), str(effect))
    cohort, series = cohort_and_series(rng, effect)
    draws = draw_subjects(cohort, GROUPS, SITES, (5, 5), range(n_draws), number)
    networks, edges = [], []
    for (draw, name, site), members in draws.groupby(["draw", "set", "site"])["participant_id"]:
        for method, found in networks_of([series[who] for who in members]).items():
            key = {"draw": draw, "set": name, "method": method, "site": site}
            networks.append(key)
            edges += [
                key | {"from": str(i), "to": str(j), "open": False} for i, j in np.argwhere(found)
            ]
    presence = connection_presence(pd.DataFrame(networks), pd.DataFrame(edges), CONNECTION)
    labels = cohort.set_index("participant_id")["group"]
    design = Design(GROUPS, SITES, "majority", 499)
    return proportion_tests(presence, CONNECTION, draws, labels, design, rng)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--effects", type=float, nargs="+", default=[0.0, 0.5])
    arguments = parser.parse_args()
    for effect in arguments.effects:
        tables = [study(i, effect, arguments.draws) for i in range(arguments.studies)]
        tests = pd.concat(tables).set_index("method")[P_VALUES]
        print(f"effect {effect}, {arguments.studies} studies, share with p <= .05:")
        print((tests <= 0.05).groupby("method").mean().round(3).to_string())
        for method, values in tests["p_permutation"].groupby("method"):
            print(f"  {method}: KS of p_permutation against uniform, p = "
                  f"{kstest(values, 'uniform').pvalue:.3f}")  # fmt: skip
