"""Tables of the evidence: every figure beside the right name."""

import numpy as np
import pandas as pd
import pytest

from notears_pfl.analysis.chance import (
    Compared,
    connection_table,
    count_draws,
    count_table,
    degree_table,
    site_specific_table,
)
from notears_pfl.analysis.chance import (
    tested_table as list_tested,
)
from notears_pfl.analysis.judged import (
    judged_counts,
    judged_degrees,
    judged_overlap,
    judged_site_specific,
    judged_totals,
)
from notears_pfl.evidence.bootstrap import Bootstraps
from notears_pfl.evidence.comparison import compare
from notears_pfl.evidence.significance import Draws, summarise, weight_test

GROUPS, SITES, ROIS = ("MDD", "HC"), ["A", "B"], ["a", "b", "c"]
TESTED = np.array([[0, 1, 0], [0, 0, 0], [0, 1, 0]], dtype=bool)


@pytest.fixture
def weights():
    """Give networks: a → b everywhere; b → c at both sites of patients, at A of controls."""
    weights = np.zeros((2, 2, 3, 3))
    weights[:, :, 0, 1] = 0.5
    weights[0, :, 1, 2] = [0.4, 0.6]
    weights[1, 0, 1, 2] = 0.7
    return weights


@pytest.fixture
def tests():
    differences = np.array([[0.0, -0.6], [0.1, 0.0], [-0.1, 0.1], [0.0, 0.2]])
    return weight_test(differences, differences)


@pytest.fixture
def study(weights, tests):
    own = compare(weights != 0)
    counts = np.array([own.counts, own.counts + 1, own.counts + 2, own.counts + 3])
    degree = np.array([own.degree[0] - own.degree[1]] + [np.zeros((3, 3))] * 3)
    sites = np.array([[0.0, -1.0], [0, 0], [0, 0], [0, 1]])
    found = (weights != 0).astype(int)
    resampled = Bootstraps(
        np.arange(1, 5), 3 * found + found.swapaxes(2, 3), 2 * (found.sum(axis=1) == 2),
        found * (found.sum(axis=1) == 1)[:, None], np.array([own.degree] * 4),
    )  # fmt: skip
    draws = Draws(np.arange(4), sites, degree, counts)
    return Compared(weights, GROUPS, SITES, ROIS, summarise(TESTED, tests, draws), resampled)


@pytest.fixture
def replicated():
    rows = [
        ("MDD", "A", "a", "b", True),
        ("MDD", "B", "a", "b", True),
        ("HC", "A", "a", "b", False),
    ]
    return pd.DataFrame(rows, columns=["group", "site", "from", "to", "found"])


def test_a_connection_has_its_sites_frequencies_and_test(study, replicated):
    table = connection_table(study, replicated).set_index(["group", "from", "to"])

    row = table.loc[("MDD", "b", "c")]
    assert (row["sites"], row["weight"]) == (2, 0.5)
    assert row["selection"] == row["direction"] == 0.75
    assert row["at_every_site"] == 0.5
    # c → b was tested: the opposite direction of the listed one.
    assert row["tested"] == "reversed"
    assert (row["difference"], row["p"]) == (-0.6, 0.25)
    assert table.loc[("HC", "b", "c"), "sites"] == 1
    assert table["replicated"].to_dict() == {
        ("MDD", "a", "b"): 2, ("MDD", "b", "c"): 0, ("HC", "a", "b"): 0, ("HC", "b", "c"): 0,
    }  # fmt: skip


def test_tested_connections_are_listed_with_the_smallest_p_first(study, tests):
    table = list_tested(study, tests)

    assert table[["from", "to"]].to_numpy().tolist() == [["c", "b"], ["a", "b"]]
    assert table["low"].iloc[0] == pytest.approx(0.005)
    assert table["p_largest"].tolist() == [0.25, 1]


def test_counts_of_the_fits_stand_beside_those_of_chance(study):
    table = count_table(study, 1e-6).set_index(["kind", "result", "who"])

    row = table.loc[("directed", "at every site", "MDD only")]
    assert row[["fits", "observed", "expected"]].tolist() == [1, 1, 3]
    assert row["p"] == 0.5
    difference = table.loc[("directed", "edges over all sites", "MDD minus HC")]
    assert difference[["fits", "expected", "p"]].tolist() == [1, 1, 1]
    assert list(count_draws(study)["edges over all sites, HC, directed"]) == [3, 4, 5, 6]


def test_degrees_and_their_tests_join_the_analysis_table(study):
    evidence = degree_table(study)
    degrees = pd.DataFrame({"site": ["A", "all", "all"], "roi": ["c", "c", "a"]})

    table = judged_degrees(degrees, evidence)

    assert table["p_in"].isna().tolist() == [True, False, False]
    assert table["p_in"].tolist()[1:] == [0.25, 1.0]
    assert evidence.set_index(["roi", "direction"]).loc[("c", "in"), "degree_MDD"] == 2


def test_overlap_and_lists_of_one_site_gain_what_is_known(study, replicated):
    evidence = connection_table(study, replicated)
    overlap = pd.DataFrame({"from": ["b"], "to": ["c"], "found_in": ["MDD only"]})
    alone = pd.DataFrame({"group": ["HC"], "site": ["A"], "from": ["b"], "to": ["c"]})

    assert judged_overlap(overlap, evidence)["p"].tolist() == [0.25]
    assert judged_site_specific(alone, site_specific_table(study))["selection"].tolist() == [0.25]


def test_totals_get_the_p_value_of_all_edges(study):
    totals = pd.DataFrame({"direction": ["out", "out"], "rois": ["top", "all"]})

    assert judged_totals(totals, count_table(study, 1e-6))["p"].tolist()[1] == 1.0
    assert np.isnan(judged_totals(totals, count_table(study, 1e-6))["p"].iloc[0])


def test_results_without_evidence_keep_empty_columns():
    overlap = pd.DataFrame({"from": ["b"], "to": ["c"], "found_in": ["MDD only"]})
    counts = pd.DataFrame({"result": ["at every site"], "who": ["both"], "directed": [3]})

    assert judged_overlap(overlap, None)[["p", "q"]].isna().all(axis=None)
    assert judged_counts(counts, None)["p_directed"].isna().all()


def test_few_labellings_bound_the_p_values(study):
    assert count_table(study, 1e-6)["smallest_p"].iloc[0] == 0.25
    assert count_table(study, 0.5)["smallest_p"].iloc[0] == 0.5
