"""Tables come back as they were written, and a bad one is named."""

import os

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

    with pytest.raises(TableError, match=r"participants.tsv: cannot be read as a .* in UTF-8"):
        read_table(tmp_path / "participants.tsv")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("age\tsite\tage\n1\tA\t2\n", "columns 1 and 3 are both called 'age'. Rename"),
        ("age\tsite\n1\n", "row 1 has 1 cells under 2 names"),
        ("age\tsite\n1\tA\t2\n2\tB\t3\n", "row 1 has 3 cells under 2 names"),
        ('age\tsite\n1\t"A\n2\tB\n', r"line 3: unexpected end of data"),
        ('age\tsite\n1\t"A"x\n', "line 2: .* expected after"),
        ("age\tsite\n1\tA\0\n", "line 2: there is a zero byte"),
        ("age\n" + "9" * 400 + "\n", "row 1 has a number of more than 300 digits"),
        ("age\tsite\n1\tA\n".encode("utf-16"), "it is in UTF-16"),
        ("age\tsite\n1\tcaf\u00e9\n".encode("latin-1"), "line 2: byte 0xE9 is not UTF-8"),
        (b"\n\n", "it is empty"),
    ],
)
def test_what_would_be_repaired_in_silence_is_refused(tmp_path, content, reason):
    data = content if isinstance(content, bytes) else content.encode()
    (tmp_path / "t.tsv").write_bytes(data)

    with pytest.raises(TableError, match=r"t\.tsv: .*" + reason):
        read_table(tmp_path / "t.tsv")


def test_what_is_no_file_is_no_table(tmp_path):
    (tmp_path / "loop.tsv").symlink_to(tmp_path / "loop.tsv")
    os.mkfifo(tmp_path / "pipe.tsv")

    for name, reason in {
        ".": "it is a folder",
        "loop.tsv": "Too many levels of symbolic links",
        "pipe.tsv": "it is a pipe or a device",
        "x" * 300: "File name too long",
        "no/where.tsv": "no such table",
    }.items():
        with pytest.raises(TableError, match=reason):
            read_table(f"{tmp_path}/{name}")


@pytest.mark.parametrize(
    "content",
    [b"\xef\xbb\xbfsite\tage\nA\t1\n", b"site\tage\rA\t1\r", b"site\tage\r\nA\t1\r\n\r\n"],
)
def test_a_byte_order_mark_and_other_line_ends_are_read(tmp_path, content):
    (tmp_path / "t.tsv").write_bytes(content)

    assert read_table(tmp_path / "t.tsv").to_dict("list") == {"site": ["A"], "age": [1]}


FORMULAS = ["=1+1", "+cmd", "-x", "@SUM(A1)", "\t=1", " -2+3", "-1_0", "\uff1d1", "'=1", "''@x"]
HARMLESS = ["-0.5", "-1e3", "+3", "-.5", "-inf", "-", "+", "PreCG.L", "it's", "'quoted'", "a=1"]


def test_a_spreadsheet_finds_no_formula_in_our_tables(tmp_path):
    cells = [*FORMULAS, *HARMLESS]
    table = pd.DataFrame({"note": cells, "=SUM(A1)": 1, "x": -0.5})

    write_table(table, tmp_path / "t.tsv", index=False)

    header, *lines = (tmp_path / "t.tsv").read_text().splitlines()
    written = [line.split("\t1\t")[0].strip('"') for line in lines]
    assert header == "note\t'=SUM(A1)\tx"
    assert written[: len(FORMULAS)] == [f"'{cell}" for cell in FORMULAS]
    assert written[len(FORMULAS) :] == HARMLESS
    assert lines[0].endswith("\t-0.5")
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.tsv"), table)


def test_labels_that_look_like_formulas_come_back(tmp_path):
    labels = ["=a", "-b", "'=c"]
    relmat = pd.DataFrame(np.eye(3), index=labels, columns=labels)
    people = pd.DataFrame({"participant_id": ["@x", "+y"], "=site": ["-1", "-a"]})
    write_table(relmat, tmp_path / "relmat.tsv")
    write_table(people, tmp_path / "people.tsv", index=False)

    assert (tmp_path / "relmat.tsv").read_text().startswith("\t'=a\t'-b\t''=c\n'=a\t1")
    assert read_relmat(tmp_path / "relmat.tsv").index.tolist() == labels
    pd.testing.assert_frame_equal(read_table(tmp_path / "people.tsv", text=["=site"]), people)


def test_a_carriage_return_in_a_cell_begins_no_row(tmp_path):
    write_table(pd.DataFrame({"note": ["a\r=1"], "n": [1]}), tmp_path / "t.tsv", index=False)

    assert read_table(tmp_path / "t.tsv")["note"].tolist() == ["a\n=1"]


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


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_series_are_written_as_pandas_writes_them(tmp_path, rng, dtype):
    series = pd.DataFrame(rng.normal(size=(40, 3)), columns=["A", 'b "c"', "=d"]).astype(dtype)
    series.iloc[:4, 0] = [0.0, -0.0, 1e-300, 3]
    path = tmp_path / "series.tsv"

    write_table(series, path, index=False)
    as_text = series.rename(columns={"=d": "'=d"}).to_csv(
        sep="\t", index=False, float_format="%.17g", lineterminator="\n"
    )

    assert path.read_bytes() == as_text.encode()


@pytest.mark.parametrize(
    ("name", "mark", "found"),
    [
        ("x.csv", ";", "semicolons"),
        ("x.tsv", ",", "commas, but tabs"),
        ("x.csv", "\t", "tabs, but"),
    ],
)
def test_columns_that_something_else_separates_are_no_table(tmp_path, name, mark, found):
    (tmp_path / name).write_text("a;b;c\n1;2;3\n".replace(";", mark))

    with pytest.raises(TableError, match=rf"the columns are separated by {found}"):
        read_table(tmp_path / name)


def test_a_single_column_may_have_any_mark_in_its_cells(tmp_path):
    (tmp_path / "x.tsv").write_text("note\none, two\nthree\n")

    assert read_table(tmp_path / "x.tsv")["note"].tolist() == ["one, two", "three"]
