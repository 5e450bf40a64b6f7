"""The parcellation is put in the table's order and checked against its coordinates."""

import numpy as np
import pytest

from notears_pfl.errors import SignalError
from notears_pfl.roi.atlas import describe_atlas, labels_at, order_regions

AFFINE = np.diag([4.0, 4.0, 4.0, 1.0])
NAMES = ["PreCG.L", "PreCG.R", "Vermis10"]
CENTRES = [(1, 1, 1), (7, 1, 1), (4, 7, 7)]
COORDINATES = (4.0 * np.array(CENTRES)).tolist()


def parcellation(codes):
    labels = np.zeros((9, 9, 9), dtype=np.int16)
    for code, (i, j, k) in zip(codes, CENTRES, strict=True):
        labels[i - 1 : i + 2, j - 1 : j + 2, k - 1 : k + 2] = code
    return labels


@pytest.mark.parametrize("codes", [(1, 2, 3), (2001, 2002, 9170)])
def test_either_numbering_of_aal_comes_out_in_the_order_of_the_table(codes):
    labels, offsets_mm = order_regions(parcellation(codes), AFFINE, NAMES, COORDINATES, "aal.nii")

    np.testing.assert_array_equal(labels, parcellation((1, 2, 3)))
    np.testing.assert_allclose(offsets_mm, 0, atol=1e-9)


def test_regions_in_another_order_are_refused_by_name():
    with pytest.raises(
        SignalError, match=r"2 of 3 regions are not where .*: PreCG.L 24 mm, PreCG.R"
    ):
        order_regions(parcellation((2, 1, 3)), AFFINE, NAMES, COORDINATES, "aal.nii")


def test_an_atlas_with_another_number_of_regions_is_refused():
    with pytest.raises(SignalError, match="has 3 regions, the ROI table 2"):
        order_regions(parcellation((1, 2, 3)), AFFINE, NAMES[:2], COORDINATES[:2], "aal.nii")


def test_codes_are_those_of_the_nearest_voxel_and_zero_outside():
    points = np.array([[4.0, 5.9, 400.0], [4.0, 4.0, 0.0], [4.0, 4.0, 0.0]])

    assert labels_at(parcellation((1, 2, 3)), AFFINE, points).tolist() == [1, 1, 0]


def test_the_surrogate_is_called_one():
    assert "surrogate" in describe_atlas("surrogate", NAMES, np.zeros(3), "0a")["name"]
    assert (
        describe_atlas("atlases/aal.nii", NAMES, np.zeros(3), "0a")["name"]
        == "AAL from atlases/aal.nii"
    )


def test_only_the_surrogate_may_lie_off_its_coordinates():
    shifted = np.add(COORDINATES, [10.0, 0.0, 0.0]).tolist()

    order_regions(parcellation((1, 2, 3)), AFFINE, NAMES, shifted, "surrogate")
    with pytest.raises(SignalError, match="3 of 3 regions are not where"):
        order_regions(parcellation((1, 2, 3)), AFFINE, NAMES, shifted, "aal.nii")
