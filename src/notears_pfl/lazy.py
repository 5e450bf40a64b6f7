"""Values by name that are made when they are asked for: all of them would not fit the memory."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

Name = TypeVar("Name", bound=Hashable)
Value = TypeVar("Value")


class Lazy(Mapping[Name, Value], Generic[Name, Value]):
    """A mapping that keeps no value, and makes it anew each time.

    Parameters
    ----------
    names : iterable
        Names, in their order.
    make : callable
        Gives the value of a name.
    """

    def __init__(self, names: Iterable[Name], make: Callable[[Name], Value]) -> None:
        self._names = dict.fromkeys(names)
        self._make = make

    def __getitem__(self, name: Name) -> Value:
        """Make the value of a name."""
        if name not in self._names:
            raise KeyError(name)
        return self._make(name)

    def __iter__(self) -> Iterator[Name]:
        """Give the names."""
        return iter(self._names)

    def __len__(self) -> int:
        """Count the names."""
        return len(self._names)
