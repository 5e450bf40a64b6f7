"""Encoding of messages: a JSON header that describes the content, then the arrays as raw bytes.

An array with many zeros is packed: one bit per entry says whether it is zero, and only the others
follow. Weights that respect an order of the ROIs are at least half zeros.

Nothing received is ever executed or unpickled, and numbers arrive bit for bit. Sizes are checked
before memory is allocated: the header has a maximum length, an array cannot be larger than the
bytes received, and the packed arrays of a bundle have a maximum number of entries in all. A bundle
is a concatenation of messages, so its size is the sum of theirs.

Every header begins with the number of this format, so that sides with different versions of the
program say so.
"""

import json
import struct
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from notears_pfl.errors import FederatedError
from notears_pfl.model.federation import Description

# Number of the format of messages; the first had no number.
FORMAT = 2
LENGTH = struct.Struct("<I")
DTYPES = ("<f8", "<i8", "|b1")
FLOAT, FLOAT_BITS = np.dtype("<f8"), np.dtype("<i8")
# Entries of all packed arrays of a bundle: those of one matrix of 4,096 ROIs, 128 MiB.
LARGEST_PACKED = 2**24
# A plan has the longest header, with the labels of all ROIs: about 10 kB for 400 ROIs.
LARGEST_HEADER = 2**20
# A request is preceded by at most three preparations.
MOST_MESSAGES = 8
LARGEST_NUMBER = 2**53
LONGEST_KIND = 40
# Longest text from a site that is shown.
LONGEST_TEXT = 300
# Errors that may be raised when bytes are not a valid message.
MALFORMED = (
    ValueError, TypeError, LookupError, AttributeError, ArithmeticError, struct.error,
    RecursionError,
)  # fmt: skip


class MessageError(FederatedError):
    """Bytes that are not a message, or a message whose content does not match its kind."""


@dataclass(frozen=True)
class Message:
    """One request or answer.

    Parameters
    ----------
    kind : str
        A request of the centre (see ``message_kinds``), ``answer``, ``refusal`` or ``lost``.
    round : int
        Number of the exchange; an answer repeats the number of its request.
    basis : int
        Number of the latest preparation of the site that the message assumes.
    values : tuple
        Arguments or answer: numbers, text, arrays, and tuples, lists and mappings of these.
    """

    kind: str
    round: int
    basis: int
    values: tuple[Any, ...] = ()

    @property
    def shape(self) -> str:
        """Shape of every value, for the ledger: ``56x56 1`` is a matrix and a number."""
        return " ".join("x".join(map(str, shape)) or "1" for shape in _shapes(self.values))


def encode(message: Message) -> bytes:
    """Encode a message as bytes."""
    arrays: list[np.ndarray] = []
    tree = _plain(message.values, arrays)
    described, bodies, room = [], [], LARGEST_PACKED
    for array in arrays:
        packed = _packed(array) if array.size <= room else None
        stored = [] if packed is None else [packed[0]]
        room -= 0 if packed is None else array.size
        described.append([array.dtype.str, list(array.shape), *stored])
        bodies.append(array.tobytes() if packed is None else packed[1])
    content = [FORMAT, message.kind, message.round, message.basis, tree, described]
    header = json.dumps(content, separators=(",", ":"), allow_nan=False).encode()
    return b"".join([LENGTH.pack(len(header)), header, *bodies])


def _packed(array: np.ndarray) -> tuple[int, bytes] | None:
    """Return how many entries are not zero, and the packed array; None if it would not be shorter.

    A negative zero is not zero bit for bit, so it is kept.
    """
    if array.dtype != FLOAT:
        return None
    kept = array.view(FLOAT_BITS).ravel() != 0
    n_kept = int(np.count_nonzero(kept))
    if -(-array.size // 8) + n_kept * FLOAT.itemsize >= array.nbytes:
        return None
    return n_kept, np.packbits(kept).tobytes() + array.ravel()[kept].tobytes()


def decode(
    data: bytes, most: int = MOST_MESSAGES, most_packed: int = LARGEST_PACKED
) -> list[tuple[Message, int]]:
    """Decode a bundle into at most ``most`` messages, each with its size in bytes.

    Their packed arrays may have ``most_packed`` entries in all.
    """
    messages: list[tuple[Message, int]] = []
    start, room = 0, most_packed
    while start < len(data):
        try:
            if len(messages) == most:
                msg = f"more than {most} messages"
                raise ValueError(msg)
            message, end, room = _decode_one(data, start, room)
        except MALFORMED as error:
            msg = f"byte {start} of {len(data)}: not a valid message ({error})."
            raise MessageError(msg) from error
        messages.append((message, end - start))
        start = end
    return messages


def _decode_one(data: bytes, start: int, room: int) -> tuple[Message, int, int]:
    """Decode one message; return it, where it ends, and how many packed entries may still come."""
    (length,) = LENGTH.unpack_from(data, start)
    if length > LARGEST_HEADER:
        msg = f"header of {length} bytes; the maximum is {LARGEST_HEADER}"
        raise ValueError(msg)
    position = start + LENGTH.size + length
    header = json.loads(data[start + LENGTH.size : position], parse_constant=_refuse_constant)
    written = header[0] if type(header[0]) is int else 1
    if written != FORMAT:
        older = "where it came from" if written < FORMAT else "here"
        msg = f"it has format {written}, here format {FORMAT} is read: update NOTEARS-PFL {older}"
        raise ValueError(msg)
    _, kind, number, basis, tree, described = header
    is_named = isinstance(kind, str) and len(kind) <= LONGEST_KIND
    if not is_named or any(type(n) is not int or abs(n) > LARGEST_NUMBER for n in (number, basis)):
        msg = "invalid kind, round or basis"
        raise TypeError(msg)
    arrays = []
    for dtype, shape, *n_kept in described:
        if dtype not in DTYPES or not all(type(n) is int and n >= 0 for n in (*shape, *n_kept)):
            msg = f"array of invalid type {dtype!r} or shape {shape!r}"
            raise ValueError(msg)
        count = int(np.prod(shape, dtype=object))
        if n_kept:
            room -= count
        if room < 0:
            msg = f"packed array of {count} entries, {-room} more than may still come"
            raise ValueError(msg)
        read = _unpacked if n_kept else _raw
        array, position = read(data, position, dtype, count, *n_kept)
        arrays.append(array.reshape(shape))
    return Message(kind, number, basis, _rebuilt(tree, arrays)), position, room


def _raw(data: bytes, position: int, dtype: str, count: int) -> tuple[np.ndarray, int]:
    """Read an array of ``count`` entries; return it and where it ends."""
    end = position + count * np.dtype(dtype).itemsize
    if end > len(data):
        msg = "an array is longer than the message"
        raise ValueError(msg)
    return np.frombuffer(data, dtype, count, position).copy(), end


def _unpacked(
    data: bytes, position: int, dtype: str, count: int, n_kept: int
) -> tuple[np.ndarray, int]:
    """Read a packed array of ``count`` entries, ``n_kept`` of them not zero."""
    if dtype != FLOAT:
        msg = f"packed array of invalid type {dtype!r}"
        raise ValueError(msg)
    bits, position = _raw(data, position, "|u1", -(-count // 8))
    values, end = _raw(data, position, dtype, n_kept)
    kept = np.unpackbits(bits, count=count).view(bool)
    if np.count_nonzero(kept) != n_kept:
        msg = "a packed array whose bits and values do not agree"
        raise ValueError(msg)
    array = np.zeros(count)
    array[kept] = values
    return array, end


def _refuse_constant(name: str) -> float:
    msg = f"{name} is not a number"
    raise ValueError(msg)


def _plain(value: Any, arrays: list[np.ndarray]) -> Any:
    """JSON tree of a value; arrays are appended to ``arrays`` and replaced by their index."""
    if isinstance(value, Description):
        return {"description": _plain(asdict(value), arrays)}
    if isinstance(value, np.ndarray):
        arrays.append(np.ascontiguousarray(value))
        return {"array": len(arrays) - 1}
    if isinstance(value, tuple):
        return {"tuple": [_plain(item, arrays) for item in value]}
    if isinstance(value, list):
        return [_plain(item, arrays) for item in value]
    if isinstance(value, dict):
        return {"mapping": {key: _plain(item, arrays) for key, item in value.items()}}
    return value.item() if isinstance(value, np.generic) else value


def _rebuilt(tree: Any, arrays: list[np.ndarray]) -> Any:
    """Value of a JSON tree: the inverse of ``_plain``."""
    if isinstance(tree, list):
        return [_rebuilt(item, arrays) for item in tree]
    if not isinstance(tree, dict):
        return tree
    ((tag, content),) = tree.items()
    match tag:
        case "array":
            return arrays[content]
        case "tuple":
            return tuple(_rebuilt(item, arrays) for item in content)
        case "mapping":
            return {key: _rebuilt(item, arrays) for key, item in content.items()}
        case "description":
            return Description(**_rebuilt(content, arrays))
    msg = f"unknown tag {tag!r}"
    raise ValueError(msg)


def _shapes(value: Any) -> Iterator[tuple[int, ...]]:
    """Shapes of the arrays, numbers and texts in a value, in order; None is skipped."""
    if isinstance(value, Description):
        value = asdict(value)
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        yield (len(value),)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _shapes(item)
    elif value is not None:
        yield np.shape(value) if isinstance(value, np.ndarray) else ()


def printable(text: str) -> str:
    """Text from a site made safe to print: no control characters, limited length."""
    plain = "".join(sign if sign.isprintable() else " " for sign in text[: LONGEST_TEXT + 1])
    return plain if len(plain) <= LONGEST_TEXT else f"{plain[:LONGEST_TEXT]} …"
