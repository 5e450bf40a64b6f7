"""The true networks have the edges that were asked for, where they were asked for."""

import numpy as np
import pytest

from notears_pfl.phantom.true_networks import (
    NetworkOptions,
    draw_edges,
    over_all_regions,
    true_network,
)

ROIS = [f"R{i}" for i in range(12)]
SITES = ["COI", "KUT", "UTO"]
OPTIONS = NetworkOptions(
    shared_edges=8, patients_edges=3, controls_edges=4, site_edges=2,
    weight_range=(0.5, 0.8), weight_variation=0.15,
)  # fmt: skip


@pytest.fixture
def edges(rng):
    return draw_edges(rng, ROIS, SITES, OPTIONS)


def has_cycle(network):
    power = (network.to_numpy() != 0).astype(float)
    return np.linalg.matrix_power(np.eye(len(power)) + power, len(power)).trace() > len(power)


def test_edges_of_each_kind_are_as_many_as_asked_for_and_all_different(edges):
    assert edges["kind"].value_counts().to_dict() == {
        "shared": 8, "patients": 3, "controls": 4, "site": 6,
    }  # fmt: skip
    assert edges.groupby("site").size().to_dict() == {"COI": 2, "KUT": 2, "UTO": 2}
    assert not edges.duplicated(["from", "to"]).any()


def test_even_the_union_of_all_networks_has_no_cycle(edges, rng):
    union = sum(
        true_network(rng, edges, ROIS, site, is_patients, 0).abs()
        for site in SITES
        for is_patients in (True, False)
    )

    assert (union.to_numpy() != 0).sum() == len(edges)
    assert not has_cycle(union)


@pytest.mark.parametrize(
    ("is_patients", "own", "other"),
    [(True, "patients", "controls"), (False, "controls", "patients")],
)
def test_a_network_has_the_shared_edges_its_groups_and_its_sites(
    edges, rng, is_patients, own, other
):
    network = true_network(rng, edges, ROIS, "KUT", is_patients, OPTIONS.weight_variation)

    for source, target, kind, site, weight in edges.itertuples(index=False):
        has_edge = network.loc[source, target] != 0
        assert has_edge == (kind in ("shared", own) or site == "KUT")
        if has_edge:
            assert network.loc[source, target] / weight == pytest.approx(1, abs=0.15)
    assert other in set(edges["kind"])


def test_weights_lie_in_their_range_with_both_signs(edges):
    assert edges["weight"].abs().between(0.5, 0.8).all()
    assert set(np.sign(edges["weight"])) == {-1, 1}


def test_over_all_regions_keeps_edges_at_their_labels(edges, rng):
    network = true_network(rng, edges, ROIS, "COI", True, 0)

    wider = over_all_regions(network, ["X", *ROIS[::-1], "Y"])

    assert wider.loc[ROIS, ROIS].equals(network.rename_axis(index=wider.index.name))
    assert wider.to_numpy().astype(bool).sum() == network.to_numpy().astype(bool).sum()
