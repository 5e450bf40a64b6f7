"""Figures of networks, findings, cohort and truth: what they say, not how they look."""

import matplotlib as mpl
import numpy as np
import pytest
from notears_pfl.report.cohort_figures import flow_figure, motion_figure, reason_kind
from notears_pfl.report.degree_figure import degree_figure
from notears_pfl.report.finding_figures import overlap_figure, site_specific_figure
from notears_pfl.report.network_figures import network_figures
from notears_pfl.report.style import lobe_colours
from notears_pfl.report.truth_figure import truth_figure

from notears_pfl.cohort.tables import flow_table

from .toy import GROUPS, LIMITS, SITES, toy_cohort, toy_findings, toy_rois, toy_tables


@pytest.fixture(scope="module")
def tables():
    return toy_tables()


def words(figure):
    figure.draw_without_rendering()
    return "\n".join(text.get_text() for text in figure.findobj(mpl.text.Text))


def test_a_network_is_drawn_in_three_ways_that_count_edges_and_people(tables):
    network = tables["networks"]["MDD", "COI"]

    figures = network_figures(network, tables["rois"], "MDD at COI", 3)

    n_edges = int((network.to_numpy() != 0).sum())
    assert set(figures) == {"brain", "circle", "matrix"}
    for figure in figures.values():
        assert f"MDD at COI: {n_edges} edges, from 3 people" in words(figure)
    image = figures["matrix"].axes[0].images[0].get_array()
    np.testing.assert_array_equal(image, network.to_numpy())


def test_the_overlap_counts_what_all_sites_have(tables):
    shown = words(overlap_figure(tables["overlap"], GROUPS, 3, tables["rois"]))

    assert "MDD: 13 connections at all 3 sites, 3 of them in MDD only" in shown
    assert "HC: 13 connections at all 3 sites, 3 of them in HC only" in shown


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


def test_degrees_are_drawn_where_they_are(tables):
    figure = degree_figure(tables["degree"], tables["degree_top"], GROUPS, 3)

    axis = figure.axes[0]
    names = [label.get_text() for label in axis.get_yticklabels()]
    summed = tables["degree"].query("site == 'all' and group == 'HC'").set_index("roi")
    drawn = axis.collections[-1].get_offsets()[:, 0]
    np.testing.assert_array_equal(drawn, summed["out_degree"][names])


def test_the_flow_counts_everyone_and_gives_reasons(tables):
    shown = words(flow_figure(tables["flow"], tables["cohort"], GROUPS))

    assert shown.count("12 in the table of participants") == 2
    assert "1 processing failed" in shown
    assert "1 motion" in shown
    assert shown.count("11 included") == 2


def test_who_was_never_enrolled_leaves_the_flow_before_the_usable_series():
    cohort = toy_cohort()
    cohort.loc[0, ["not_enrolled", "exclusion"]] = ["no T1w image", "not enrolled: no T1w image"]
    cohort.loc[0, ["included", "split"]] = [False, None]
    blank = cohort.fillna({"failure": "", "not_enrolled": "", "split": ""})

    figure = flow_figure(flow_table(blank), cohort, GROUPS)

    height = {text.get_text(): text.get_position()[1] for text in figure.axes[0].texts}
    usable = next(y for text, y in height.items() if text.startswith("11 with usable series"))
    assert height["1 left out\n1 not enrolled"] > usable > height["1 left out\n1 motion"]


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("failed: sub-1.nii.gz: no volumes", "processing failed"),
        ("motion: mean FD 0.71 > 0.5 mm; too few volumes: 4 < 60", "motion"),
        ("too few volumes: 4 < 60", "too few volumes"),
        ("site NYU lacks one of the groups", "site lacks one of the groups"),
        ("group 'BP' is neither MDD nor HC", "in neither group"),
    ],
)
def test_reasons_are_counted_by_kind(reason, kind):
    assert reason_kind(reason) == kind


def test_motion_is_drawn_with_its_limits_and_those_left_out(tables):
    figure = motion_figure(tables["cohort"], GROUPS, LIMITS)

    assert "limit 0.5" in words(figure)
    crosses = [c for c in figure.axes[0].collections if len(c.get_paths()[0].vertices) == 4]
    at = np.concatenate([c.get_offsets()[:, 1] for c in crosses if hasattr(c, "get_sizes")])
    assert 0.71 in at


def test_the_truth_is_scored_for_both_stages():
    figure = truth_figure(toy_findings().tables["truth"])

    shown = words(figure)
    assert "from the true ROI series" in shown
    assert "from raw images, preprocessed" in shown
    heights = np.concatenate(
        [c.get_offsets()[:, 1] for c in figure.axes[1].collections if hasattr(c, "get_sizes")]
    )
    np.testing.assert_allclose(heights, 0.8)


def test_lobes_have_different_colours():
    colours = lobe_colours(toy_rois()["lobe"])

    assert len(set(colours.values())) == len(colours) == 6
