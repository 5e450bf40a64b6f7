"""What is known about edges holds in the result, and is refused where it contradicts itself."""

import numpy as np
import pandas as pd
import pytest

from notears_pfl import NotearsPFL
from notears_pfl.errors import InputError
from notears_pfl.model.constraints import checked_constraints, edge_mask
from notears_pfl.model.problem import is_acyclic

NAMES = list("abcdefgh")


def test_pairs_of_numbers_names_and_masks_are_the_same_edges():
    mask = np.zeros((8, 8), dtype=bool)
    mask[0, 2] = mask[3, 1] = True

    for edges in ([(0, 2), (3, 1)], [("a", "c"), ("d", "b")], mask):
        assert np.array_equal(edge_mask(edges, "required", 8, NAMES), mask)


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"required": [(0, 1)], "forbidden": [(0, 1)]}, r"not be forbidden; .* the first a → b"),
        ({"required": [(0, 1), (1, 2), (2, 0)]}, "must have no cycle"),
        ({"required": [(1, 0)], "tiers": [0, 1, *[2] * 6]}, r"higher tier .* first b → a\. Drop"),
        ({"required": [("a", "z")]}, r"required edge \('a', 'z'\): must be a pair of ROIs"),
        ({"forbidden": [(0, 8)]}, r"forbidden edge \(0, 8\): .* number from 0 to 7"),
        ({"forbidden": [(4, 4)]}, "forbidden: an ROI cannot be its own cause; found ROI 4"),
        ({"required": np.ones((3, 3), dtype=bool)}, r"mask of shape \(8, 8\), .* shape \(3, 3\)"),
        ({"tiers": [0, 1]}, r"number to each of the 8 ROIs; found shape \(2,\)"),
    ],
)
def test_contradictions_and_unknown_edges_are_refused(known, message):
    with pytest.raises(InputError, match=message):
        checked_constraints(**{"required": None, "forbidden": None, "tiers": None} | known,
                            d=8, names=NAMES)  # fmt: skip


def test_orders_keep_what_must_come_first_and_move_little_else():
    known = checked_constraints([(5, 0)], None, None, 6, None)

    assert known.order(np.arange(6)).tolist() == [1, 2, 3, 4, 5, 0]


@pytest.mark.parametrize("penalty", ["edgewise", "chain"])
def test_the_networks_have_required_edges_and_no_forbidden_ones(samples, truth, penalty):
    i, j = np.argwhere(truth[0])[0].tolist()
    tables = [pd.DataFrame(x, columns=NAMES) for x in samples]
    backwards, (a, b) = (NAMES[j], NAMES[i]), np.argwhere(truth[0])[-1].tolist()

    model = NotearsPFL(penalty, required=[backwards], forbidden=[(a, b)]).fit(tables)

    assert model.adjacency_[:, j, i].all()
    assert not model.adjacency_[:, a, b].any()
    assert not model.penalised_weights_[:, a, b].any()
    assert all(is_acyclic(graph) for graph in model.adjacency_)


def test_no_edge_goes_back_to_a_lower_tier(samples):
    tiers = np.array([1, 1, 0, 0, 1, 0, 1, 0])

    found = NotearsPFL(tiers=tiers).fit(samples).adjacency_

    assert found.any()
    assert not found[:, tiers == 1][:, :, tiers == 0].any()
