"""Arrays come back as written, and damage is named."""

import numpy as np
import pytest

from notears_pfl.errors import TableError
from notears_pfl.io.arrays import read_arrays, write_arrays


def test_equal_arrays_give_equal_bytes(tmp_path):
    for name in ("a.npz", "b.npz"):
        write_arrays({"x": np.arange(5), "names": ["p", "q"]}, tmp_path / name)

    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    assert read_arrays(tmp_path / "a.npz")["names"].tolist() == ["p", "q"]


def test_a_damaged_file_is_refused_with_the_next_step(tmp_path):
    path = tmp_path / "draws.npz"
    write_arrays({"x": np.arange(500)}, path)
    path.write_bytes(path.read_bytes()[:100])

    with pytest.raises(TableError, match=r"draws.npz: cannot be read as arrays.*Delete it"):
        read_arrays(path)
