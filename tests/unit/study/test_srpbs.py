"""The release's codes, protocols and volumes mean what its readers say."""

import numpy as np
import pandas as pd
import pytest

from notears_pfl.errors import DatasetError, SignalError
from notears_pfl.study.srpbs import protocol_fields, with_bids_codes
from notears_pfl.study.srpbs_to_bids import ordered_volumes, run_sidecar, stacked

SITE = {
    "scanner": "GE Signa", "field_strength_t": 3.0, "name": "Hospital", "channels": 8,
    "slice_order": "ascending",
}  # fmt: skip
UP = np.diag([3.0, 3.0, 4.0, 1.0])


def test_protocols_are_read_from_the_columns_of_the_table():
    rows = [
        ["rsMRI protocols"], ["Protocol #", "1", "2", "14"], ["MRI Scanner", "Verio", "GE", ""],
        ["TR (s)", "2,500", "2", "2.7"], ["TE (ms)", "30", "27", "n/a"],
        ["Flip angle (deg)", "80", "90", "90°"], ["Time of scan", "10", "5", "5"],
    ]  # fmt: skip

    assert protocol_fields(rows, "protocols.tsv") == {
        "1": {"RepetitionTime": 2.5, "EchoTime": 0.03, "FlipAngle": 80.0},
        "2": {"RepetitionTime": 2.0, "EchoTime": 0.027, "FlipAngle": 90.0},
        "14": {"RepetitionTime": 2.7, "FlipAngle": 90.0},
    }


def test_repetition_times_may_be_in_milliseconds_if_their_row_says_so():
    rows = [["Protocol #", "1"], ["TR [ms]", "2,500"]]

    assert protocol_fields(rows, "protocols.tsv") == {"1": {"RepetitionTime": 2.5}}


def test_a_table_of_something_else_is_refused_with_its_rows():
    with pytest.raises(
        DatasetError, match=r"p\.tsv: rows 'Protocol #' and 'TR \(s\)' .* site, age"
    ):
        protocol_fields([["site", "1"], ["age", "2"]], "p.tsv")


def test_codes_of_sex_and_hand_become_letters_and_others_stay():
    people = pd.DataFrame({"sex": ["1", "2", None], "hand": [1.0, 2.0, 0.0], "age": [1, 2, 3]})

    meant = with_bids_codes(people)

    assert meant["sex"].tolist()[:2] == ["M", "F"]
    assert pd.isna(meant["sex"][2])
    assert meant["hand"].tolist() == ["R", "L", "A"]
    assert meant["age"].tolist() == [1, 2, 3]


def test_volumes_are_sorted_by_number_not_by_text():
    assert ordered_volumes(["vol_10", *[f"vol_{i}" for i in range(1, 10)], ".DS_Store"])[-2:] == [
        "vol_9",
        "vol_10",
    ]
    assert ordered_volumes(["vol_0002", "vol_0001"]) == ["vol_0001", "vol_0002"]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["notes"], r"No volumes vol_\* among 1 files"),
        (["vol_1", "vol_4"], r"volumes \[2, 3\] are missing"),
        (["vol_1", "vol_01"], "some numbers occur twice"),
    ],
)
def test_a_run_with_gaps_or_doubles_is_refused(names, message):
    with pytest.raises(SignalError, match=message):
        ordered_volumes(names)


def test_volumes_on_another_grid_are_refused_by_number():
    volumes = [np.zeros((2, 2, 2), np.int16)] * 3
    moved = UP.copy()
    moved[0, 3] = 1

    assert stacked(volumes, [UP] * 3).shape == (2, 2, 2, 3)
    assert stacked(volumes, [UP] * 3).dtype == np.int16
    with pytest.raises(SignalError, match=r"Volumes \[3\] do not have the grid of the first"):
        stacked(volumes, [UP, UP, moved])


def test_slice_times_count_from_the_feet_wherever_the_axis_points():
    down = np.diag([3.0, 3.0, -4.0, 1.0])

    upwards = run_sidecar(SITE, {"RepetitionTime": 2.0}, 4, UP)
    downwards = run_sidecar(SITE, {"RepetitionTime": 2.0}, 4, down)

    assert upwards["SliceTiming"] == [0.0, 0.5, 1.0, 1.5]
    assert downwards["SliceTiming"] == [1.5, 1.0, 0.5, 0.0]
    assert upwards["Manufacturer"] == "GE"


def test_slices_along_another_axis_are_refused():
    sagittal = UP[[2, 0, 1, 3]]

    with pytest.raises(SignalError, match="third axis of the run does not go from feet to head"):
        run_sidecar(SITE, {"RepetitionTime": 2.0}, 4, sagittal)
