"""The important nodes and their degrees."""

import numpy as np

from notears_pfl.report.sections.nodes import degree_figure, nodes_section

from ..toy import GROUPS, texts


def test_important_nodes_add_up_as_in_the_paper(findings, pictures):
    content = nodes_section(findings, pictures).content

    first = content["tables"][0]
    assert f"total {sum(int(row[3]) for row in texts(first))}" in first.caption
    assert len(content["tables"]) == 4
    assert [row[1] for row in texts(content["totals"])] == ["top", "all", "top", "all"]


def test_degrees_are_drawn_where_they_are(tables):
    figure = degree_figure(tables["degree"], tables["degree_top"], GROUPS, 3)

    axis = figure.axes[0]
    names = [label.get_text() for label in axis.get_yticklabels()]
    summed = tables["degree"].query("site == 'all' and group == 'HC'").set_index("roi")
    drawn = axis.collections[-1].get_offsets()[:, 0]
    np.testing.assert_array_equal(drawn, summed["out_degree"][names])
