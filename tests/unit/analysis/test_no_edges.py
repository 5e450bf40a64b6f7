"""A study in which no network has an edge: every table is empty, has its columns, and joins."""

import numpy as np
import pandas as pd
import pytest

from notears_pfl.analysis.chance import Compared, connection_table, site_specific_table
from notears_pfl.analysis.counts import connection_counts
from notears_pfl.analysis.edges import edge_table
from notears_pfl.analysis.exchange import exported_edges, graphs, with_stability
from notears_pfl.analysis.judged import judged_counts, judged_overlap, judged_site_specific
from notears_pfl.analysis.motion import motion_association
from notears_pfl.analysis.overlap import overlapping_connections, site_specific_connections
from notears_pfl.analysis.weight_regression import regress_weights, subject_weight_table
from notears_pfl.evidence.bootstrap import Bootstraps
from notears_pfl.evidence.comparison import compare
from notears_pfl.evidence.significance import Draws, summarise, weight_test
from notears_pfl.io.tables import read_table, write_table

NAMES = GROUPS, SITES, ROIS = ("MDD", "HC"), ["A", "B"], ["a", "b", "c"]
NONE = np.zeros((2, 2, 3, 3))


@pytest.fixture
def written(tmp_path):
    """Write a table and read it again, as from one rule to the next."""

    def write_and_read(table):
        write_table(table, tmp_path / "table.tsv", index=False)
        return read_table(tmp_path / "table.tsv")

    return write_and_read


@pytest.fixture
def networks():
    return {(g, s): pd.DataFrame(0.0, index=ROIS, columns=ROIS) for g in GROUPS for s in SITES}


@pytest.fixture
def study():
    own = compare(NONE != 0)
    draws = Draws(
        np.arange(2), np.zeros((2, 0)), np.zeros((2, 3, 3)), np.array([own.counts] * 2)
    )  # fmt: skip
    tests = weight_test(np.zeros((2, 0)), np.zeros((2, 0)))
    permuted = summarise(np.zeros((3, 3), dtype=bool), tests, draws)
    drawn = Bootstraps(np.arange(1, 3), NONE, NONE[:, 0], NONE, np.array([own.degree] * 2))
    return Compared(NONE, *NAMES, permuted, drawn)


def replicated():
    return pd.DataFrame(columns=["group", "site", "from", "to", "found"]).astype({"found": bool})


def test_the_evidence_of_no_connection_can_be_read_and_joined(study, networks, written):
    edges = edge_table(networks, 0.3)
    evidence = written(connection_table(study, written(replicated())))
    specific = written(site_specific_table(study))

    overlap = judged_overlap(overlapping_connections(edges, GROUPS, SITES), evidence)
    alone = judged_site_specific(site_specific_connections(edges), specific)
    counts = judged_counts(connection_counts(edges, GROUPS, SITES), None)

    assert list(evidence)[:5] == ["group", "from", "to", "sites", "weight"]
    assert {"found_in", "n_sites_MDD", "weight_HC", "p"} <= set(written(overlap))
    assert {"group", "site", "weight", "selection"} <= set(written(alone))
    assert (counts["directed"] == 0).all()
    assert len(evidence) == len(specific) == len(overlap) == len(alone) == 0


def test_networks_without_edges_are_exported(study, networks, written):
    edges = with_stability(edge_table(networks, 0.0), NONE, NONE, NAMES)
    tests = written(connection_table(study, replicated()))
    details = written(
        pd.DataFrame(
            columns=["group", "site", "from", "to", "standard_error", "probability",
                     "direction_support"],
        )
    )  # fmt: skip
    nodes = pd.DataFrame({"label": ROIS, "name": ROIS, "module": "x", "x": 0, "y": 0, "z": 0})

    exported = exported_edges(edges, details, tests, nodes)

    assert {"weight", "p", "from_x", "to_module"} <= set(written(exported))
    assert [len(graph.edges) for graph in graphs(networks, exported, tests)] == [0] * 6


def test_no_edge_has_motion_or_a_regression(networks, written, rng):
    subjects = pd.DataFrame(
        {"participant_id": list("stuvw"), "site": "A", "group": "HC", "mean_fd_mm": range(5)}
    )
    series = {who: pd.DataFrame(rng.normal(size=(9, 3)), columns=ROIS) for who in "stuvw"}
    none = np.zeros((5, 0))
    weights = subject_weight_table(
        list("stuvw"), ["discovery"] * 5, none, none, networks["HC", "A"]
    )
    ages = pd.DataFrame({"age": range(5)}, index=list("stuvw"))

    motion = motion_association(edge_table(networks, 0.3), series, subjects)
    regression = regress_weights({("HC", "A"): written(weights)}, ages, ages[[]])

    assert list(written(motion)) == ["from", "to", "n", "r", "p"]
    assert {"column", "effect", "q"} <= set(written(regression))
