"""A connection is looked up in every network, with and without its direction."""

import pandas as pd
import pytest

from notears_pfl.analysis.presence import connection_presence, needed_sites


@pytest.fixture
def presence():
    networks = pd.DataFrame(
        [(1, "MDD", "pc", site) for site in ("COI", "KUT", "UTO", "HUH")],
        columns=["draw", "set", "method", "site"],
    )
    edges = pd.DataFrame(
        [
            (1, "MDD", "pc", "COI", "INS.R", "INS.L", False),
            (1, "MDD", "pc", "KUT", "INS.R", "INS.L", True),
            (1, "MDD", "pc", "UTO", "INS.L", "INS.R", True),
            (1, "MDD", "pc", "UTO", "INS.L", "ACG.R", False),
        ],
        columns=["draw", "set", "method", "site", "from", "to", "open"],
    )
    # Once as published, once as this study's own.
    connections = pd.DataFrame({"from": ["INS.R"] * 2, "to": ["INS.L"] * 2})
    return connection_presence(networks, edges, connections).set_index("site")


def test_there_is_one_row_per_network_whether_it_has_edges_or_not(presence):
    assert presence.index.tolist() == ["COI", "KUT", "UTO", "HUH"]


def test_direction_counts_but_for_either(presence):
    assert presence["present"].tolist() == [True, True, False, False]
    assert presence["either"].tolist() == [True, True, True, False]


def test_an_open_direction_is_not_compelled(presence):
    assert presence["compelled"].tolist() == [True, False, False, False]


@pytest.mark.parametrize(
    ("rule", "of_five", "of_four"), [("any", 1, 1), ("majority", 3, 3), ("all", 5, 4)]
)
def test_a_majority_is_more_than_half(rule, of_five, of_four):
    assert (needed_sites(rule, 5), needed_sites(rule, 4)) == (of_five, of_four)
