"""The centre's link to the sites: encodes requests, checks the answers and saves them."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from notears_pfl.errors import FederatedError
from notears_pfl.federated.journal import Journal
from notears_pfl.federated.message_kinds import (
    PREPARATIONS,
    Kind,
    check_answer,
    check_moments,
    check_step,
    largest_weight,
    weights_diverge,
)
from notears_pfl.federated.messages import (
    LARGEST_PACKED,
    Message,
    MessageError,
    decode,
    encode,
    printable,
)
from notears_pfl.model.coordinator import revealed_moments
from notears_pfl.model.federation import Description
from notears_pfl.model.problem import Array, Order

# exchange({site: bundle}) returns {site: answers} for the sites that answered.
Exchange = Callable[[Mapping[str, bytes]], Mapping[str, bytes]]

RETRY_S = 0.2
MAX_LOSSES = 3
# Series have unit scale, so median variances that differ by this factor are worth reporting.
VARIANCE_RATIO = 10.0

# Arguments of a request, by site number.
Arguments = Mapping[int, tuple[Any, ...]]


class SilentError(FederatedError):
    """Sites did not answer in time."""

    def __init__(self, sites: Sequence[str], waited_s: float) -> None:
        self.sites = tuple(sites)
        named = ", ".join(sites)
        super().__init__(f"no answer from {named} within {waited_s:g} s; the state is saved.")


@dataclass(frozen=True)
class RemoteSites:
    """Sites reached through a courier, as the fit sees them (``model.federation.Sites``)."""

    courier: "Courier"
    numbers: tuple[int, ...]

    def alone(self) -> list["RemoteSites"]:
        """Return every site by itself."""
        return [RemoteSites(self.courier, (k,)) for k in self.numbers]

    def describe(self) -> list[Description]:
        """Ask for variances and numbers of samples."""
        return self.courier.ask("describe", dict.fromkeys(self.numbers, ()))

    def split(self, n_folds: int) -> None:
        """Tell the sites to split their samples before the next request."""
        self.courier.prepare("split", dict.fromkeys(self.numbers, (n_folds,)))

    def begin(self, D: Array, orders: Sequence[Order | None], fold: int | None) -> None:
        """Tell the sites to prepare for steps before the next request."""
        pairs = zip(self.numbers, D, orders, strict=True)
        self.courier.prepare("begin", {k: (own, order, fold) for k, own, order in pairs})

    def step(self, V: Array, rho: float) -> list[tuple[Array, float]]:
        """Ask for the local weights and their losses."""
        pairs = zip(self.numbers, V, strict=True)
        return self.courier.ask("step", {k: (v, rho) for k, v in pairs})

    def score(self, W: Array, fold: int) -> list[Array]:
        """Ask for the held-out squared residuals of W."""
        pairs = zip(self.numbers, W, strict=True)
        return self.courier.ask("score", {k: (w, fold) for k, w in pairs})


class Courier:
    """Carries the requests of one fit to the sites and their answers back.

    Preparations are held back and sent in the bundle of the next request that needs an answer, so
    a round is one round trip. A site that lost its preparations is sent them again.

    Parameters
    ----------
    exchange : callable
        Sends bundles to the sites, which are named as in their certificates.
    names : sequence of str
        Names of the sites; their order gives the site numbers.
    plan : mapping
        What to fit: group, rois, scale, estimator.
    journal : Journal
        Saved answers, which are replayed first.
    answer_s : float
        How long to keep asking a silent site before giving up.
    """

    def __init__(
        self,
        exchange: Exchange,
        names: Sequence[str],
        plan: Mapping[str, Any],
        journal: Journal,
        answer_s: float,
    ) -> None:
        self._exchange, self._names, self._journal = exchange, list(names), journal
        self._answer_s, self._n_rois = answer_s, len(plan["rois"])
        self._round = 0
        # By site: the current preparations, and the number of the last one delivered.
        self._prepared: list[dict[str, Message]] = [{} for _ in names]
        self._delivered = [0] * len(self._names)
        self.bytes_out: Counter[str] = Counter()
        self.bytes_in: Counter[str] = Counter()
        self.exchanges = 0
        self._counts: list[Any] = [None] * len(self._names)
        self._variances: dict[int, Array] = {}
        # By site: the moments that its first step reveals.
        self._moments: dict[int, Array] = {}
        # By site: the largest weight in its last step.
        self._largest: dict[int, float] = {}
        self.sites = RemoteSites(self, tuple(range(len(self._names))))
        self.prepare("plan", dict.fromkeys(self.sites.numbers, (dict(plan),)))
        self._counts = self.ask("plan", dict.fromkeys(self.sites.numbers, ()))

    @property
    def counts(self) -> list[dict[str, Any]]:
        """What each site reported about its data."""
        return self._counts

    def prepare(self, kind: Kind, arguments: Arguments) -> None:
        """Queue a change of the sites' state; it replaces an earlier one of the same kind."""
        for k, values in arguments.items():
            prepared = self._prepared[k]
            number = 1 + max((message.basis for message in prepared.values()), default=0)
            # Goes to the end, not to the place of the one it replaces: order matters.
            prepared.pop(kind, None)
            prepared[kind] = Message(kind, self._round, number, values)

    def ask(self, kind: Kind, arguments: Arguments) -> list[Any]:
        """Return the sites' answers in the order of ``arguments``, replaying saved ones."""
        self._round += 1
        if kind == "step":
            self._refuse_divergence(arguments)
        asked = b"".join(self._request(k, kind, v) for k, v in arguments.items())
        saved = self._journal.replay(asked)
        if saved is None:
            traffic, answers = self._ask_until_answered(kind, arguments)
            saved = b"".join(map(encode, [traffic, *(answers[k] for k in arguments)]))
            self._journal.add(asked, saved)
        # One bundle that holds what every site sent in one of its own.
        n_sites = len(arguments)
        (traffic, _), *decoded = decode(saved, 1 + n_sites, n_sites * LARGEST_PACKED)
        self._count(*traffic.values)
        found = [message.values[0] for message, _ in decoded]
        for k, answer in zip(arguments, found, strict=True):
            if kind == "describe":
                self._variances[k] = answer.variances
            elif kind == "step":
                self._largest[k] = largest_weight(answer[0], self._prepared[k]["begin"].values[0])
                self._keep_moments(k, arguments[k], answer[0])
        return found

    def _keep_moments(self, k: int, values: tuple[Any, ...], W: Array) -> None:
        """Remember what a first answer to V = 0 says about a site's samples."""
        (V, rho), (D, order, fold) = values, self._prepared[k]["begin"].values
        if k not in self._moments and order is None and fold is None and not V.any():
            U = revealed_moments(W, self._variances[k], rho * D)
            self._moments[k] = (U + U.T) / 2

    def _check_step(self, k: int, values: tuple[Any, ...], W: Array, loss: float) -> None:
        """Refuse a step that no samples allow, or not those of the site's first answer."""
        V, rho, D, variances = self._step_terms(k, values)
        check_step(W, loss, V, rho, D, variances)
        _, order, fold = self._prepared[k]["begin"].values
        # The moments without a fold are not known.
        if k in self._moments and fold is None:
            check_moments(W, loss, V, rho, D, order, self._moments[k])

    def _step_terms(self, k: int, values: tuple[Any, ...]) -> tuple[Array, float, Array, Array]:
        """Quantities that bound a site's step: V, ρ, D and its variances."""
        V, rho = values
        return V, rho, self._prepared[k]["begin"].values[0], self._variances[k]

    def _refuse_divergence(self, arguments: Arguments) -> None:
        """Stop before an honest site is blamed for weights that another site inflated."""
        terms = {k: self._step_terms(k, values) for k, values in arguments.items()}
        if any(weights_diverge(V, D) for V, _, D, _ in terms.values()):
            foremost = max(self._largest, key=lambda k: self._largest[k])
            msg = (
                f"site {self._names[foremost]}: the weights of all sites grew without bound, and "
                "those of this site are the largest. Check its data. The state is saved."
            )
            raise FederatedError(msg)

    def _count(self, sent: Mapping[str, int], received: Mapping[str, int]) -> None:
        """Count a round, including rounds made before the centre was restarted."""
        self.exchanges += 1
        self.bytes_out.update(sent)
        self.bytes_in.update(received)

    def _request(self, k: int, kind: Kind, values: tuple[Any, ...]) -> bytes:
        """Encode a request; a plan is sent as a preparation."""
        latest = max(message.basis for message in self._prepared[k].values())
        if kind == "plan":
            return encode(self._prepared[k]["plan"])
        return encode(Message(kind, self._round, latest, values))

    def _bundle(self, k: int, kind: Kind, values: tuple[Any, ...]) -> bytes:
        due = [m for m in self._prepared[k].values() if m.basis > self._delivered[k]]
        parts = [encode(message) for message in due]
        return b"".join(parts if kind == "plan" else [*parts, self._request(k, kind, values)])

    def _ask_until_answered(
        self, kind: Kind, arguments: Arguments
    ) -> tuple[Message, dict[int, Message]]:
        """Ask until every site has answered; return the bytes exchanged and the answers."""
        answers: dict[int, Message] = {}
        sent: Counter[str] = Counter()
        received: Counter[str] = Counter()
        attempts: Counter[int] = Counter()
        deadline = time.monotonic() + self._answer_s
        while waiting := [k for k in arguments if k not in answers]:
            bundles = {self._names[k]: self._bundle(k, kind, arguments[k]) for k in waiting}
            replies = self._exchange(bundles)
            for k in waiting:
                name = self._names[k]
                if name not in replies:
                    continue
                sent[name] += len(bundles[name])
                received[name] += len(replies[name])
                if (answer := self._read(k, kind, arguments[k], replies[name])) is not None:
                    answers[k] = answer
                    continue
                attempts[k] += 1
                if attempts[k] > MAX_LOSSES:
                    msg = (
                        f"site {name} was prepared {MAX_LOSSES} times but lost its state each time."
                    )
                    raise FederatedError(msg)
            silent = [self._names[k] for k in waiting if self._names[k] not in replies]
            if silent and time.monotonic() > deadline:
                raise SilentError(silent, self._answer_s)
            if silent:
                time.sleep(RETRY_S)
        return Message("traffic", self._round, 0, (dict(sent), dict(received))), answers

    def _read(self, k: int, kind: Kind, values: tuple[Any, ...], reply: bytes) -> Message | None:
        """Check a site's answer; return None if the site must be prepared and asked again."""
        name = self._names[k]
        try:
            messages = [message for message, _ in decode(reply)]
        except MessageError as error:
            msg = f"site {name}: {printable(str(error))} The state is saved."
            raise MessageError(msg) from error
        last = messages[-1] if messages else Message("", -1, -1)
        if last.kind == "lost":
            self._delivered[k] = 0
            return None
        if last.kind == "refusal":
            reason = printable(" ".join(map(str, last.values)))
            context = self._variance_hint() if kind == "step" else ""
            msg = f"site {name} refuses: {reason}{context} The state is saved."
            raise FederatedError(msg)
        due = [m for m in self._prepared[k].values() if m.basis > self._delivered[k]]
        expected = [m.kind for m in due] + ([] if kind == "plan" else [kind])
        if [m.kind for m in messages] != ["answer"] * len(expected) or any(
            len(m.values) != 1 for m in messages
        ):
            msg = (
                f"site {name}: the reply does not hold the expected answers ({len(expected)}). "
                "The state is saved."
            )
            raise MessageError(msg)
        if kind not in PREPARATIONS and last.round != self._round:
            msg = f"site {name}: received an answer to round {last.round} in round {self._round}."
            raise MessageError(msg)
        for message, asked in zip(messages, expected, strict=True):
            try:
                check_answer(asked, message.values[0], self._n_rois)
                if asked == "step":
                    self._check_step(k, values, *message.values[0])
            except MessageError as error:
                msg = f"site {name}: {printable(str(error))}. The state is saved."
                raise MessageError(msg) from error
        self._refuse_changed_data(k, messages, expected)
        self._delivered[k] = max(m.basis for m in self._prepared[k].values())
        return last

    def _variance_hint(self) -> str:
        """Describe the sites' variances if one site may be the reason why another refuses."""
        medians = {self._names[k]: float(np.median(u)) for k, u in self._variances.items()}
        if max(medians.values()) < VARIANCE_RATIO * min(medians.values()):
            return ""
        named = ", ".join(f"{site} {median:.3g}" for site, median in medians.items())
        return (
            " Requests depend on the variances of all sites, and their medians differ: "
            f"{named}. Check the site that stands out."
        )

    def _refuse_changed_data(
        self, k: int, messages: Sequence[Message], expected: Sequence[str]
    ) -> None:
        """Refuse to continue with a site whose data have changed since the fit began."""
        if "plan" in expected and self._counts[k] is not None:
            found = messages[expected.index("plan")].values[0]
            if found != self._counts[k]:
                msg = (
                    f"site {self._names[k]}: its data have changed since the fit began: {found} "
                    f"instead of {self._counts[k]}. Delete the saved state to start a new fit."
                )
                raise FederatedError(msg)
