"""Atlases that nilearn knows become an image and a table of regions.

There is no network in the tests: files in nilearn's layout stand in for its downloads.
"""

import nibabel as nib
import numpy as np
import pandas as pd
import pytest

from notears_pfl.cli import main
from notears_pfl.errors import DatasetError, SignalError
from notears_pfl.roi.ready import fetch_ready, power_spheres, spheres, table_of_regions

# As in the CBIG repository's Schaefer2018_100Parcels_7Networks_order.txt.
SCHAEFER_LABELS = (
    "1\t7Networks_LH_Vis_1\t120\t18\t131\t0\n"
    "2\t7Networks_LH_SalVentAttn_ParOper_1\t196\t58\t251\t0\n"
    "3\t7Networks_RH_Default_pCunPCC_2\t205\t62\t80\t0\n"
)
AAL3_LABELS = """<atlas><data>
<label><index>1</index><name>Precentral_L</name></label>
<label><index>170</index><name>Raphe_M</name></label>
</data></atlas>"""
AFFINE = np.diag([4.0, 4.0, 4.0, 1.0])
AFFINE[:3, 3] = [-40, -40, -40]


def blocks(codes):
    """Give an image with a block of eight voxels for each code, along the diagonal."""
    image = np.zeros((20, 20, 20), dtype=np.int16)
    for k, code in enumerate(codes):
        image[4 * k : 4 * k + 2, 4 * k : 4 * k + 2, 4 * k : 4 * k + 2] = code
    return image


def save(image, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    nib.save(nib.Nifti1Image(image, AFFINE), path)


@pytest.fixture
def nilearn_folder(tmp_path):
    name = "schaefer_2018/Schaefer2018_100Parcels_7Networks_order"
    save(blocks([1, 2, 3]), tmp_path / f"{name}_FSLMNI152_2mm.nii.gz")
    (tmp_path / f"{name}.txt").write_text(SCHAEFER_LABELS)
    save(blocks([1, 170]), tmp_path / "aal_3v2/AAL3/AAL3v1.nii")
    (tmp_path / "aal_3v2/AAL3/AAL3v1.xml").write_text(AAL3_LABELS)
    return tmp_path


def test_schaefers_labels_give_names_and_networks_and_the_image_gives_the_coordinates(
    nilearn_folder,
):
    path, labels = fetch_ready("Schaefer100", nilearn_folder)
    table = table_of_regions(nib.load(path).get_fdata(), AFFINE, labels)

    assert table["abbreviation"].tolist() == [
        "LH.Vis.1", "LH.SalVentAttn.ParOper.1", "RH.Default.pCunPCC.2",
    ]  # fmt: skip
    assert table["network"].tolist() == ["Vis", "SalVentAttn", "Default"]
    assert table["code"].tolist() == table["index"].tolist() == [1, 2, 3]
    # Voxels 0 and 1 of 4 mm, from -40 mm: their middle is at -38 mm.
    assert table[["x", "y", "z"]].to_numpy().tolist() == [[m] * 3 for m in (-38.0, -22.0, -6.0)]
    assert "lobe" not in table


def test_aal3_keeps_its_own_codes_and_has_sides_for_lobes(nilearn_folder):
    path, labels = fetch_ready("AAL3", nilearn_folder)
    table = table_of_regions(nib.load(path).get_fdata(), AFFINE, labels)

    assert table["abbreviation"].tolist() == ["Precentral.L", "Raphe.M"]
    assert table["code"].tolist() == [1, 170]
    assert table["lobe"].tolist() == ["Left", "Left"]


def test_without_a_network_the_message_says_what_to_do(tmp_path, monkeypatch):
    # Nothing listens there: every request ends at once.
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")

    with pytest.raises(DatasetError, match=r"Schaefer100 could not be downloaded .*--image"):
        fetch_ready("Schaefer100", tmp_path)


def test_the_spheres_of_power_lie_around_its_coordinates_and_do_not_touch():
    labels, affine, table = power_spheres()

    assert table[["x", "y", "z"]].iloc[0].tolist() == [-25, -98, -12]
    assert len(table) == 264
    # 2 mm voxels within 5 mm: 57 to 81, by where the coordinate lies between them; none is cut.
    sizes = np.bincount(labels.ravel())[1:]
    assert len(sizes) == 264
    assert 55 <= sizes.min() <= sizes.max() <= 81
    i, j, k = np.linalg.solve(affine[:3, :3], [-25, -98, -12] - affine[:3, 3]).round().astype(int)
    assert labels[i, j, k] == 1


def test_a_voxel_between_spheres_belongs_to_the_nearer_one():
    labels = spheres(np.array([[2.0, 0, 0], [5.0, 0, 0]]), 3.0, (9, 3, 3), np.eye(4))

    assert labels[:, 0, 0].tolist() == [1, 1, 1, 1, 2, 2, 2, 2, 2]


def test_a_code_without_a_name_is_refused():
    labels = pd.DataFrame({"code": [1], "name": ["A"]})

    with pytest.raises(SignalError, match=r"1 of the image's 2 codes have no name .* \[9\]"):
        table_of_regions(blocks([1, 9]), AFFINE, labels)


def test_the_command_writes_image_and_table_of_any_labelled_image(tmp_path, capsys):
    save(blocks([5, 7]), tmp_path / "mine.nii.gz")
    (tmp_path / "mine.tsv").write_text(
        "index\tname\tlobe\n0\tBackground\tn/a\n5\tA left\tFront\n7\tB\tBack\n8\tC\tBack\n"
    )

    code = main(["atlas", "Mine", str(tmp_path / "out"), "--image", str(tmp_path / "mine.nii.gz"),
                 "--labels", str(tmp_path / "mine.tsv")])  # fmt: skip

    assert code == 0
    assert "1 labels without a voxel" in capsys.readouterr().out
    table = pd.read_csv(tmp_path / "out/Mine.tsv", sep="\t")
    assert table["abbreviation"].tolist() == ["A.left", "B"]
    assert table["lobe"].tolist() == ["Front", "Back"]
    written = nib.load(tmp_path / "out/Mine.nii.gz")
    np.testing.assert_array_equal(written.get_fdata(), blocks([5, 7]))


@pytest.mark.parametrize("more", [[], ["--image", "x.nii"]])
def test_an_unknown_atlas_needs_its_files(tmp_path, capsys, more):
    assert main(["atlas", "Mine", str(tmp_path), *more]) == 1
    assert "known without files are AAL3, Schaefer100" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("index\tlabel\n5\tA\n", "index and name; name is missing, the table has index, label"),
        (
            "index\tname\n5\tA\nfive\tB\n",
            "must hold the numbers of the image's regions, found 'five'",
        ),
    ],
)
def test_a_list_of_labels_without_numbers_and_names_is_refused(tmp_path, capsys, text, found):
    (tmp_path / "mine.tsv").write_text(text)

    code = main(["atlas", "Mine", str(tmp_path), "--image", "x.nii",
                 "--labels", str(tmp_path / "mine.tsv")])  # fmt: skip

    assert code == 1
    told = capsys.readouterr().err
    assert told.startswith(f"TableError: {tmp_path}/mine.tsv: ")
    assert found in told
