"""The sites as the centre sees them: behind a transport that carries requests and answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from notears_pfl.model.local import Site

# transport(request, {site: arguments}) returns {site: answer}; requests are Site's methods.
Transport = Callable[[str, Mapping[int, tuple[Any, ...]]], Mapping[int, Any]]


def in_process(sites: Sequence[Site]) -> Transport:
    """Transport to sites that live in this process."""

    def transport(request: str, arguments: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        return {k: getattr(sites[k], request)(*values) for k, values in arguments.items()}

    return transport


@dataclass(frozen=True)
class Federation:
    """Some of the sites behind a transport, by their numbers."""

    transport: Transport
    members: tuple[int, ...]

    def __len__(self) -> int:
        """Return the number of sites."""
        return len(self.members)

    def ask(self, request: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Send each member its arguments and collect the answers, in the members' order."""
        answers = self.transport(request, dict(zip(self.members, arguments, strict=True)))
        return [answers[k] for k in self.members]

    def alone(self) -> list["Federation"]:
        """Every member as a federation of its own."""
        return [Federation(self.transport, (k,)) for k in self.members]
