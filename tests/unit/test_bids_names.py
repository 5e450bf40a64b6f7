"""Names of BIDS files are taken apart, and sidecars applied, as BIDS has it."""

import pytest

from notears_pfl.io.bids_tree import BidsFile


def name(text):
    return BidsFile.parse(text)


def test_a_name_has_entities_a_suffix_and_an_extension():
    file = name("data/sub-01/func/sub-01_task-rest_run-02_bold.nii.gz")

    assert file.entities == {"sub": "01", "task": "rest", "run": "2"}
    assert (file.suffix, file.extension, file.run) == ("bold", ".nii.gz", 2)


@pytest.mark.parametrize(
    "text", ["notes.txt.gz", "README", "sub-01_", "sub_01_bold.nii", "bold.nii"]
)
def test_what_has_no_entities_is_at_most_a_suffix(text):
    file = name(text)

    assert file is None or file.entities == {}


@pytest.mark.parametrize(
    ("sidecar", "applies"),
    [
        ("bold.json", True),
        ("task-rest_bold.json", True),
        ("sub-01_bold.json", True),
        ("sub-01_task-rest_run-1_bold.json", True),
        ("task-nback_bold.json", False),
        ("sub-02_bold.json", False),
        ("task-rest_acq-fast_bold.json", False),
        ("task-rest_run-02_bold.json", False),
        ("task-rest_T1w.json", False),
    ],
)
def test_a_sidecar_applies_if_it_has_the_suffix_and_no_entity_of_its_own(sidecar, applies):
    image = name("sub-01_task-rest_run-01_bold.nii.gz")

    assert name(sidecar).describes(image) is applies


def test_what_is_wanted_may_be_written_as_numbers():
    assert name("sub-01_run-01_bold.nii").has({"run": 1})
    assert not name("sub-01_run-01_bold.nii").has({"run": 2})
    assert not name("sub-1_bold.nii").has({"sub": "01"})
