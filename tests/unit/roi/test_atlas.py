"""The parcellation is put in the table's order and checked against its coordinates."""

import nibabel as nib
import numpy as np
import pytest

from notears_pfl.errors import DatasetError, SignalError
from notears_pfl.roi.atlas import (
    KNOWN_FILES,
    check_digest,
    check_names,
    describe_atlas,
    fetch_aal,
    labels_at,
    order_regions,
)

AAL = {"family": "AAL", "title": "the AAL atlas", "space": "MNIColin27"}
AFFINE = np.diag([4.0, 4.0, 4.0, 1.0])
NAMES = ["PreCG.L", "PreCG.R", "Vermis10"]
AAL_CODES = [2001, 2002, 9170]
CENTRES = [(1, 1, 1), (7, 1, 1), (4, 7, 7)]
COORDINATES = (4.0 * np.array(CENTRES)).tolist()


def parcellation(codes):
    labels = np.zeros((9, 9, 9), dtype=np.int16)
    for code, (i, j, k) in zip(codes, CENTRES, strict=True):
        labels[i - 1 : i + 2, j - 1 : j + 2, k - 1 : k + 2] = code
    return labels


@pytest.mark.parametrize("codes", [(1, 2, 3), (2001, 2002, 9170)])
def test_either_numbering_of_aal_comes_out_in_the_order_of_the_table(codes):
    labels, offsets_mm = order_regions(
        parcellation(codes), AFFINE, NAMES, COORDINATES, "AAL", AAL_CODES
    )

    np.testing.assert_array_equal(labels, parcellation((1, 2, 3)))
    np.testing.assert_allclose(offsets_mm, 0, atol=1e-9)


def test_regions_in_another_order_are_refused_by_name():
    with pytest.raises(
        SignalError, match=r"2 of 3 regions are not where .*: PreCG.L 24 mm, PreCG.R"
    ):
        order_regions(parcellation((2, 1, 3)), AFFINE, NAMES, COORDINATES, "AAL")


def test_an_atlas_with_another_number_of_regions_is_refused():
    with pytest.raises(SignalError, match="has 3 regions, the ROI table 2"):
        order_regions(parcellation((1, 2, 3)), AFFINE, NAMES[:2], COORDINATES[:2], "AAL")


def test_codes_are_those_of_the_nearest_voxel_and_zero_outside():
    points = np.array([[4.0, 5.9, 400.0], [4.0, 4.0, 0.0], [4.0, 4.0, 0.0]])

    assert labels_at(parcellation((1, 2, 3)), AFFINE, points).tolist() == [1, 1, 0]


def test_the_surrogate_is_called_one():
    grown = {"family": "surrogate", "title": "a surrogate of the AAL atlas", "space": ""}
    zero = np.zeros((3, 3))

    assert "surrogate" in describe_atlas("surrogate", grown, NAMES, zero, "0a")["name"]
    described = describe_atlas("atlases/aal.nii", AAL, NAMES, zero, "0a")
    assert described["name"] == "AAL from atlases/aal.nii"
    assert described["space"] == "MNIColin27"
    other = {"family": "other", "title": "the Schaefer atlas of 100 parcels", "space": ""}
    described = describe_atlas("schaefer.nii", other, NAMES, zero, "0a")
    assert described["name"] == "the Schaefer atlas of 100 parcels, from schaefer.nii"


def test_the_surrogate_may_lie_off_its_coordinates():
    shifted = np.add(COORDINATES, [10.0, 0.0, 0.0]).tolist()

    order_regions(parcellation((1, 2, 3)), AFFINE, NAMES, shifted, "surrogate")
    with pytest.raises(SignalError, match="3 of 3 regions are not where"):
        order_regions(parcellation((1, 2, 3)), AFFINE, NAMES, shifted, "AAL")


def test_codes_of_aal_are_mapped_by_the_table_whatever_their_order():
    shuffled = [9170, 2001, 2002]

    labels, _ = order_regions(parcellation(shuffled), AFFINE, NAMES, COORDINATES, "AAL", shuffled)

    np.testing.assert_array_equal(labels, parcellation((1, 2, 3)))


def test_codes_that_are_not_aals_are_refused():
    with pytest.raises(
        SignalError, match=r"Labels \[4\] of the image are neither 1 to 3 nor AAL's"
    ):
        order_regions(parcellation((2001, 2002, 4)), AFFINE, NAMES, COORDINATES, "AAL", AAL_CODES)


def test_an_atlas_with_left_and_right_swapped_is_recognised():
    lateral = (4.0 * np.array(CENTRES) - [16, 0, 0]).tolist()
    flipped = AFFINE.copy()
    flipped[0] = [-4.0, 0, 0, 16]

    order_regions(parcellation((1, 2, 3)), _shifted(AFFINE, -16), NAMES, lateral, "AAL")
    with pytest.raises(SignalError, match="Left and right are swapped"):
        order_regions(parcellation((1, 2, 3)), flipped, NAMES, lateral, "AAL")


def _shifted(affine, x_mm):
    moved = affine.copy()
    moved[0, 3] += x_mm
    return moved


@pytest.mark.parametrize(
    ("n", "name"), [(120, "AAL2"), (166, "AAL3"), (90, "without the cerebell")]
)
def test_relatives_of_aal_are_called_by_their_names(n, name):
    labels = np.arange(n + 1).reshape(1, 1, -1)

    with pytest.raises(SignalError, match=rf"{n} regions, the ROI table 116: this is .*{name}"):
        order_regions(labels, AFFINE, [str(i) for i in range(116)], np.zeros((116, 3)), "AAL")


def test_an_image_of_other_values_is_not_an_atlas():
    with pytest.raises(SignalError, match=r"values such as \[0\.5 1\.5\], not labels"):
        order_regions(parcellation((1, 2, 3)) * 0.5, AFFINE, NAMES, COORDINATES, "AAL")


def test_codes_missing_from_the_image_of_another_atlas_are_listed_and_it_is_not_called_aal():
    codes = [11, 12, 14]

    said = (
        r"table 3 \(column code\)\. 1 codes of the ROI table are missing: 14 \(Vermis10\); "
        r"1 codes are not in the table: 13"
    )

    with pytest.raises(SignalError, match=said) as refused:
        order_regions(parcellation((11, 12, 13)), AFFINE, NAMES, COORDINATES, "other", codes)
    assert "AAL" not in str(refused.value)


def test_codes_of_another_atlas_are_those_of_the_table_or_counted_from_one():
    labels, _ = order_regions(
        parcellation((14, 11, 12)), AFFINE, NAMES, COORDINATES, "other", [14, 11, 12]
    )
    counted, _ = order_regions(parcellation((1, 2, 3)), AFFINE, NAMES, COORDINATES, "other")

    np.testing.assert_array_equal(labels, parcellation((1, 2, 3)))
    np.testing.assert_array_equal(counted, labels)
    with pytest.raises(SignalError, match=r"it has no column code, so 1, 2, … were expected"):
        order_regions(parcellation((11, 12, 13)), AFFINE, NAMES, COORDINATES, "other")


def test_regions_of_another_atlas_may_lie_ten_millimetres_off_and_no_farther():
    shifted = np.add(COORDINATES, [9.0, 0.0, 0.0]).tolist()
    far = np.add(COORDINATES, [[0, 0, 0], [0, 11, 0], [0, 0, 0]]).tolist()

    order_regions(parcellation((1, 2, 3)), AFFINE, NAMES, shifted, "other")
    with pytest.raises(SignalError, match=r"1 of 3 regions are not where .*: PreCG\.R 11 mm") as no:
        order_regions(parcellation((1, 2, 3)), AFFINE, NAMES, far, "other")
    assert "AAL" not in str(no.value)


def test_names_of_labels_must_be_those_of_the_table():
    names = ["Precentral_L", "Precentral_R", "Vermis_10"]
    check_names(dict(zip(AAL_CODES, names, strict=True)), AAL_CODES, names)

    with pytest.raises(SignalError, match=r"1 labels are not AAL's: 2002 is 'Precentral_X', not"):
        check_names(
            {2001: "Precentral_L", 2002: "Precentral_X", 9170: "Vermis_10"}, AAL_CODES, names
        )


def test_a_file_other_than_the_one_asked_for_is_refused():
    check_digest("0a", None)
    check_digest("0a", "0A")
    with pytest.raises(SignalError, match=r"SHA-256 is 0a, rois\.atlas_sha256 asks for 0b"):
        check_digest("0a", "0b")


def test_a_known_file_is_called_by_its_name():
    known = next(iter(KNOWN_FILES))

    assert "MRIcron" in describe_atlas("aal.nii", AAL, NAMES, np.zeros((3, 3)), known)["known_file"]
    assert describe_atlas("aal.nii", AAL, NAMES, np.zeros((3, 3)), "0a")["known_file"] is None


AAL_XML = """<atlas><data>
<label><index>2001</index><name>Precentral_L</name></label>
<label><index>2002</index><name>Precentral_R</name></label>
</data></atlas>"""


def test_a_copy_that_nilearn_has_is_used_with_its_labels(tmp_path):
    folder = tmp_path / "aal_SPM12/aal/atlas"
    folder.mkdir(parents=True)
    (folder / "AAL.xml").write_text(AAL_XML)
    nib.save(nib.Nifti1Image(np.zeros((2, 2, 2), np.int16), np.eye(4)), folder / "AAL.nii")

    image, labels = fetch_aal(tmp_path)

    assert image == folder / "AAL.nii"
    assert labels == {2001: "Precentral_L", 2002: "Precentral_R"}


def test_without_a_network_the_message_says_what_to_do(tmp_path, monkeypatch):
    # Nothing listens there: every request ends at once.
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")

    with pytest.raises(DatasetError, match=r"could not be downloaded .*name it in rois\.atlas"):
        fetch_aal(tmp_path)
