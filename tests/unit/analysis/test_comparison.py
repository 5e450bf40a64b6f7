"""The table of the comparison, from networks whose differences were planted."""

import numpy as np
import pandas as pd
import pytest

from notears_pfl.analysis.comparison import Design, cost_per_network, draws_note, proportion_tests

GROUPS, SITES = ("MDD", "HC"), ("COI", "KUT", "UTO")
CONNECTIONS = pd.DataFrame(
    {
        "source": ["published", "published", "overlap"],
        "from": ["A", "B", "A"],
        "to": ["B", "A", "B"],
    }
)
N_DRAWS = 12


@pytest.fixture(scope="module")
def study():
    """Give draws of 8 + 8 subjects per site; A → B is found where most drawn are patients."""
    rng = np.random.default_rng(3)
    labels = pd.Series(
        {f"{s}{g}{i}": g for s in SITES for g in GROUPS for i in range(8)}, name="group"
    )
    draws, rows = [], []
    for draw in range(1, N_DRAWS + 1):
        for site in SITES:
            own = [name for name in labels.index if name.startswith(site)]
            mixed = rng.permutation(own)
            sets = {g: rng.permutation([n for n in own if labels[n] == g])[:5] for g in GROUPS}
            sets |= {"mixed_1": mixed[:5], "mixed_2": mixed[5:10]}
            for name, members in sets.items():
                draws += [(draw, name, site, who) for who in members]
                most = (labels[members] == "MDD").sum() > 2
                # The other method has every connection at one site, whoever is drawn.
                rows += [(draw, name, "pfl", site, "A", "B", most, most, most)]
                rows += [(draw, name, "pfl", site, "B", "A", False, False, most)]
                one = site == "COI"
                rows += [(draw, name, "pc", site, a, b, one, False, one) for a, b in ("AB", "BA")]
    columns = ["draw", "set", "method", "site", "from", "to", "present", "compelled", "either"]
    return (
        pd.DataFrame(rows, columns=columns),
        pd.DataFrame(draws, columns=["draw", "set", "site", "participant_id"]),
        labels,
    )


def table(study, rule="majority"):
    presence, draws, labels = study
    design = Design(GROUPS, SITES, rule, 999)
    tests = proportion_tests(presence, CONNECTIONS, draws, labels, design, np.random.default_rng(0))
    return tests.set_index(["source", "from", "to", "method"])


def test_there_is_one_row_per_connection_source_and_method(study):
    tests = table(study)

    assert len(tests) == 3 * 2
    assert tests.index.is_unique
    assert (tests["n_draws"] == N_DRAWS).all()


def test_draws_are_counted_in_each_group_and_compared(study):
    row = table(study).loc[("published", "A", "B", "pfl")]

    assert (row["count_MDD"], row["count_HC"]) == (N_DRAWS, 0)
    assert (row["site_share_MDD"], row["site_share_HC"]) == (1, 0)
    assert row["difference"] == 1
    assert row["p_z"] < 1e-5
    assert row["p_permutation"] <= 0.002
    assert row["p_permutation_two_sided"] <= 0.004


def test_a_connection_in_the_other_direction_counts_as_either_alone(study):
    row = table(study).loc[("published", "B", "A", "pfl")]

    assert (row["count_MDD"], row["either_MDD"], row["either_HC"]) == (0, N_DRAWS, 0)
    assert row["p_z"] == row["p_permutation"] == 1


@pytest.mark.parametrize(("rule", "count"), [("any", N_DRAWS), ("majority", 0), ("all", 0)])
def test_the_rule_says_at_how_many_sites(study, rule, count):
    row = table(study, rule).loc[("published", "A", "B", "pc")]

    assert (row["count_MDD"], row["count_HC"], row["compelled_MDD"]) == (count, count, 0)
    assert row["site_share_MDD"] == pytest.approx(1 / 3)


def test_false_discoveries_are_counted_within_a_source_and_method(study):
    tests = table(study)

    first, second = (tests.loc[("published", *pair, "pfl")] for pair in ("AB", "BA"))
    assert first["q_permutation"] == pytest.approx(2 * first["p_permutation"])
    assert second["q_permutation"] == 1
    own = tests.loc[("overlap", "A", "B", "pfl")]
    assert own["q_permutation"] == own["p_permutation"] == first["p_permutation"]


def test_the_note_names_the_sites_that_have_one():
    sites = pd.DataFrame(
        {
            "site": ["COI", "KUT"],
            "group": ["MDD", "MDD"],
            "note": [np.nan, "every draw is the same"],
        }
    )

    assert draws_note(sites) == "KUT MDD: every draw is the same"
    assert draws_note(sites[:1]) == ""


def test_cost_is_per_network():
    cost = pd.DataFrame(
        {"method": ["pfl", "pc", "pfl"], "n_networks": [5, 5, 5], "cpu_seconds": [2.0, 1.0, 3.0]}
    )

    rows = cost_per_network(cost).set_index("method")
    assert rows["cpu_seconds_per_network"].to_dict() == {"pfl": 0.5, "pc": 0.2}
