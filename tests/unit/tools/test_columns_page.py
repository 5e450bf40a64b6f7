"""The page of columns is made from the dictionary of columns."""

from pathlib import Path

import yaml

from columns_page import COLUMNS, PAGE, columns_page

ROOT = Path(__file__).parents[3]


def test_the_page_is_that_of_the_dictionary():
    content = yaml.safe_load((ROOT / COLUMNS).read_text(encoding="utf-8"))

    assert (ROOT / PAGE).read_text(encoding="utf-8") == columns_page(content), "run make figures"


def test_a_row_gives_name_unit_and_meaning_and_shared_words_are_filled_in():
    shared = {"site": {"Description": "Site", "Levels": {"A": "here"}}}
    tables = {"results/x.json": {"age": {"Description": "Age", "Units": "year"}, "site": None}}

    rows = columns_page({"shared": shared, "tables": tables}).splitlines()

    assert "## `results/x.tsv`" in rows
    assert "| `age` | year | Age |" in rows
    assert "| `site` |  | Site (`A`: here) |" in rows
