"""A site's border: checks and answers each request, and records the answer before it leaves."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from notears_pfl.errors import StorageError
from notears_pfl.federated.ledger import Ledger
from notears_pfl.federated.message_kinds import KINDS, PREPARATIONS, check_answer, check_request
from notears_pfl.federated.messages import Message, MessageError, decode, encode
from notears_pfl.federated.site_data import LoadedSite
from notears_pfl.federated.site_rules import RefusedError, SiteRules
from notears_pfl.model.federation import Site
from notears_pfl.model.problem import Array
from notears_pfl.model.selection import n_folds

logger = logging.getLogger(__name__)

# Load the site's data for a plan.
LoadSite = Callable[[Mapping[str, Any]], LoadedSite]

CANNOT_START = "the site cannot start; see the site's log."
CANNOT_RECORD = "the site cannot write its records (is its disk full?), so it sends nothing."


def unrecorded_refusal(reason: str) -> bytes:
    """Refuse a bundle without recording it; the refusal reveals nothing about the site's data."""
    return encode(Message("refusal", -1, -1, (reason,)))


class Border:
    """Answers bundles of encoded requests within the site's rules.

    Parameters
    ----------
    rules : SiteRules
        What the site allows.
    load : callable
        Loads the site's data and its counts for a plan.
    ledger : Ledger
        Records every message.
    """

    def __init__(self, rules: SiteRules, load: LoadSite, ledger: Ledger) -> None:
        self._rules, self._load, self._ledger = rules, load, ledger
        self._loaded: LoadedSite | None = None
        self._group, self._n_rois, self._basis, self._folds = "", 0, 0, 0
        self._D: Array | None = None

    def handle(self, data: bytes) -> bytes:
        """Answer the requests of a bundle in order, stopping at the first refusal.

        An answer that cannot be recorded is not sent.
        """
        try:
            return self._handle(data)
        except StorageError:
            logger.exception("cannot write the ledger")
            return unrecorded_refusal(CANNOT_RECORD)

    def _handle(self, data: bytes) -> bytes:
        try:
            requests = decode(data)
        except MessageError as error:
            logger.warning("cannot read a bundle: %s", error)
            unread = Message("unreadable", -1, -1)
            self._ledger.write("in", self._group, unread, "unreadable", len(data))
            refusal = self._refusal(unread, "the message cannot be read.")
            return self._send(unread, refusal, self._group)
        answers = []
        for request, size in requests:
            known = request.kind if request.kind in KINDS else "unknown"
            group = self._group_of(request)
            self._ledger.write("in", group, request, known, size)
            answer = self._answer(request)
            answers.append(self._send(request, answer, group))
            if answer.kind != "answer":
                break
        return b"".join(answers)

    def _group_of(self, request: Message) -> str:
        """Group to record for a request; a plan may name a new group."""
        match request.kind, request.values:
            case "plan", ({"group": str(group)},):
                # The name has not been checked yet and must not break the lines of the ledger.
                return group if group.isalnum() else "unknown"
        return self._group

    def _send(self, request: Message, answer: Message, group: str) -> bytes:
        """Record an answer and return its bytes."""
        encoded = encode(answer)
        kind = request.kind if answer.kind == "answer" else answer.kind
        self._ledger.write("out", group, answer, kind, len(encoded))
        return encoded

    def _refusal(self, request: Message, reason: str) -> Message:
        return Message("refusal", request.round, self._basis, (reason,))

    def _answer(self, request: Message) -> Message:
        """Carry out a request or say why not; no answer names a subject."""
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
        except StorageError:
            raise
        except Exception:
            logger.exception("request %r failed", request.kind)
            return self._refusal(request, "the site failed to answer; see the site's log.")
        if request.kind in PREPARATIONS:
            self._basis = request.basis
        return Message("answer", request.round, self._basis, (value,))

    def _is_prepared(self, request: Message) -> bool:
        """Whether the site has received all preparations that the request assumes.

        Preparations are numbered in increasing order. If someone else slips one in, the number in
        the centre's next request no longer matches, and the site replies "lost" instead of
        answering from a state that the centre did not set.
        """
        if self._loaded is None:
            return False
        if request.kind in PREPARATIONS:
            return request.basis > self._basis
        return request.basis == self._basis

    def _do(self, kind: str, values: tuple[Any, ...]) -> Any:
        if kind == "plan":
            (plan,) = values
            self._rules.check_plan(plan)
            self._loaded = self._load(plan)
            self._group, self._n_rois = plan["group"], len(plan["rois"])
            self._folds, self._D = 0, None
            return self._loaded.counts
        assert self._loaded is not None
        site = self._loaded.site
        match kind, values:
            case "describe", ():
                return site.describe()
            case "split", (folds,):
                self._folds = _checked_folds(site, folds)
                site.split(folds)
            case "begin", (D, order, fold):
                self._check_fold(fold)
                self._D = D
                site.begin(D, order, fold)
            case "step", (V, rho):
                self._check_rho(site, rho)
                return site.step(V, rho)
            case "score", (W, fold):
                self._check_fold(fold)
                return site.score(W, fold)
        return None

    def _check_fold(self, fold: int | None) -> None:
        if fold is not None and fold >= self._folds:
            msg = f"fold {fold} does not exist; this site has {self._folds} folds."
            raise RefusedError(msg)

    def _check_rho(self, site: Site, rho: float) -> None:
        """Refuse ρ outside the site's range, and ρD outside that range times its variances.

        A step depends only on the product ρD, so a tiny D could undo the limit on ρ.
        """
        self._rules.check_number("rho", rho, "rho")
        if self._D is None:
            msg = "'step' was requested before 'begin'."
            raise RefusedError(msg)
        variances, pull = site.describe().variances, rho * self._D
        low, high = self._rules.ranges["rho"]
        if pull.min() < low * variances.min() or pull.max() > high * variances.max():
            msg = (
                f"rho D must be from {low:g} to {high:g} times this site's variances; found values "
                f"from {pull.min():.3g} to {pull.max():.3g}. Check that all sites use the same "
                "units."
            )
            raise RefusedError(msg)


def _checked_folds(site: Site, folds: int) -> int:
    """Refuse any number of folds except the one that the estimator uses.

    Two different splits of the same series would reveal the covariance of the samples between
    their cuts, which can be those of a single subject.
    """
    own = n_folds([site.describe()])
    if folds != own:
        msg = (
            f"this site allows {own} folds and no other number; found {folds}."
            if own
            else "this site has no folds: it adds noise, or its folds would have too few subjects."
        )
        raise RefusedError(msg)
    return folds
