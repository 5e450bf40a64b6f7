"""A site's border: every request is checked, done and written down before its answer leaves."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from notears_pfl.federated.ledger import Ledger
from notears_pfl.federated.messages import Message, MessageError, decode, encode
from notears_pfl.federated.protocol import KINDS, PREPARATIONS, check_answer, check_request
from notears_pfl.federated.rules import RefusedError, SiteRules
from notears_pfl.federated.samples import Brought
from notears_pfl.model.selection import n_folds

logger = logging.getLogger(__name__)

Bring = Callable[[Mapping[str, Any]], Brought]


def refuse_all(data: bytes) -> bytes:
    """Refuse every bundle, at a site that could not begin its records."""
    return encode(Message("refusal", -1, -1, ("the site cannot start; its own log says why.",)))


class Border:
    """Answers bundles of requests in bytes, as the site's rules allow.

    Parameters
    ----------
    rules : SiteRules
        What the site allows.
    bring : callable
        Gives the site and its counts for a plan.
    ledger : Ledger
        Where every message is written down.
    """

    def __init__(self, rules: SiteRules, bring: Bring, ledger: Ledger) -> None:
        self._rules, self._bring, self._ledger = rules, bring, ledger
        self._brought: Brought | None = None
        self._group, self._n_rois, self._basis, self._folds = "", 0, 0, 0

    def handle(self, data: bytes) -> bytes:
        """Answer a bundle: one answer per request, up to the first that is refused."""
        try:
            requests = decode(data)
        except MessageError as error:
            logger.warning("a bundle cannot be read: %s", error)
            unread = Message("unreadable", -1, -1)
            self._ledger.write("in", self._group, unread, "unreadable", len(data))
            return self._send(unread, self._refusal(unread, "the message cannot be read."))
        answers = []
        for request, size in requests:
            known = request.kind if request.kind in KINDS else "unknown"
            self._ledger.write("in", self._group, request, known, size)
            answer = self._answer(request)
            answers.append(self._send(request, answer))
            if answer.kind != "answer":
                break
        return b"".join(answers)

    def _send(self, request: Message, answer: Message) -> bytes:
        """Write an answer down, and give its bytes."""
        encoded = encode(answer)
        kind = request.kind if answer.kind == "answer" else answer.kind
        self._ledger.write("out", self._group, answer, kind, len(encoded))
        return encoded

    def _refusal(self, request: Message, reason: str) -> Message:
        return Message("refusal", request.round, self._basis, (reason,))

    def _answer(self, request: Message) -> Message:
        """Do what is asked, or say why not: what goes out names no subject of the site's."""
        try:
            self._rules.check_kind(request.kind)
            if request.kind != "plan" and not self._is_prepared(request):
                return Message("lost", request.round, self._basis)
            check_request(request.kind, request.values, self._n_rois)
            value = self._do(request.kind, request.values)
            check_answer(request.kind, value, self._n_rois)
        except (RefusedError, MessageError) as error:
            logger.warning("refused: %s", error)
            return self._refusal(request, str(error))
        except Exception:
            logger.exception("request %r failed", request.kind)
            return self._refusal(request, "the site failed to answer; its own log says why.")
        if request.kind in PREPARATIONS:
            self._basis = request.basis
        return Message("answer", request.round, self._basis, (value,))

    def _is_prepared(self, request: Message) -> bool:
        """Whether the site is as the request expects it; a preparation only adds to that."""
        rests = request.kind in PREPARATIONS or request.basis == self._basis
        return self._brought is not None and rests

    def _do(self, kind: str, values: tuple[Any, ...]) -> Any:
        if kind == "plan":
            (plan,) = values
            self._rules.check_plan(plan)
            self._brought = self._bring(plan)
            self._group, self._n_rois, self._folds = plan["group"], len(plan["rois"]), 0
            return self._brought.counts
        assert self._brought is not None
        match kind:
            case "split":
                self._folds = self._checked_folds(self._brought, *values)
            case "begin" | "score" if values[-1] is not None and values[-1] >= self._folds:
                msg = f"fold {values[-1]} does not exist; the site has {self._folds}."
                raise RefusedError(msg)
            case "step":
                self._rules.check_number("rho", values[1], "rho")
        return getattr(self._brought.site, kind)(*values)

    def _checked_folds(self, brought: Brought, folds: int) -> int:
        """Refuse all but the estimator's own number of folds.

        Two cuts of the same series would tell the covariance of what lies between them, down to
        a single subject's.
        """
        own = n_folds([brought.site.describe()])
        if folds != own:
            msg = (
                f"this site has {own} folds, and no other number is allowed; found {folds}."
                if own
                else "this site has no folds: it has noise, or their parts have too few subjects."
            )
            raise RefusedError(msg)
        return folds
