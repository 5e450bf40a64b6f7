"""Figures of one network, of the connections of all sites, and of those of one site only."""

import numpy as np
import pandas as pd
import pytest

from notears_pfl.report.sections.site_networks import (
    matrix_figure,
    network_figures,
    networks_captions,
    overlap_figure,
    site_specific_figure,
)

from ..toy import GROUPS, SITES, toy_findings, words


def test_a_network_is_drawn_in_three_ways_that_count_edges_and_subjects(tables):
    network = tables["networks"]["MDD", "COI"]

    figures = network_figures(network, tables["rois"], "MDD at COI", 3)

    n_edges = int((network.to_numpy() != 0).sum())
    assert set(figures) == {"brain", "circle", "matrix"}
    for figure in figures.values():
        assert f"MDD at COI: {n_edges} edges, from 3 subjects" in words(figure)
    image = figures["matrix"].axes[0].images[0].get_array()
    np.testing.assert_array_equal(image, network.to_numpy())


def test_a_matrix_of_many_regions_has_a_dot_for_every_weight_and_no_names():
    names = [f"R{i}" for i in range(200)]
    weights = np.zeros((200, 200))
    weights[4, 150], weights[180, 2] = 0.5, -0.25

    axis = matrix_figure(pd.DataFrame(weights, names, names), "Many").axes[0]

    dots = axis.collections[0]
    # Across is to, down is from; both count from 1.
    np.testing.assert_array_equal(dots.get_offsets(), [[151, 5], [3, 181]])
    np.testing.assert_array_equal(dots.get_array(), [0.5, -0.25])
    assert axis.get_ylim()[0] > axis.get_ylim()[1]
    assert not {label.get_text() for label in axis.get_xticklabels()} & set(names)


def test_the_overlap_counts_what_all_sites_have(tables):
    shown = words(overlap_figure(tables["overlap"], GROUPS, 3, tables["rois"]))

    assert "MDD: 13 connections at all 3 sites, 3 not at every site of HC" in shown
    assert "HC: 13 connections at all 3 sites, 3 not at every site of MDD" in shown


def test_a_group_without_overlap_says_so(tables):
    only = tables["overlap"][tables["overlap"]["found_in"] == "MDD only"]

    shown = words(overlap_figure(only, GROUPS, 3, tables["rois"]))

    assert "HC: 0 connections at all 3 sites" in shown
    assert shown.count("no connection at every site") == 1


def test_a_site_without_connections_of_its_own_says_so(tables):
    alone = tables["site_specific"]
    counts = alone[alone["group"] == "MDD"]["site"].value_counts()

    shown = words(site_specific_figure(alone[alone["site"] != "COI"], "MDD", SITES, tables["rois"]))

    assert "MDD at COI alone: no connection" in shown
    assert f"MDD at KUT alone: {counts['KUT']} connection" in shown


@pytest.mark.parametrize("group", GROUPS)
def test_connections_of_single_sites_are_counted_by_sign_if_there_are_many_sites(tables, group):
    sites = [f"S{number:02d}" for number in range(13)]
    alone = tables["site_specific"].assign(site="S04")
    own = alone[alone["group"] == group]

    figure = site_specific_figure(alone, group, sites, tables["rois"])

    (axis,) = figure.axes
    lengths = np.array([bar.get_width() for bar in axis.patches]).reshape(2, 13)
    expected = np.zeros((2, 13))
    expected[:, 4] = (own["weight"] > 0).sum(), (own["weight"] < 0).sum()
    np.testing.assert_array_equal(lengths, expected)
    assert [label.get_text() for label in axis.get_yticklabels()] == sites


def test_the_caption_says_what_the_figure_of_single_sites_shows():
    many = toy_findings(sites=tuple(f"S{number:02d}" for number in range(13)))

    captions = [networks_captions(f)["site_specific_group-HC"] for f in (many, toy_findings())]

    assert ["by site and sign" in caption.text for caption in captions] == [True, False]
