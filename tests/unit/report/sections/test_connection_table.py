"""The table of connections lists each once, with its sites, direction, motion and stability."""

import re
from dataclasses import replace

import pandas as pd

from notears_pfl.report.page import render
from notears_pfl.report.sections.connection_table import direction_flag, edge_records
from notears_pfl.report.sections.site_networks import networks_section

from ..toy import SITES, texts, toy_findings


def test_every_connection_is_listed_once_with_its_sites_and_weights(findings):
    edges = edge_records(findings, None)

    pairs = {(e["from"], e["to"]) for e in edges}
    expected = {
        (network.index[i], network.columns[j])
        for network in findings.networks.values()
        for i, j in zip(*network.to_numpy().nonzero(), strict=True)
    }
    assert len(edges) == len(pairs)
    assert pairs == expected
    first = edges[0]
    network = findings.networks["MDD", "COI"]
    assert first["weights"]["MDD"]["COI"] == round(network.loc[first["from"], first["to"]], 3)
    assert set(first["weights"]["MDD"]) == set(SITES)
    assert "HC" not in first["weights"]


def test_a_connection_of_one_group_says_at_how_many_sites_the_other_has_it_or_its_reverse(
    findings, pictures
):
    first = edge_records(findings, None)[0]
    networks = {key: network.copy() for key, network in findings.networks.items()}
    networks["HC", "COI"].loc[first["from"], first["to"]] = 0.4
    networks["HC", "KUT"].loc[first["to"], first["from"]] = 0.4

    table = networks_section(toy_findings(networks=networks), pictures).content["edge_table"]

    named = f"{first['from']} → {first['to']}"
    (row,) = [row for row in table.rows if named in row[0].text]
    cells = dict(zip([column.title for column in table.columns], row, strict=True))
    assert cells["found"].text == "every site of MDD, not every site of HC"
    assert cells["MDD: sites"].text == "3/3"
    assert cells["HC: sites"].text == "1/3, reversed at 1"
    assert cells["HC: sites"].flagged
    assert not cells["MDD: sites"].flagged


def test_a_direction_is_kept_reversed_or_not_found(findings):
    reverse = {key: network.T for key, network in findings.other_scale.items()}
    nothing = {key: 0 * network for key, network in findings.other_scale.items()}

    def flags(other):
        return {direction_flag(e) for e in edge_records(toy_findings(other_scale=other), None)}

    assert flags(findings.other_scale) == {"kept"}
    assert flags(reverse) == {"reversed"}
    assert flags(nothing) == {"not found"}


def test_stability_shows_where_it_was_computed(findings, pictures):
    first = edge_records(findings, None)[0]
    stability = pd.DataFrame(
        [{"group": "MDD", "from": first["from"], "to": first["to"], "share": 0.8}]
    )

    without = networks_section(findings, pictures).content["edge_table"]
    content = networks_section(findings, pictures, stability).content

    assert content["edges"].items[0]["stability"] == {"MDD": 0.8, "HC": 0.0}
    assert texts(content["edge_table"])[0][-2:] == ["80%", "0%"]
    assert len(content["edge_table"].columns) == len(without.columns) + 2


def test_a_connection_that_follows_motion_is_marked(findings, pictures):
    table = networks_section(findings, pictures).content["edge_table"]

    place = [column.title for column in table.columns].index("motion r")
    assert [row[place].text for row in table.rows if row[place].flagged] == ["+0.61"]


def test_a_long_table_says_which_file_has_all_and_in_what_its_rows_differ(findings, pictures):
    content = dict(networks_section(findings, pictures).content)
    table = content["edge_table"]
    content["edge_table"] = replace(table, rows=[*table.rows] * 40)

    page = re.sub("<.*?>", "", render("sections/networks.html", content=content))

    assert (
        "1,080 rows; without scripts and in print only the first ones are shown. "
        "results/evidence/connections.tsv has all, with a row for each group that has the "
        "connection."
    ) in page
