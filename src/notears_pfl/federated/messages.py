"""Messages as bytes: a JSON header that says all, then the arrays' own bytes.

Nothing that is received is ever executed or unpickled, an array is no larger than its bytes, and
numbers arrive bit for bit. A bundle is messages one after the other, so that sizes add up.
"""

import json
import struct
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from notears_pfl.errors import FederatedError
from notears_pfl.model.local import Description

LENGTH = struct.Struct("<I")
DTYPES = ("<f8", "<i8", "|b1")
# What reading bytes that are no message may raise.
MALFORMED = (ValueError, TypeError, LookupError, AttributeError, struct.error, RecursionError)


class MessageError(FederatedError):
    """Bytes that are no message, or a message that is not what its kind says."""


@dataclass(frozen=True)
class Message:
    """One request or answer.

    Parameters
    ----------
    kind : str
        A request of the centre (see ``protocol``), ``answer``, ``refusal`` or ``lost``.
    round : int
        Number of the exchange; an answer has its request's.
    basis : int
        How many preparations of the site this message rests on.
    values : tuple
        Arguments or the answer: numbers, text, arrays, and tuples, lists and mappings of these.
    """

    kind: str
    round: int
    basis: int
    values: tuple[Any, ...] = ()

    @property
    def shape(self) -> str:
        """Shape of every value, for the ledger: ``56x56 1`` is a matrix and a number."""
        return " ".join("x".join(map(str, np.shape(leaf))) or "1" for leaf in _leaves(self.values))


def encode(message: Message) -> bytes:
    """Turn a message into bytes."""
    arrays: list[np.ndarray] = []
    tree = _plain(message.values, arrays)
    described = [[array.dtype.str, list(array.shape)] for array in arrays]
    content = [message.kind, message.round, message.basis, tree, described]
    header = json.dumps(content, separators=(",", ":"), allow_nan=False).encode()
    return b"".join([LENGTH.pack(len(header)), header, *(array.tobytes() for array in arrays)])


def decode(data: bytes) -> list[tuple[Message, int]]:
    """Read a bundle: its messages, each with the number of its bytes."""
    messages, start = [], 0
    while start < len(data):
        try:
            message, end = _decode_one(data, start)
        except MALFORMED as error:
            msg = f"byte {start} of {len(data)}: no message can be read ({error})."
            raise MessageError(msg) from error
        messages.append((message, end - start))
        start = end
    return messages


def _decode_one(data: bytes, start: int) -> tuple[Message, int]:
    (length,) = LENGTH.unpack_from(data, start)
    position = start + LENGTH.size + length
    header = data[start + LENGTH.size : position]
    kind, number, basis, tree, described = json.loads(header, parse_constant=_refuse_constant)
    arrays = []
    for dtype, shape in described:
        if dtype not in DTYPES or not all(type(n) is int and n >= 0 for n in shape):
            msg = f"array of type {dtype!r} and shape {shape!r}"
            raise ValueError(msg)
        count = int(np.prod(shape, dtype=object))
        size = count * np.dtype(dtype).itemsize
        if position + size > len(data):
            msg = "an array is longer than the message"
            raise ValueError(msg)
        arrays.append(np.frombuffer(data, dtype, count, position).reshape(shape).copy())
        position += size
    if not isinstance(kind, str) or type(number) is not int or type(basis) is not int:
        msg = "kind, round or basis is not what it must be"
        raise TypeError(msg)
    return Message(kind, number, basis, _rebuilt(tree, arrays)), position


def _refuse_constant(name: str) -> float:
    msg = f"{name} is not a number"
    raise ValueError(msg)


def _plain(value: Any, arrays: list[np.ndarray]) -> Any:
    """JSON tree of a value; arrays go to ``arrays`` and leave their place."""
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


def _leaves(value: Any) -> Iterator[Any]:
    """Arrays, numbers and text of a value, in order; None is nothing."""
    if isinstance(value, Description):
        value = asdict(value)
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        yield np.array(value)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _leaves(item)
    elif value is not None:
        yield value
