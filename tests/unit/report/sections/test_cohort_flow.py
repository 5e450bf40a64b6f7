"""The cohort: exclusions with their reasons, table one, flow and head motion."""

import numpy as np
import pytest
from matplotlib.collections import PathCollection

from notears_pfl.cohort.table_one import flow_table
from notears_pfl.io.tables import read_table, write_table
from notears_pfl.report.page import render
from notears_pfl.report.sections.cohort_flow import (
    MOTION_PANELS,
    cohort_captions,
    cohort_section,
    flow_figure,
    motion_figure,
    reason_kind,
)
from notears_pfl.report.sections.glance import glance_section
from notears_pfl.report.sections.group_balance import balance_figure

from ..toy import GROUPS, LIMITS, texts, toy_cohort, toy_findings, words


def test_the_cohort_lists_all_excluded_subjects_with_the_reason(findings, pictures):
    reasons = texts(cohort_section(findings, pictures).content["reasons"])

    assert [row[0] for row in reasons] == ["sub-COIMDD002", "sub-HUHHC004"]
    assert reasons[0][3] == "motion: mean FD 0.71 > 0.5 mm"


def test_table_one_gives_mean_spread_number_and_difference(findings, pictures):
    row = findings.tables["table_one"].iloc[0]

    shown = texts(cohort_section(findings, pictures).content["table_one"])[0]

    assert shown[:2] == ["COI", "age"]
    assert shown[2] == f"{row['mean_MDD']:.3g} ± {row['sd_MDD']:.2g} ({row['n_MDD']})"
    assert shown[4] == f"{row['smd']:+.2f}".replace("-", "−")


def test_a_cohort_without_characteristics_has_no_table_one(findings, pictures, tmp_path):
    tables = dict(findings.tables)
    for name in ("table_one", "balance"):
        write_table(tables[name].iloc[:0], tmp_path / f"{name}.tsv", index=False)
        tables[name] = read_table(tmp_path / f"{name}.tsv")

    section = cohort_section(toy_findings(tables=tables), pictures)
    page = render("sections/cohort.html", content=section.content)
    careful = " ".join(glance_section(toy_findings(tables=tables)).content["careful"])

    assert "No characteristics are available" in page
    assert "Head motion is not known" in careful
    assert "Balance of patients" not in page
    assert balance_figure(tables["balance"]).axes


def test_the_flow_counts_everyone_and_gives_reasons(tables):
    shown = words(flow_figure(tables["flow"], tables["cohort"], GROUPS))

    assert shown.count("12 in the participants table") == 2
    assert "1 processing failed" in shown
    assert "1 motion" in shown
    assert shown.count("11 included") == 2


def test_subjects_never_enrolled_leave_the_flow_before_the_usable_series():
    cohort = toy_cohort()
    cohort.loc[0, ["not_enrolled", "exclusion"]] = ["no T1w image", "not enrolled: no T1w image"]
    cohort.loc[0, ["included", "split"]] = [False, None]
    blank = cohort.fillna({"failure": "", "not_enrolled": "", "split": ""})

    figure = flow_figure(flow_table(blank), cohort, GROUPS)

    height = {text.get_text(): text.get_position()[1] for text in figure.axes[0].texts}
    usable = next(y for text, y in height.items() if text.startswith("11 with usable series"))
    assert height["1 excluded\n1 not enrolled"] > usable > height["1 excluded\n1 motion"]


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


def test_motion_that_is_not_known_has_no_panel_and_the_caption_says_so(findings):
    table = findings.cohort.assign(share_fd_above=np.nan)

    figure = motion_figure(table, GROUPS, LIMITS)
    changed = toy_findings(tables={**findings.tables, "cohort": table})
    caption = cohort_captions(changed)["cohort_motion"]

    assert [axis.get_ylabel() for axis in figure.axes] == ["mean framewise displacement, mm"]
    assert "share of high-motion volumes is not known" in caption.text
    assert "not known" not in cohort_captions(findings)["cohort_motion"].text
    assert len(motion_figure(findings.cohort, GROUPS, LIMITS).axes) == 2


@pytest.mark.parametrize("column", ["mean_fd_mm", "share_fd_above"])
def test_many_sites_have_a_row_each_in_the_order_of_the_table(column):
    sites = [f"S{number:02d}" for number in range(50)]
    cohort = toy_cohort(n_per_cell=3, sites=sites)

    figure = motion_figure(cohort, GROUPS, LIMITS)

    assert max(figure.get_size_inches()) < 13
    axis = figure.axes[[*MOTION_PANELS].index(column)]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == sites
    points = np.concatenate([dots.get_offsets() for dots in axis.collections
                             if isinstance(dots, PathCollection)])  # fmt: skip
    of_site = np.rint(points[:, 1])
    for place in (0, 17, 49):
        own = cohort[cohort["site"] == sites[place]][column].dropna()
        drawn = points[(of_site == place) & np.isfinite(points[:, 0]), 0]
        np.testing.assert_allclose(sorted(drawn), sorted(own))


def test_the_flow_of_many_sites_gives_the_range_of_their_numbers():
    sites = [f"S{number:02d}" for number in range(50)]
    cohort = toy_cohort(n_per_cell=3, sites=sites)
    blank = cohort.fillna({"failure": "", "not_enrolled": "", "split": ""})

    shown = words(flow_figure(flow_table(blank), cohort, GROUPS))

    assert "150 in the participants table\n50 sites, 3 to 3 each" in shown
    assert "S07" not in shown


def test_motion_is_drawn_with_its_limits_and_the_excluded_subjects(tables):
    figure = motion_figure(tables["cohort"], GROUPS, LIMITS)

    assert "limit 0.5" in words(figure)
    crosses = [c for c in figure.axes[0].collections if len(c.get_paths()[0].vertices) == 4]
    at = np.concatenate([c.get_offsets()[:, 1] for c in crosses if hasattr(c, "get_sizes")])
    assert 0.71 in at
