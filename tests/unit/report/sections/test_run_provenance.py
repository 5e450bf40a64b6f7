"""The provenance of a run."""

from dataclasses import replace

import numpy as np

from notears_pfl.report.page import render
from notears_pfl.report.sections.run_provenance import provenance_record, provenance_section

from ..toy import texts, toy_origin


def test_provenance_shows_seed_command_certificates_and_samples(findings):
    content = provenance_section(findings, toy_origin()).content

    assert content["seed"] == findings.config["seed"]
    assert content["command"] == "snakemake --cores 4"
    assert "edge_threshold: 0" in content["config"]
    assert [row[:3] for row in texts(content["fits"])] == [
        ["MDD", "yes", "412"],
        ["HC", "yes", "412"],
    ]
    # Edge-wise networks do not depend on the order of sites: no fit in reverse order.
    assert [row[-1] for row in texts(content["fits"])] == ["–", "–"]
    assert texts(content["samples"])[0][2:5] == ["3", "690", "97"]
    assert content["versions"]["notears-pfl"]


def test_of_many_files_the_first_are_shown_and_the_record_has_all(findings):
    files = {f"series-{i}.tsv": "0" * 64 for i in range(900)}
    origin = replace(toy_origin(), checksums=files)

    content = provenance_section(findings, origin).content
    page = render("sections/provenance.html", content=content)

    assert list(content["checksums"]) == list(files)[:200]
    assert "900 files, the first 200 of which are shown here" in page
    assert provenance_record(findings, origin)["InputChecksums"]["Files"] == files


def test_the_record_for_programs_says_the_same(findings):
    record = provenance_record(findings, toy_origin())

    assert record["Command"] == "snakemake --cores 4"
    assert record["Settings"] == findings.config
    assert record["InputChecksums"]["Files"] == {"config/sites.tsv": "0" * 64}
    assert record["Versions"]["numpy"] == np.__version__
    assert record["Fits"]["HC"]["Converged"] is True
