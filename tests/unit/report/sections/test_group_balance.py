"""Words and figure say in what patients and controls differ, where, and by how much."""

import numpy as np
import pandas as pd
import pytest

from notears_pfl.report.sections.certainty import certainty_section
from notears_pfl.report.sections.cohort_flow import cohort_section, reason_kind
from notears_pfl.report.sections.glance import glance_section
from notears_pfl.report.sections.group_balance import (
    balance_figure,
    balance_lines,
    calm_line,
    matching_lines,
    missing_lines,
)
from notears_pfl.report.sections.methods_paragraph import methods_section

from ..toy import GROUPS, blank_pictures, toy_findings, words


@pytest.fixture
def alike(findings):
    """Give the table of a study whose groups do not differ in anything."""
    return findings.tables["balance"].assign(difference=0.1, unbalanced=False)


def with_difference(table, difference, **where):
    chosen = np.logical_and.reduce([table[key] == value for key, value in where.items()])
    table = table.copy()
    table.loc[chosen, "difference"] = difference
    table.loc[chosen, "unbalanced"] = abs(difference) > 0.2
    return table


def test_groups_without_covariates_are_not_called_balanced(alike):
    none = "No covariate was available, so the balance of the groups was not assessed."

    assert calm_line(alike).startswith("No covariate of table one differs")
    assert calm_line(alike.iloc[:0]) == none
    assert calm_line(alike.assign(difference=np.nan)) == none


MOTION = {"subjects": "included", "variable": "mean_fd_mm"}


def test_a_difference_is_named_with_its_covariate_size_site_and_subjects(findings, alike):
    table = with_difference(alike, 0.41, **MOTION, site="KUT")
    table = with_difference(table, -0.3, **MOTION, site="HUH")
    table = with_difference(table, 0.25, **MOTION, site="all sites")

    assert list(balance_lines(alike, GROUPS)) == []
    assert list(balance_lines(table, GROUPS)) == [
        "MDD and HC differ in mean_fd_mm by +0.41 SD at KUT (4 and 4 subjects), −0.30 SD at HUH "
        "(4 and 3 subjects), +0.25 SD over all sites."
    ]


@pytest.mark.parametrize(("n_sites", "others"), [(30, "21 more sites"), (10, "1 more site")])
def test_of_many_sites_the_first_are_named_and_the_others_counted(alike, n_sites, others):
    one = alike[(alike["site"] == "KUT") & (alike["subjects"] == "included")]
    sites = [one.assign(site=f"S{number:02d}") for number in range(n_sites)]
    table = pd.concat([alike, *sites], ignore_index=True)
    table = with_difference(table, 0.41, **MOTION)

    (line,) = [line for line in balance_lines(table, GROUPS) if "mean_fd_mm" in line]

    assert "+0.41 SD at S08" in line
    assert "S09" not in line
    assert f" and {others}, +0.41 SD over all sites" in line


def test_the_warning_stands_in_evidence_and_at_a_glance(findings, alike):
    table = with_difference(alike, 0.41, **MOTION, site="KUT")
    warned, calm = (
        toy_findings(tables={**findings.tables, "balance": balance}) for balance in (table, alike)
    )

    for study, expected in ((warned, True), (calm, False)):
        evidence = certainty_section(study, blank_pictures(study)).content["unbalanced"]
        careful = glance_section(study).content["careful"]
        for lines in (evidence, careful):
            assert any("differ in mean_fd_mm by +0.41 SD at KUT" in x for x in lines) == expected
        assert any("could explain" in line for line in careful) == expected


def test_groups_that_share_no_value_differ_by_all_of_its_spread(alike):
    table = with_difference(alike, np.inf, subjects="included", variable="sex = F", site="COI")

    assert "by all of its spread at COI" in next(balance_lines(table, GROUPS))


def test_missing_values_are_counted(findings):
    table = findings.tables["balance"].copy()
    age = (table["subjects"] == "included") & (table["variable"] == "age")
    table.loc[age & (table["site"] == "all sites"), ["n_MDD", "missing_MDD"]] = [9, 2]

    assert list(missing_lines(table, GROUPS)) == [
        "age is unknown for 2 of 11 MDD and 0 of 11 HC; they have no part in its difference."
    ]


def test_a_matched_study_counts_its_pairs_and_says_how_they_were_made(findings):
    cohort = findings.cohort.copy()
    cohort.loc[[2, 6], "exclusion"] = "no partner: none of 4 HC at COI has the same sex"
    cohort.loc[[2, 6], "included"] = False
    settings = {**findings.config["cohort"], "match": ["age", "sex"]}
    config = {**findings.config, "cohort": settings}
    matched = toy_findings(tables={**findings.tables, "cohort": cohort}, config=config)

    said = "Matched within sites on age, sex: 10 pairs; 2 subjects without a partner are excluded."
    assert list(matching_lines(matched)) == [said]
    assert list(matching_lines(findings)) == []
    assert said in glance_section(matched).content["careful"]
    assert said in cohort_section(matched, blank_pictures(matched)).content["matched"]
    assert reason_kind(cohort.loc[2, "exclusion"]) == "no partner"
    methods = " ".join(map(str, methods_section(matched).content.values()))
    assert "matched to controls on age and sex" in methods
    assert "at most 0.75 standard deviations" in methods


def test_the_figure_shows_every_difference_and_the_margin_for_the_widest(alike):
    table = with_difference(alike, -np.inf, subjects="included", variable="age", site="KUT")
    before = table[table["subjects"] == "included"].assign(subjects="before matching")

    axis = balance_figure(table).axes[0]
    drawn = np.concatenate([np.ma.getdata(c.get_offsets()) for c in axis.collections])

    assert len(drawn) == 4 * 3
    assert drawn[:, 0].min() == -2
    assert axis.get_xlim()[0] < -2
    assert "mean_fd_mm" in words(axis.figure)
    both = balance_figure(pd.concat([before, table])).axes[0]
    assert sum(len(c.get_offsets()) for c in both.collections) == 2 * 4 * 3
    assert balance_figure(table.iloc[:0]).axes
