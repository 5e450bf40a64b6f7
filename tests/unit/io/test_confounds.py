"""Confounds are numbers, or the file that they stand in is named."""

import pytest

from notears_pfl.errors import TableError
from notears_pfl.io.tables import read_confounds


@pytest.fixture
def confounds(tmp_path):
    def write(text):
        (tmp_path / "confounds.tsv").write_text(text)
        return tmp_path / "confounds.tsv"

    return write


def test_numbers_are_read_and_text_in_other_columns_is_let_be(confounds):
    path = confounds("trans_x\trmsd\tnote\n0.1\tn/a\tfine\n0.2\t0.3\tmoved\n")

    table = read_confounds(path, ["trans_x", "rmsd", "csf"])

    assert table["trans_x"].tolist() == [0.1, 0.2]
    assert table["rmsd"].isna().tolist() == [True, False]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"confounds\.tsv: "),
        ("trans_x\n1\t2\n1\t2\t3\n", r"confounds\.tsv: "),
        ("trans_x\n0.1\nabc\n", r"confounds\.tsv row 2: trans_x must be a number; found 'abc'"),
    ],
    ids=["empty", "ragged", "text"],
)
def test_what_is_no_table_of_numbers_is_refused_by_name(confounds, text, message):
    with pytest.raises(TableError, match=message):
        read_confounds(confounds(text), ["trans_x"])
