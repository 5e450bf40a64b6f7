"""Published results that come back, against chance."""

import pandas as pd
import pytest
from scipy.stats import fisher_exact

from notears_pfl.analysis.scorecard import scorecard
from notears_pfl.errors import TableError
from notears_pfl.evidence.scorecard import score

ROIS = list("abcdef")


@pytest.fixture
def published():
    connections = [("MDD", "a", "b"), ("MDD", "c", "d"), ("HC", "e", "f"), ("MDD", "a", "z")]
    return {
        "overlapping_connections": pd.DataFrame(connections, columns=["group", "from", "to"]),
        "site_specific_connections": pd.DataFrame({"site": ["A"], "from": ["a"], "to": ["f"]}),
        "connection_degree_top10": pd.DataFrame(
            {"group": "MDD", "direction": "in", "abbreviation": ["a", "b"]}
        ),
    }


@pytest.fixture
def card(published):
    overlap = pd.DataFrame(
        {
            "from": ["a", "d", "e"],
            "to": ["b", "c", "f"],
            "found_in": ["both", "MDD only", "HC only"],
        }
    )
    alone = pd.DataFrame({"group": ["HC"], "site": ["A"], "from": ["a"], "to": ["f"]})
    top = pd.DataFrame({"group": "MDD", "direction": "in", "roi": ["b", "c"]})
    table = scorecard(published, overlap, alone, top, ("MDD", "HC"), ROIS)
    return table.set_index(["result", "who"])


def test_chance_is_that_of_fishers_exact_test():
    found = score({1, 2, 3, 4}, {3, 4, 5}, 20)

    assert (found.both, found.expected) == (2, 4 * 3 / 20)
    assert found.p == pytest.approx(fisher_exact([[2, 2], [1, 15]], "greater").pvalue)


def test_connections_count_with_and_without_direction(card):
    assert card.loc[("at every site", "MDD")].tolist()[:3] == [2, 2, 1]
    assert card.loc[("at every site, either direction", "MDD"), "both"] == 2
    assert card.loc[("at every site", "HC"), "both"] == 1


def test_lists_of_single_sites_are_those_of_patients(card):
    assert card.loc[("at exactly one site", "MDD at A"), "both"] == 0


def test_degrees_are_compared_by_region(card):
    row = card.loc[("highest in degree", "MDD")]

    assert (row["both"], row["expected"]) == (1, pytest.approx(4 / 6))


def test_a_published_table_without_its_columns_is_refused(published):
    published["site_specific_connections"] = pd.DataFrame({"from": ["a"], "to": ["b"]})

    with pytest.raises(TableError, match="site_specific_connections: no column site"):
        scorecard(published, *[pd.DataFrame()] * 3, ("MDD", "HC"), ROIS)
