"""Figures of two groups agree with the tables of the analysis."""

import numpy as np
import pandas as pd

from notears_pfl.analysis.counts import connection_counts
from notears_pfl.analysis.degree import degrees
from notears_pfl.analysis.edges import edge_table
from notears_pfl.evidence.comparison import COUNTS, compare

ROIS, SITES = list("abcdef"), ["A", "B", "C"]


def random_networks(seed):
    rng = np.random.default_rng(seed)
    common = np.triu(rng.random((6, 6)) < 0.3, k=1)
    networks = np.triu(rng.random((2, 3, 6, 6)) < 0.2, k=1) | common
    networks[0, 0] = networks[0, 0].T
    return networks


def edges_of(networks):
    labelled = {
        (group, site): pd.DataFrame(networks[g, k].astype(float), index=ROIS, columns=ROIS)
        for g, group in enumerate(("patients", "controls"))
        for k, site in enumerate(SITES)
    }
    return edge_table(labelled, 0.0)


def test_counts_are_those_of_the_analysis_tables():
    for seed in range(5):
        networks = random_networks(seed)

        found = compare(networks).counts

        table = connection_counts(edges_of(networks), ("patients", "controls"), SITES)
        table = table.set_index(["result", "who"]).loc[list(COUNTS)]
        np.testing.assert_array_equal(found, table[["directed", "undirected"]].to_numpy().T)


def test_degrees_are_those_of_the_analysis_tables():
    networks = random_networks(7)

    found = compare(networks).degree

    table = degrees(edges_of(networks), ["patients", "controls"], SITES, ROIS)
    for g, group in enumerate(("patients", "controls")):
        own = table[(table["site"] == "all") & (table["group"] == group)].set_index("roi").loc[ROIS]
        for i, name in enumerate(("out", "in", "total")):
            np.testing.assert_array_equal(found[g, i], own[f"{name}_degree"])
