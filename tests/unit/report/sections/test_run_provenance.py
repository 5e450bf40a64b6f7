"""The provenance of a run."""

import numpy as np

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


def test_the_record_for_programs_says_the_same(findings):
    record = provenance_record(findings, toy_origin())

    assert record["Command"] == "snakemake --cores 4"
    assert record["Settings"] == findings.config
    assert record["InputChecksums"]["Files"] == {"config/sites.tsv": "0" * 64}
    assert record["Versions"]["numpy"] == np.__version__
    assert record["Fits"]["HC"]["Converged"] is True
