"""The connections to test come from the published list and from the study's own overlap."""

import pandas as pd
import pytest

from notears_pfl.analysis.connections import connections_to_test
from notears_pfl.errors import TableError

ROIS = ["INS.R", "INS.L", "ACG.R"]
PUBLISHED = pd.DataFrame({"from": ["INS.R"], "to": ["INS.L"]})
OVERLAP = pd.DataFrame(
    {"from": ["INS.R", "ACG.R"], "to": ["INS.L", "INS.L"], "found_in": ["both", "MDD only"]}
)


def test_both_lists_are_tested_each_with_its_source():
    table = connections_to_test(PUBLISHED, OVERLAP, ROIS, "published.tsv")

    assert table["source"].tolist() == ["published", "overlap", "overlap"]
    assert table.loc[2, ["from", "to", "found_in"]].tolist() == ["ACG.R", "INS.L", "MDD only"]
    assert pd.isna(table.loc[0, "found_in"])


def test_a_region_that_is_not_selected_is_refused_by_row():
    with pytest.raises(TableError, match=r"p.tsv row 1: INS.L not among the 2 selected regions"):
        connections_to_test(PUBLISHED, OVERLAP, ["INS.R", "ACG.R"], "p.tsv")


def test_a_list_without_its_columns_is_refused():
    with pytest.raises(TableError, match=r"p.tsv: columns 'from' and 'to' are needed, \['to'\]"):
        connections_to_test(PUBLISHED[["from"]], OVERLAP, ROIS, "p.tsv")


def test_nothing_to_test_is_refused():
    with pytest.raises(TableError, match=r"p.tsv is empty and no connection is shared"):
        connections_to_test(PUBLISHED[:0], OVERLAP[:0], ROIS, "p.tsv")
