"""The run and the T1w image are chosen by a stated rule; bad metadata is refused in words."""

import pandas as pd
import pytest

from notears_pfl.errors import DatasetError
from notears_pfl.io.bids_tree import BidsFile
from notears_pfl.study.scans import (
    Scan,
    checked_repetition_time,
    choose_runs,
    choose_t1w,
    unequal_repetition_times,
    usable_scans,
)

REST = {"task": "rest"}
GOOD = {"RepetitionTime": 2.0, "SliceTiming": [0.0, 1.0]}


def files(*names):
    return [BidsFile.parse(f"sub-01_{name}.nii.gz") for name in names]


@pytest.mark.parametrize(
    ("runs", "wanted", "chosen"),
    [
        (["task-nback_bold", "task-rest_bold"], REST, "task-rest_bold"),
        (["task-rest_run-2_bold", "task-rest_run-01_bold"], REST, "task-rest_run-01_bold"),
        (["ses-10_task-rest_bold", "ses-2_task-rest_bold"], REST, "ses-2_task-rest_bold"),
        (["ses-1_task-nback_bold", "ses-2_task-rest_bold"], REST, "ses-2_task-rest_bold"),
        (["task-rest_run-1_bold", "task-rest_run-2_bold"], {"run": 2}, "task-rest_run-2_bold"),
        (["task-rest_part-mag_bold", "task-rest_part-phase_bold"], REST, "task-rest_part-mag_bold"),
    ],
)  # fmt: skip
def test_of_the_runs_wanted_the_first_sessions_lowest_is_taken(runs, wanted, chosen):
    assert [run.path for run in choose_runs(files(*runs), wanted, "first")] == [
        f"sub-01_{chosen}.nii.gz"
    ]


@pytest.mark.parametrize(
    ("which", "chosen"),
    [
        ("all", ["ses-2_task-rest_run-1", "ses-2_task-rest_run-2", "ses-10_task-rest_run-1"]),
        ("session", ["ses-2_task-rest_run-1", "ses-2_task-rest_run-2"]),
        ("first", ["ses-2_task-rest_run-1"]),
    ],
)
def test_runs_come_in_the_order_of_sessions_and_numbers(which, chosen):
    images = files(
        "ses-10_task-rest_run-1_bold", "ses-2_task-rest_run-2_bold", "ses-2_task-rest_run-1_bold",
        "ses-1_task-nback_bold",
    )  # fmt: skip

    assert [run.run_name for run in choose_runs(images, REST, which)] == chosen


def test_problems_of_some_runs_cost_these_runs_if_subjects_may_be_excluded():
    scans = {run: Scan(f"{run}.nii.gz", (), 2.0, run=run) for run in ("run-1", "run-2")}
    problems = {"run-1": ["is a link"], "run-2": []}

    stopped = usable_scans(scans, problems, [], "stop")
    excluded = usable_scans(scans, problems, [], "exclude")

    assert stopped.problems == ["is a link"]
    assert excluded.problems == []
    assert excluded.scans == [scans["run-2"]]
    assert excluded.lost == {"run-1": "is a link"}
    assert usable_scans(scans, problems, ["no T1w"], "exclude").problems == ["is a link", "no T1w"]
    both = {"run-1": ["is a link"], "run-2": ["is a link too"]}
    assert usable_scans(scans, both, [], "exclude").problems == ["is a link", "is a link too"]


@pytest.mark.parametrize(
    ("session", "chosen"), [("2", "ses-2_T1w"), ("3", "ses-1_run-1_T1w"), (None, "ses-1_run-1_T1w")]
)
def test_the_t1w_is_of_the_runs_session_where_it_has_one(session, chosen):
    images = files("ses-1_run-2_T1w", "ses-1_run-1_T1w", "ses-2_T1w")

    assert choose_t1w(images, {}, session).path == f"sub-01_{chosen}.nii.gz"


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ([], "^no BOLD run with task-rest$"),
        (["task-nback_bold"], r"no BOLD run with task-rest; found .*nback.*Correct source"),
        (
            ["task-rest_echo-1_bold", "task-rest_echo-2_bold"],
            r"2 files match \(.*echo-1.*echo-2.*\)\. Specify one in source\.bold",
        ),
    ],
)  # fmt: skip
def test_no_run_or_several_is_said_with_the_next_step(runs, message):
    with pytest.raises(DatasetError, match=message):
        choose_runs(files(*runs), REST, "all")


def test_good_metadata_gives_the_repetition_time():
    assert checked_repetition_time(GOOD, ["a.json"], "a.nii", needs_slice_times=True) == 2.0
    bare = {"RepetitionTime": 2.0}
    assert checked_repetition_time(bare, ["a.json"], "a.nii", needs_slice_times=False) == 2.0


@pytest.mark.parametrize(
    ("metadata", "sidecars", "message"),
    [
        (GOOD, [], r"a\.nii has no sidecar"),
        ({}, ["a.json"], r"RepetitionTime is missing in a\.json"),
        (GOOD | {"RepetitionTime": 0}, ["a.json"], r"RepetitionTime is 0 in a\.json"),
        (GOOD | {"RepetitionTime": 2500}, ["a.json"], "RepetitionTime is 2500"),
        (GOOD | {"RepetitionTime": "2,5"}, ["a.json"], "RepetitionTime is '2,5'"),
        ({"RepetitionTime": 2.0}, ["a.json"], r"SliceTiming is missing .*preproc\.slice_timing"),
        (GOOD | {"SliceTiming": [0, 2.0]}, ["a.json"], "list of seconds from 0 to below TR, 2"),
        (GOOD | {"SliceTiming": "up"}, ["a.json"], "not a list of seconds"),
    ],
)  # fmt: skip
def test_metadata_that_cannot_be_worked_with_is_refused(metadata, sidecars, message):
    with pytest.raises(DatasetError, match=message):
        checked_repetition_time(metadata, sidecars, "a.nii", needs_slice_times=True)


def test_a_repetition_time_unlike_the_sites_other_ones_is_named():
    times = pd.Series({"a": 2.5, "b": 2.5, "c": 2.0, "d": 2.0001, "e": 2.0, "f": 3.0, "g": 4.0})
    sites = pd.Series(
        {**dict.fromkeys("abc", "COI"), **dict.fromkeys("de", "HUH"), "f": "X", "g": "X"}
    )

    problems = unequal_repetition_times(times, sites)

    assert set(problems) == {"c", "f", "g"}
    assert "is 2 s, but at site COI most have 2.5 s" in problems["c"]
    assert "no TR has a majority" in problems["f"]


def test_repetition_times_on_two_sides_of_a_round_number_are_the_same():
    times = pd.Series({"a": 2.2205, "b": 2.2205, "c": 2.220501, "d": 2.2217})

    problems = unequal_repetition_times(times, pd.Series(dict.fromkeys("abcd", "COI")))

    assert set(problems) == {"d"}
    assert "most have 2.2205 s" in problems["d"]


@pytest.mark.parametrize("tr", [True, 10**400, [2.0], "2.0"], ids=["flag", "huge", "list", "text"])
def test_a_repetition_time_that_is_no_number_is_refused(tr):
    with pytest.raises(DatasetError, match=r"RepetitionTime is .* Give it in seconds") as caught:
        checked_repetition_time({"RepetitionTime": tr}, ["a.json"], "a.nii", False)

    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    "times",
    [[0, 10**400], ["0", "1"], [True, False], [0, float("nan")], 1],
    ids=["huge", "text", "flags", "nan", "no list"],
)
def test_slice_times_that_are_no_numbers_are_refused(times):
    metadata = {"RepetitionTime": 2.0, "SliceTiming": times}

    with pytest.raises(DatasetError, match="is not a list of seconds from 0 to below TR"):
        checked_repetition_time(metadata, ["a.json"], "a.nii", True)
