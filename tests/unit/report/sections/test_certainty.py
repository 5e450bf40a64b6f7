"""The section on evidence says what differs, and what chance would give."""

import pandas as pd
import pytest
from tests.unit.report.toy import GROUPS, blank_pictures, toy_findings

from notears_pfl.report.sections.certainty import (
    certainty_section,
    evidence_figure,
    evidence_lines,
    label_lines,
)


@pytest.fixture(scope="module")
def findings():
    return toy_findings()


def test_words_give_the_count_and_what_chance_would_give(findings):
    lines = list(evidence_lines(findings))

    assert lines[0].startswith("3 connections at every site of MDD, not every site of HC; ")
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


def test_sites_whose_labels_can_hardly_be_permuted_are_named_with_the_number(findings):
    cohort = findings.cohort.copy()
    kut, huh = (cohort["site"] == site for site in ("KUT", "HUH"))
    cohort.loc[kut & (cohort["group"] == "MDD"), "split"] = ["discovery", *["validation"] * 3]
    cohort.loc[kut & (cohort["group"] == "HC"), "split"] = "discovery"
    cohort = pd.concat([cohort, *[cohort[huh].assign(included=True)] * 3], ignore_index=True)
    changed = toy_findings(tables={**findings.tables, "cohort": cohort})

    lines = list(label_lines(changed))

    assert (
        "At KUT, the labels of 1 MDD and 4 HC can be exchanged in 5 ways only: this site alone "
        "cannot show a difference."
    ) in lines
    assert not any("At HUH" in line for line in lines)


def test_of_many_such_sites_the_first_are_named_and_the_others_counted():
    sites = tuple(f"S{number:02d}" for number in range(20))
    study = toy_findings(n_per_cell=1, sites=sites)

    lines = [line for line in label_lines(study) if line.startswith(("At ", "The same"))]

    assert len(lines) == 13
    assert lines[11].startswith("At S11")
    assert lines[12] == "The same holds for 8 more sites."


def test_a_single_further_site_is_one_site():
    study = toy_findings(n_per_cell=1, sites=tuple(f"S{number:02d}" for number in range(13)))

    assert "The same holds for 1 more site." in label_lines(study)


def test_subjects_without_a_stratum_are_named(findings):
    cohort = findings.cohort.copy()
    cohort.loc[2, "sex"] = None
    config = {**findings.config, "evidence": {**findings.config["evidence"], "strata": ["sex"]}}
    changed = toy_findings(tables={**findings.tables, "cohort": cohort}, config=config)

    said = "\n".join(certainty_section(changed, blank_pictures(changed)).content["labels"])

    assert f"sex is unknown for 1 of 22 subjects ({cohort.loc[2, 'participant_id']})" in said


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
