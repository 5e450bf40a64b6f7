"""Images and sidecars are found in a dataset by the rules of BIDS."""

import pytest

from notears_pfl.errors import DatasetError, SignalError
from notears_pfl.io.bids_tree import BidsTree
from notears_pfl.io.sidecars import read_metadata, write_json


@pytest.fixture
def dataset(tmp_path):
    for path in (
        "sub-01/func/sub-01_task-rest_bold.nii.gz",
        "sub-01/anat/sub-01_T1w.nii.gz",
        "sub-02/ses-b/func/sub-02_ses-b_task-rest_run-2_bold.nii",
        "sub-02/ses-a/func/sub-02_ses-a_task-rest_bold.nii.gz",
        "sub-02/ses-a/func/sub-02_ses-a_task-rest_sbref.nii.gz",
        "sub-02/ses-a/func/sub-02_ses-a_task-rest_events.tsv",
        "derivatives/sub-03/func/sub-03_task-rest_bold.nii.gz",
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    (tmp_path / "sub-notes.txt").touch()
    return tmp_path


def names(files):
    return [file.path.rsplit("/", 1)[-1] for file in files]


def test_subjects_are_folders_and_images_are_found_over_all_sessions(dataset):
    tree = BidsTree(dataset)

    assert tree.subjects() == ["sub-01", "sub-02"]
    assert names(tree.images("sub-01", "anat", "T1w")) == ["sub-01_T1w.nii.gz"]
    assert names(tree.images("sub-02", "func", "bold")) == [
        "sub-02_ses-a_task-rest_bold.nii.gz",
        "sub-02_ses-b_task-rest_run-2_bold.nii",
    ]
    assert tree.images("sub-09", "func", "bold") == []


def test_metadata_is_inherited_from_above_and_replaced_from_near(dataset):
    write_json({"RepetitionTime": 2.0, "EchoTime": 0.03}, dataset / "task-rest_bold.json")
    write_json({"RepetitionTime": 9.0}, dataset / "task-nback_bold.json")
    write_json({"FlipAngle": 80}, dataset / "sub-02/sub-02_bold.json")
    own = dataset / "sub-02/ses-a/func/sub-02_ses-a_task-rest_bold.json"
    write_json({"RepetitionTime": 2.5}, own)
    tree = BidsTree(dataset)
    near, far = tree.images("sub-02", "func", "bold")

    assert read_metadata(tree.sidecars(near)) == {
        "RepetitionTime": 2.5, "EchoTime": 0.03, "FlipAngle": 80,
    }  # fmt: skip
    assert read_metadata(tree.sidecars(far)) == {
        "RepetitionTime": 2.0, "EchoTime": 0.03, "FlipAngle": 80,
    }  # fmt: skip


def test_two_sidecars_that_apply_in_one_folder_are_refused(dataset):
    write_json({"RepetitionTime": 2.0}, dataset / "task-rest_bold.json")
    write_json({"RepetitionTime": 2.5}, dataset / "bold.json")
    tree = BidsTree(dataset)
    [image] = tree.images("sub-01", "func", "bold")

    with pytest.raises(DatasetError, match=r"2 sidecars in one folder apply to it .*BIDS allows"):
        tree.sidecars(image)


def test_a_sidecar_of_the_images_own_name_goes_before_those_of_other_images(dataset):
    func = dataset / "sub-01/func"
    for space, tr in (("", 9.0), ("space-MNI152NLin2009cAsym_", 2.0)):
        stem = f"sub-01_task-rest_{space}desc-preproc_bold"
        (func / f"{stem}.nii.gz").touch()
        write_json({"RepetitionTime": tr}, func / f"{stem}.json")
    tree = BidsTree(dataset)
    [image] = [file for file in tree.images("sub-01", "func", "bold") if "space" in file.entities]

    assert read_metadata(tree.sidecars(image)) == {"RepetitionTime": 2.0}


@pytest.mark.parametrize("text", ["{", "[1, 2]"])
def test_a_sidecar_that_is_no_json_object_is_refused_by_name(tmp_path, text):
    (tmp_path / "bold.json").write_text(text)

    with pytest.raises(SignalError, match=r"bold\.json: .*[Cc]orrect"):
        read_metadata([tmp_path / "bold.json"])


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(DatasetError, match=r"nowhere: no such folder\. Correct source\.dataset"):
        BidsTree(tmp_path / "nowhere")
