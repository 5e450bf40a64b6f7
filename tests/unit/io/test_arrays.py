"""Arrays come back from a file as they went in, and the file is the same every time."""

import numpy as np

from notears_pfl.io.images import write_arrays


def test_arrays_come_back_with_their_names_and_types(tmp_path):
    arrays = {"image": np.arange(6, dtype=np.uint8).reshape(2, 3), "mm": np.array([1.5, -2])}

    write_arrays(arrays, tmp_path / "slices.npz")

    with np.load(tmp_path / "slices.npz") as found:
        assert set(found) == set(arrays)
        for name, array in arrays.items():
            assert found[name].dtype == array.dtype
            np.testing.assert_array_equal(found[name], array)


def test_the_same_arrays_give_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        write_arrays({"a": np.ones(5)}, tmp_path / f"{name}.npz")

    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
