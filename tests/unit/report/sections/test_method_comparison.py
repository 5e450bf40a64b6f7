"""The comparison shows every method and connection with both tests."""

import numpy as np
import pandas as pd
import pytest

from notears_pfl.report.page import render
from notears_pfl.report.sections.method_comparison import (
    MOST_OWN,
    comparison_figure,
    comparison_section,
)

from ..toy import GROUPS, texts, words

METHODS = ("pfl", "sig", "granger")


def made_up(n_own):
    pairs = [("published", "INS.R", "INS.L", np.nan)]
    pairs += [("overlap", "THA.L", f"R{i}", "MDD only") for i in range(n_own)]
    pairs += [("overlap", "THA.L", "CAU.R", "both")]
    rows = [(*pair, method) for pair in pairs for method in METHODS]
    table = pd.DataFrame(rows, columns=["source", "from", "to", "found_in", "method"])
    return table.assign(
        n_draws=20,
        count_MDD=14,
        count_HC=4,
        difference=0.5,
        low=0.2,
        high=0.7,
        p_z=0.00001,
        p_permutation=0.0301,
    )


def test_without_a_published_list_nothing_may_be_left_to_draw():
    tests = made_up(0)

    figure = comparison_figure(tests[tests["source"] == "overlap"], GROUPS, "any")

    assert "none is at every site of one group alone" in words(figure)


def test_a_comparison_that_was_not_run_says_how_to_run_it(pictures):
    assert (
        "<code>snakemake comparison --cores all</code>"
        in comparison_section(None, GROUPS, pictures).missing
    )


@pytest.mark.parametrize(
    ("path", "said"),
    [("config/published/tested_connections.tsv", "MDD"), ("mine.tsv", "<code>mine.tsv</code>")],
)
def test_published_connections_are_told_from_the_studys_own(pictures, path, said):
    tests = made_up(2).assign(q_permutation=0.4, note=None)

    section = comparison_section(tests, GROUPS, pictures, published=path)
    page = render("sections/comparison.html", content=section.content)
    own = tests[tests["source"] == "overlap"]
    without = comparison_section(own, GROUPS, pictures, published="config/published/none.tsv")

    (paragraph,) = [line for line in page.split("\n") if "whatever this study found" in line]
    assert paragraph.startswith("<p>The last connection is tested because")
    assert said in paragraph
    assert ("depression" in paragraph) == ("config" in path)
    assert "whatever this study" not in render("sections/comparison.html", content=without.content)


def test_a_comparison_that_was_run_is_shown(pictures):
    row = {
        "source": "published", "from": "INS.R", "to": "INS.L", "method": "pc", "n_draws": 20,
        "count_MDD": 9, "count_HC": 2, "difference": 0.35, "low": 0.07, "high": 0.57,
        "p_z": 0.0061, "p_permutation": 0.21, "q_permutation": 0.4, "note": "KUT: few",
    }  # fmt: skip

    content = comparison_section(pd.DataFrame([row]), GROUPS, pictures).content

    assert texts(content["tests"]) == [
        ["INS.R → INS.L", "published", "PC", "9/20", "2/20", "+0.35",
         "+0.07\N{NO-BREAK SPACE}to\N{NO-BREAK SPACE}+0.57", "0.21",
         "0.4", "0.0061"]
    ]  # fmt: skip
    assert content["notes"] == ["KUT: few"]


@pytest.mark.parametrize("n_own", [0, 2])
def test_there_is_a_panel_per_method_and_a_row_per_connection(n_own):
    figure = comparison_figure(made_up(n_own), ("MDD", "HC"), "majority")

    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["NOTEARS-PFL", "NOTEARS-SIG", "Granger causality"]
    labels = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    assert labels == [*(f"THA.L → R{i}" for i in range(n_own)), "INS.R → INS.L"]
    for axes in figure.axes:
        markers = [line for line in axes.lines if line.get_marker() != "None"]
        assert [line.get_xdata()[0] for line in markers] == [0.5] * (1 + n_own)
        texts = [text.get_text() for text in axes.texts]
        assert texts == ["14:4", "<.0001", ".0301"] * (1 + n_own) + ["draws", "p_z", "p_perm"]


def test_next_to_nothing_is_not_bold():
    tests = made_up(2)
    tests["p_permutation"] = 0.0022
    tests.loc[tests["to"] == "R0", ["count_MDD", "count_HC"]] = 1, 0
    tests.loc[tests["to"] == "R1", ["count_MDD", "count_HC"]] = 2, 0

    panel, *_ = comparison_figure(tests, GROUPS, "majority").axes

    weights = [text.get_fontweight() for text in panel.texts if ":" in text.get_text()]
    assert weights == ["normal", "bold", "bold"]


def test_the_table_starts_with_the_studys_own_connections(pictures):
    tests = made_up(2).assign(q_permutation=0.4)

    rows = texts(comparison_section(tests, GROUPS, pictures).content["tests"])

    assert [row[1] for row in rows] == ["overlap"] * 9 + ["published"] * 3
    assert {row[2] for row in rows} == {"NOTEARS-PFL", "NOTEARS-SIG", "Granger causality"}


def test_the_caption_says_what_to_trust_and_what_is_not_shown():
    figure = comparison_figure(made_up(MOST_OWN + 3), ("MDD", "HC"), "all")

    caption = figure.get_supxlabel()
    assert "Trust the permutation test" in caption
    assert "20 draws of MDD that have the connection at all sites" in caption
    assert "3 more are in the table" in caption
