"""Tables come back as they were written, and a bad one is named."""

import numpy as np
import pandas as pd
import pytest

from notears_pfl.errors import TableError
from notears_pfl.io.tables import read_relmat, write_json, write_table


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


def test_a_missing_value_is_written_as_bids_asks(tmp_path):
    write_table(pd.DataFrame({"age": [31.0, np.nan]}), tmp_path / "t.tsv", index=False)

    assert (tmp_path / "t.tsv").read_text() == "age\n31\nn/a\n"


def test_json_refuses_not_a_number(tmp_path):
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json({"h": float("nan")}, tmp_path / "fit.json")

    assert not (tmp_path / "fit.json").exists()
