"""The section on evidence says what differs, and what chance would give."""

import pytest
from tests.unit.report.toy import GROUPS, blank_pictures, toy_findings

from notears_pfl.report.sections.certainty import (
    certainty_section,
    evidence_figure,
    evidence_lines,
    unbalanced_lines,
)


@pytest.fixture(scope="module")
def findings():
    return toy_findings()


def test_words_give_the_count_and_what_chance_would_give(findings):
    lines = list(evidence_lines(findings))

    assert lines[0].startswith("3 connections at every site in MDD only; ")
    assert "expected by chance" in lines[0]
    tested = findings.tables["evidence_tested"]
    first = tested.iloc[0]
    assert lines[2] == (
        f"Of {len(tested)} connections tested, 0 differ between MDD and HC with q ≤ 0.05."
        if first["q"] > 0.05
        else f"Of {len(tested)} connections tested, 1 differ between MDD and HC with q ≤ 0.05: "
        f"{first['from']} → {first['to']}."
    )
    assert "53% of the discovery edges are found in validation subjects" in lines[3]


def test_too_few_labellings_are_said(findings):
    few = findings.tables["evidence_counts"].assign(smallest_p=0.25)
    changed = toy_findings(tables={**findings.tables, "evidence_counts": few})

    assert any("can be below 0.25" in line for line in evidence_lines(changed))
    assert not any("can be below" in line for line in evidence_lines(findings))


def test_covariates_that_differ_are_named_with_their_sites(findings):
    table = findings.tables["table_one"].copy()
    table["smd"] = 0.1
    table.loc[table["variable"] == "age", "smd"] = [0.5, -0.3, 0.0]

    assert list(unbalanced_lines(table)) == ["age: COI (+0.50), KUT (-0.30)"]


def test_the_section_shows_every_tested_connection(findings):
    section = certainty_section(findings, blank_pictures(findings))

    assert len(section.content["tested"].rows) == len(findings.tables["evidence_tested"])
    assert len(section.content["counts"].rows) == 10


def test_the_figure_marks_the_observed_counts(findings):
    tables = findings.tables
    figure = evidence_figure(
        tables["evidence_draws"], tables["evidence_tested"], tables["evidence_replicated"],
        tables["evidence_connections"], GROUPS,
    )  # fmt: skip

    null, volcano, weights, _ = figure.axes
    observed = [line.get_xdata()[0] for line in null.get_lines()]
    assert observed == [3, 3]
    assert volcano.collections[0].get_offsets().shape[0] + volcano.collections[
        1
    ].get_offsets().shape[0] == len(tables["evidence_tested"])
    assert len(weights.collections) == 2
