"""Individual differences, where a column was named."""

import numpy as np
import pandas as pd
import pytest

from notears_pfl.report.sections.individual_weights import individual_section
from notears_pfl.report.sections.methods_paragraph import methods_section
from notears_pfl.report.study_page import Extras, study_page

from ..toy import blank_pictures, texts, toy_findings, toy_origin


@pytest.fixture(scope="module")
def regressed():
    """Give findings with a regression on age, of which one result stands out, and on BDI."""
    rows = [
        {"column": column, "group": "MDD", "from": f"A{i}", "to": "B", "sites": 3, "n": 20 - i % 2,
         "missing": i % 2, "effect": -0.012, "standard_error": 0.004, "low": -0.02, "high": -0.004,
         "r": -0.5, "p": (i + 1) / 100, "q": 0.04 if i == 0 else 0.3}
        for column in ("age", "bdi") for i in range(15)
    ]  # fmt: skip
    rows[-1] |= dict.fromkeys(("effect", "low", "high", "r", "p", "q"), np.nan)
    findings = toy_findings()
    config = findings.config
    config["analysis"] |= {"regress_on": ["age", "bdi"], "regress_covariates": ["sex"]}
    tables = {**findings.tables, "weight_regression": pd.DataFrame(rows)}
    return toy_findings(tables=tables, config=config)


def test_counts_and_the_clearest_rows_are_shown(regressed):
    content = individual_section(regressed).content

    assert content["columns"] == [
        {"name": "age", "tested": 15, "found": 1, "missing": 1},
        {"name": "bdi", "tested": 14, "found": 1, "missing": 1},
    ]
    rows = texts(content["table"])
    assert len(rows) == 20
    assert rows[0] == [
        "age", "MDD", "A0 → B", "20", "0", "−0.012", "−0.02 to −0.004", "−0.50", "0.01", "0.04",
    ]  # fmt: skip
    assert "of 29" in content["table"].caption


def test_the_page_has_the_section_and_its_methods_only_where_it_was_asked_for(regressed):
    def page(findings):
        return study_page(findings, blank_pictures(findings), Extras(), toy_origin()).text

    assert "1 of 14 connections with q ≤ 0.05" in page(regressed)
    assert "with sex as covariates" in page(regressed)
    assert 'id="individual"' not in page(toy_findings())

    said = methods_section(regressed).content["paragraphs"]["Analyses"]
    assert "regressed on age and on bdi by least squares" in said
    assert "regressed" not in methods_section(toy_findings()).content["paragraphs"]["Analyses"]
