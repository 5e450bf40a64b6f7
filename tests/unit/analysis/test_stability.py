"""How often a connection is found again."""

import pandas as pd

from notears_pfl.analysis.stability import draw_stability


def test_stability_is_the_share_of_the_methods_networks_with_the_connection():
    edges = pd.DataFrame(
        [
            ("MDD", "pfl", "A", "B"),
            ("MDD", "pfl", "A", "B"),
            ("MDD", "pfl", "B", "A"),
            ("HC", "pfl", "A", "B"),
            ("MDD", "sig", "A", "B"),
        ],
        columns=["set", "method", "from", "to"],
    )
    networks = pd.DataFrame({"set": ["MDD"] * 4 + ["HC"] * 2 + ["MDD"], "method": "pfl"})
    networks.loc[6, "method"] = "sig"

    shares = draw_stability(edges, networks, "pfl").set_index(["group", "from", "to"])["share"]

    assert shares.to_dict() == {
        ("MDD", "A", "B"): 0.5,
        ("MDD", "B", "A"): 0.25,
        ("HC", "A", "B"): 0.5,
    }
