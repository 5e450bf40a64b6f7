"""Timing is read as BIDS means it."""

import numpy as np
import pytest

from notears_pfl.errors import SignalError
from notears_pfl.io.sidecars import check_header, read_timing, write_json


@pytest.fixture
def sidecar(tmp_path):
    def write(**content):
        write_json(content, tmp_path / "bold.json")
        return tmp_path / "bold.json"

    return write


def test_slice_times_follow_the_direction_of_encoding(sidecar):
    times = [0.0, 0.5, 1.0, 1.5]

    up = read_timing(sidecar(RepetitionTime=2, SliceTiming=times))
    down = read_timing(sidecar(RepetitionTime=2, SliceTiming=times, SliceEncodingDirection="k-"))

    assert up.repetition_time == 2.0
    np.testing.assert_array_equal(up.slice_times, times)
    np.testing.assert_array_equal(down.slice_times, times[::-1])


def test_slice_timing_may_be_absent(sidecar):
    assert read_timing(sidecar(RepetitionTime=2.5)).slice_times is None


def test_a_missing_repetition_time_is_refused(sidecar):
    with pytest.raises(SignalError, match=r"bold\.json: RepetitionTime is missing"):
        read_timing(sidecar(SliceTiming=[0.0]))


def test_slices_along_another_axis_are_refused(sidecar):
    with pytest.raises(SignalError, match="SliceEncodingDirection is 'i'"):
        read_timing(sidecar(RepetitionTime=2, SliceTiming=[0.0], SliceEncodingDirection="i"))


@pytest.mark.parametrize("slices", [{"SliceEncodingDirection": "j"}, {"SliceTiming": ["soon"]}])
def test_slices_are_not_judged_where_their_timing_is_not_corrected(sidecar, slices):
    path = sidecar(**{"RepetitionTime": 2, "SliceTiming": [0.0], **slices})

    timing = read_timing(path, slices=False)

    assert (timing.repetition_time, timing.slice_times) == (2.0, None)


@pytest.mark.parametrize("in_header", [None, 2.5, 2.501, 2.499])
def test_a_header_that_rounds_or_tells_nothing_is_let_pass(in_header):
    check_header(in_header, "bold.nii", 2.5, "bold.json")


def test_a_header_that_tells_another_repetition_time_is_refused():
    with pytest.raises(SignalError, match=r"2\.502 s in the header .* 2\.5 s in a\.json, b\.json"):
        check_header(2.502, "bold.nii", 2.5, ["a.json", "b.json"])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"[1]", "a JSON object was needed, found list"),
        (b'{"RepetitionTime": 2, "RepetitionTime": 3}', "'RepetitionTime' appears twice"),
        ('{"a": "na\u00efve"}'.encode("latin-1"), "line 1: byte 0xE[9F] is not UTF-8"),
        ("{}".encode("utf-16"), "it is in UTF-16"),
        (b'{"a": ' + b"[" * 100_000, "cannot be read as JSON"),
        (b'{"RepetitionTime": 1' + b"0" * 400 + b"}", "is not in numbers"),
        (b'{"status": "failed"}', "its status is 'failed'"),
        (b"{", "cannot be read as JSON"),
    ],
)
def test_what_is_no_sidecar_is_refused_by_name(tmp_path, content, reason):
    (tmp_path / "bold.json").write_bytes(content)

    with pytest.raises(SignalError, match=rf"bold\.json: .*{reason}"):
        read_timing(tmp_path / "bold.json")


def test_a_byte_order_mark_and_values_that_nobody_needs_are_let_pass(tmp_path):
    (tmp_path / "bold.json").write_bytes(
        b'\xef\xbb\xbf{"RepetitionTime": 2, "x": NaN, "y": 1, "y": 1}'
    )

    assert read_timing(tmp_path / "bold.json").repetition_time == 2.0
