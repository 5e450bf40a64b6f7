"""Dictionaries of columns."""

import pytest

from notears_pfl.errors import TableError
from notears_pfl.io.columns import _dictionary, describe_columns

GROUPS, REGIONS = ("MDD", "HC"), ("PreCG.L", "PreCG.R")


def described(path, **more):
    return describe_columns(path, GROUPS, REGIONS, **more)


def test_groups_take_the_place_of_their_word():
    columns = described("results/cohort/table_one.json")

    assert list(columns) == [
        "site", "variable", "n_MDD", "n_HC", "mean_MDD", "mean_HC", "sd_MDD", "sd_HC", "smd",
    ]  # fmt: skip
    assert columns["mean_HC"] == {"Description": "Mean of HC"}
    assert "MDD minus HC" in columns["smd"]["Description"]


def test_every_region_has_its_column():
    columns = described("results/timeseries/seg-AAL116_desc-raw_timeseries.json")

    assert columns == {
        region: {"Description": f"Mean signal of {region}", "Units": "arbitrary"}
        for region in REGIONS
    }


def test_levels_are_kept_and_filled():
    columns = described("results/phantom/truth/edges.json")

    assert columns["kind"]["Levels"]["controls"] == "every site, HC only"


def test_columns_of_the_users_own_are_added_and_known_ones_kept():
    others = {"age": "As in people.tsv", "hamd": "As in people.tsv"}

    columns = described("results/cohort/participants.json", others=others)

    assert columns["hamd"] == {"Description": "As in people.tsv"}
    assert columns["age"] == {"Description": "Age", "Units": "year"}


def test_a_table_that_nobody_described_is_refused():
    with pytest.raises(TableError, match=r"new\.json: columns\.yaml has no table of this path"):
        described("results/analysis/new.json")


def test_every_entry_can_be_filled():
    for pattern in _dictionary()["tables"]:
        columns = described(pattern.replace("{", "").replace("}", ""))
        for name, entry in columns.items():
            assert entry["Description"], (pattern, name)
            assert "{" not in f"{name}{entry}".replace(str(entry), "").replace("{'", ""), pattern
            assert "{" not in entry["Description"], (pattern, name)
