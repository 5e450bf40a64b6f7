"""Messages arrive bit for bit, and bytes that are not a message are refused."""

import contextlib
import json
import struct
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from notears_pfl.federated.messages import (
    FORMAT,
    LARGEST_HEADER,
    LARGEST_PACKED,
    Message,
    MessageError,
    decode,
    encode,
    printable,
)
from notears_pfl.model.federation import Description


def forged(header, body=b""):
    content = [FORMAT, *header] if isinstance(header, list) else header
    text = json.dumps(content).encode()
    return struct.pack("<I", len(text)) + text + body


def packed(shape, n_kept, body, dtype="<f8", *more):
    return forged(["step", 0, 0, {"array": 0}, [[dtype, shape, n_kept, *more]]], body)


def size_of(array):
    return len(encode(Message("step", 0, 0, (array,)))) - len(encode(Message("step", 0, 0)))


@given(
    st.lists(st.sampled_from([0.0, -0.0, 1.5, 5e-324, -np.inf, np.nan]), max_size=40),
    st.integers(0, 60),
)
def test_arrays_with_zeros_arrive_bit_for_bit(some, n_zeros):
    sent = np.array([*some, *[0.0] * n_zeros])[::-1]

    ((message, _),) = decode(encode(Message("step", 0, 0, (sent, sent[None]))))

    assert message.values[0].tobytes() == sent.tobytes()
    assert message.values[1].shape == (1, len(sent))
    assert message.values[0].flags.writeable


def test_zeros_of_weights_take_a_bit_each(rng):
    W = rng.normal(size=(56, 56))

    assert size_of(W) < 8 * 56**2 + 50
    assert size_of(np.triu(W, k=1)) < 8 * 56 * 55 / 2 + 56**2 / 8 + 50


def test_numbers_and_arrays_arrive_bit_for_bit(rng):
    W = rng.normal(size=(5, 5)) * 10.0 ** rng.integers(-300, 300, size=(5, 5))
    values = (W, 0.1 + 0.2, np.arange(4), W.T, None, ("a", [1, True]), {"k": W[0]})

    ((message, _),) = decode(encode(Message("step", 7, 3, values)))

    assert (message.kind, message.round, message.basis) == ("step", 7, 3)
    assert message.values[0].tobytes() == W.tobytes()
    assert message.values[1] == 0.1 + 0.2
    assert np.array_equal(message.values[2], np.arange(4))
    assert np.array_equal(message.values[3], W.T)
    assert message.values[4:6] == (None, ("a", [1, True]))
    assert np.array_equal(message.values[6]["k"], W[0])


def test_a_description_arrives_as_one():
    sent = Description(np.array([1.0, 2.0]), 40, has_samples=True)

    ((message, _),) = decode(encode(Message("answer", 0, 0, (sent,))))

    (found,) = message.values
    assert isinstance(found, Description)
    assert (found.variances.tolist(), found.n, found.has_samples) == ([1.0, 2.0], 40, True)


def test_sizes_of_a_bundle_add_up(rng):
    messages = [Message("step", i, 0, (rng.normal(size=(i, i)),)) for i in range(1, 5)]
    bundle = b"".join(map(encode, messages))

    found = decode(bundle)

    assert [message.round for message, _ in found] == [1, 2, 3, 4]
    assert sum(size for _, size in found) == len(bundle)


def test_shapes_are_listed_value_by_value():
    message = Message("begin", 0, 0, (np.zeros((3, 2)), None, 1.5, ["a", "b", "c"]))

    assert message.shape == "3x2 1 3"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\x00", id="cut off in its length"),
        pytest.param(forged(["step", 0, 0, {"tuple": []}, []])[:-3], id="cut off in its header"),
        pytest.param(forged(["step", 0, 0, {"array": 0}, [["<f8", [2]]]], b"\0" * 8), id="short"),
        pytest.param(forged(["step", 0, 0, {"array": 0}, [["|O", [1]]]], b"\0" * 8), id="objects"),
        pytest.param(forged(["step", 0, 0, {"array": 0}, [["<f8", [-1]]]]), id="negative shape"),
        pytest.param(forged(["step", 0, 0, {"array": 0}, [["<f8", [2**40, 2**40]]]]), id="huge"),
        pytest.param(forged(["step", 0, 0, {"code": "x"}, []]), id="unknown tag"),
        pytest.param(forged(["step", 0, 0, {"array": 5}, []]), id="missing array"),
        pytest.param(forged(["step", 0, 0, {"mapping": [1]}, []]), id="not a mapping"),
        pytest.param(forged(["step", "0", 0, {"tuple": []}, []]), id="round is text"),
        pytest.param(forged(["step", 10**400, 0, {"tuple": []}, []]), id="round too large"),
        pytest.param(forged(["s" * 99, 0, 0, {"tuple": []}, []]), id="long name"),
        pytest.param(forged(["step", 0, 0, {"array": 0}, [["<f8", [0, 2**80]]]]), id="overflow"),
        pytest.param(packed([16], 2, b"\xff\x00" + bytes(16)), id="packed: too few values"),
        pytest.param(packed([16], 1, b"\xff\x00" + bytes(8)), id="packed: one for all"),
        pytest.param(packed([16], 2, b"\xc0\x00" + bytes(8)), id="packed: cut off"),
        pytest.param(packed([16], -1, b"\xc0\x00"), id="packed: negative number"),
        pytest.param(packed([2**14, 2**14], 0, bytes(2**25)), id="packed: huge"),
        pytest.param(packed([16], 2, b"\xc0\x00" + bytes(16), "<i8"), id="packed: integers"),
        pytest.param(packed([16], 2, b"\xc0\x00" + bytes(16), "<f8", 2), id="packed: twice"),
        pytest.param(struct.pack("<I", 2**31) + b"[]", id="long header"),
        pytest.param(forged(["begin", 0, 0, {"tuple": []}, []]) * 9, id="many messages"),
        pytest.param(forged({}), id="no header"),
        pytest.param(struct.pack("<I", 3) + b"NaN", id="not a number"),
    ],
)
def test_bytes_that_are_not_a_message_are_refused(data):
    with pytest.raises(MessageError, match="not a valid message"):
        decode(data)


def test_a_small_message_does_not_take_much_memory():
    """As numpy text, each of 30,000 labels takes the length of the longest: 74 GiB for 1 MB."""
    labels = ["a"] * 30000 + ["b" * 650000]
    ((message, _),) = decode(encode(Message("plan", 0, 0, ({"rois": labels},))))
    tracemalloc.start()

    shape = message.shape

    assert shape == "30001"
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()


def zeros(*sizes):
    """Forge a message of packed arrays of zeros to which its values do not refer."""
    described = [["<f8", [size], 0] for size in sizes]
    return forged(["step", 0, 0, {"tuple": []}, described], bytes(sum(-(-n // 8) for n in sizes)))


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(zeros(LARGEST_PACKED, LARGEST_PACKED), id="in one message"),
        pytest.param(zeros(LARGEST_PACKED) + zeros(LARGEST_PACKED), id="in two messages"),
        pytest.param(zeros(*[LARGEST_PACKED // 4] * 5), id="smaller ones"),
    ],
)
def test_packed_arrays_of_a_bundle_do_not_take_more_memory_than_the_largest(data):
    tracemalloc.start()

    with pytest.raises(MessageError, match=r"packed array of .* more than may still come"):
        decode(data)

    # A byte per entry is needed while an array is unpacked.
    assert tracemalloc.get_traced_memory()[1] < 1.3 * 8 * LARGEST_PACKED
    tracemalloc.stop()


def test_zeros_that_a_reader_would_refuse_are_not_packed():
    half = np.zeros(LARGEST_PACKED // 2 + 1)

    data = encode(Message("step", 0, 0, (half, half)))

    assert len(data) == pytest.approx(half.nbytes * (1 + 1 / 64), rel=1e-3)
    assert len(decode(data)) == 1


def test_matrices_of_fifty_sites_with_400_rois_may_all_be_packed():
    W = np.zeros((400, 400))

    ((message, _),) = decode(encode(Message("step", 0, 0, (W,) * 50)))

    assert len(message.values) == 50


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (["step", 0, 0, {"tuple": []}, []], f"it has format 1, here format {FORMAT} is read: "
         "update NOTEARS-PFL where it came from"),
        ([FORMAT + 1, "something new"], f"it has format {FORMAT + 1}, here format {FORMAT} is "
         "read: update NOTEARS-PFL here"),
    ],
)  # fmt: skip
def test_the_older_of_two_versions_is_to_be_updated(header, reason):
    text = json.dumps(header).encode()

    with pytest.raises(MessageError, match=reason):
        decode(struct.pack("<I", len(text)) + text)


def test_a_header_is_not_read_beyond_its_largest_length():
    data = forged(["plan", 0, 0, ["x" * LARGEST_HEADER], []])

    with pytest.raises(MessageError, match="the maximum is 1048576"):
        decode(data)


def test_printable_text_has_no_control_characters_and_is_short():
    assert printable("no\x1b[2Jspace\r\nleft\u202e") == "no [2Jspace  left "
    assert len(printable("a" * 10**6)) < 310


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data):
    with contextlib.suppress(MessageError):
        assert sum(size for _, size in decode(data)) == len(data)


def test_not_a_number_is_never_sent():
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode(Message("step", 0, 0, (float("nan"),)))
