"""Tables come back as they were written, and a bad one is named."""

import numpy as np
import pandas as pd
import pytest

from notears_pfl.errors import TableError
from notears_pfl.io.sidecars import write_json
from notears_pfl.io.tables import read_confounds, read_relmat, read_table, write_table


@pytest.fixture
def relmat(rng):
    labels = ["INS.R", "ACG.R", "THA.L"]
    return pd.DataFrame(rng.normal(size=(3, 3)), index=labels, columns=labels)


def test_a_relmat_survives_the_disk_to_the_last_bit(relmat, tmp_path):
    write_table(relmat, tmp_path / "relmat.tsv")

    pd.testing.assert_frame_equal(read_relmat(tmp_path / "relmat.tsv"), relmat, check_exact=True)


def test_read_relmat_refuses_rows_and_columns_that_differ(relmat, tmp_path):
    write_table(relmat.rename(columns={"ACG.R": "PCG.L"}), tmp_path / "relmat.tsv")

    with pytest.raises(TableError, match=r"relmat\.tsv: .* 'ACG.R' meets column 'PCG.L'"):
        read_relmat(tmp_path / "relmat.tsv")


def test_regions_may_be_called_by_numbers(relmat, tmp_path):
    numbered = relmat.set_axis(["01", "2", "NA"]).set_axis(["01", "2", "NA"], axis=1)
    write_table(numbered, tmp_path / "relmat.tsv")

    assert read_relmat(tmp_path / "relmat.tsv").index.tolist() == ["01", "2", "NA"]


def test_labels_are_text_and_only_blank_ones_are_missing(tmp_path):
    rows = ["participant_id site group age", "0051 01 1 31", "0052 NA  NA", "0053 n/a 2 33"]
    (tmp_path / "t.tsv").write_text("\n".join(rows).replace(" ", "\t"))

    read = read_table(tmp_path / "t.tsv")

    assert read["participant_id"].tolist() == ["0051", "0052", "0053"]
    assert read["site"].tolist()[:2] == ["01", "NA"]
    assert read["group"].tolist()[::2] == ["1", "2"]
    assert read.isna().sum().to_dict() == {"participant_id": 0, "site": 1, "group": 1, "age": 1}
    assert read["age"].dtype == float


def test_columns_named_as_text_are_labels_too(tmp_path):
    (tmp_path / "t.tsv").write_text("DX_GROUP\tDSM\n1\t1\n2\t0\n")

    read = read_table(tmp_path / "t.tsv", text=["DX_GROUP"])

    assert read["DX_GROUP"].tolist() == ["1", "2"]
    assert read["DSM"].tolist() == [1, 0]


def test_a_table_without_rows_has_its_columns(tmp_path):
    (tmp_path / "t.tsv").write_text("site\tvariable\tsmd\n")

    assert read_table(tmp_path / "t.tsv").shape == (0, 3)


def test_a_missing_value_is_written_as_bids_asks(tmp_path):
    write_table(pd.DataFrame({"age": [31.0, np.nan]}), tmp_path / "t.tsv", index=False)

    assert (tmp_path / "t.tsv").read_text() == "age\n31\nn/a\n"


def test_json_refuses_not_a_number(tmp_path):
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json({"h": float("nan")}, tmp_path / "fit.json")

    assert not (tmp_path / "fit.json").exists()


@pytest.mark.parametrize(
    "content", [b"", b"a\tb\n1\t2\n1\t2\t3\n", "gr\u00f6\u00dfe\n1\n".encode("latin-1")]
)
def test_what_is_no_table_is_refused_by_name(tmp_path, content):
    (tmp_path / "participants.tsv").write_bytes(content)

    with pytest.raises(TableError, match=r"participants.tsv: no table can be read .* in UTF-8"):
        read_table(tmp_path / "participants.tsv")


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
