"""The limits are those of this study."""

import re

from notears_pfl.io.tables import read_regions
from notears_pfl.report.page import render
from notears_pfl.report.sections.glance import glance_section
from notears_pfl.report.sections.limits import limits_section, selection_caution
from notears_pfl.report.sections.site_networks import networks_section

from ..toy import AAL, ROOT, toy_findings


def test_limits_say_what_holds_for_this_study(findings):
    phantom = dict(limits_section(findings, compared=False).content["limits"])
    series = dict(limits_section(toy_findings("timeseries"), compared=True).content["limits"])

    assert "54 of the 72 connections" in phantom["Directions depend on scaling"]
    assert {"A surrogate atlas", "A phantom", "What federation discloses"} <= set(phantom)
    assert "A phantom" not in series
    assert "Preprocessing was done elsewhere" in series
    assert "permutation" in series["Draws overlap"]


def test_the_papers_selection_of_regions_is_a_caution_for_other_studies():
    regions = read_regions(ROOT / "config/rois.tsv")
    study = toy_findings("timeseries", left_out=regions[~regions["selected"]])
    own = toy_findings("timeseries", left_out=study.left_out)
    own.config["rois"]["table"] = "mine.tsv"

    caution = selection_caution(study)

    assert caution.startswith(f"{len(study.rois)} of {len(study.rois) + 60} regions were used")
    assert "a study of depression, without the cerebellum" in caution
    assert caution in glance_section(study).content["careful"]
    assert selection_caution(own) == selection_caution(toy_findings("phantom")) == ""


def test_the_table_that_a_limit_points_to_is_the_last_under_networks(findings, pictures):
    told = dict(limits_section(findings, compared=True).content["limits"])
    networks = networks_section(findings, pictures)

    page = render("sections/networks.html", content=networks.content)

    assert "The last table under Networks" in told["Directions depend on scaling"]
    assert re.findall('<table id="(.*?)"', page)[-1] == "table-scale_audit"


def test_gaps_of_scrubbing_are_a_limit_only_where_volumes_were_censored(findings):
    def told():
        return dict(limits_section(findings, compared=True).content["limits"])

    assert "Scrubbing leaves gaps" not in told()
    findings.reports[findings.cohort["participant_id"][0]]["n_censored"] = 3
    assert "Granger" in told()["Scrubbing leaves gaps"]


def test_images_in_another_space_than_the_atlas_are_a_caution_by_their_names():
    own, fmriprep = toy_findings("timeseries", atlas=AAL), toy_findings("timeseries", atlas=AAL)
    for findings, space in ((own, "MNI152NLin2009aSym"), (fmriprep, "MNIColin27")):
        for report in findings.reports.values():
            report["space"] = space

    caution = dict(limits_section(own, compared=True).content["limits"])
    none = dict(limits_section(fmriprep, compared=True).content["limits"])

    said = caution["Space of atlas and images"]
    assert "Colin27" in said
    assert "not registered to MNI152NLin2009aSym" in said
    assert "Space of atlas and images" not in none
