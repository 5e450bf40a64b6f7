"""A site's NVFLARE executor: passes the centre's bundles to the border and returns the answers."""

import os
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from nvflare.apis.event_type import EventType
from nvflare.apis.executor import Executor
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.apis.signal import Signal
from nvflare.fuel.f3.cellnet.defs import MessageHeaderKey
from nvflare.fuel.f3.cellnet.defs import ReturnCode as CellReturnCode
from nvflare.fuel.f3.cellnet.fqcn import FQCN
from nvflare.fuel.f3.cellnet.utils import make_reply as make_cell_reply
from nvflare.fuel.f3.message import Message

from notears_pfl.errors import StorageError
from notears_pfl.federated.border import CANNOT_RECORD, CANNOT_START, Border, unrecorded_refusal
from notears_pfl.federated.gate import CHANNEL, SITE_FILE, TOPIC
from notears_pfl.federated.ledger import Ledger
from notears_pfl.federated.run_records import LEDGER, record_run
from notears_pfl.federated.seal import AUTHORITY, SealChecker
from notears_pfl.federated.site_data import load_site
from notears_pfl.federated.site_rules import read_rules
from notears_pfl.federated.statement import write_statement

SEAL = "notears_pfl_seal"


def bundle_of(message: Message) -> bytes:
    """Payload of a received message as bytes; empty if it is anything else."""
    content = message.payload
    return bytes(content) if isinstance(content, bytes | bytearray | memoryview) else b""


class SiteExecutor(Executor):
    """Answers the centre's bundles over NVFLARE's direct messages, without its task polling."""

    def __init__(self) -> None:
        super().__init__()
        self._one_at_a_time = threading.Lock()
        self.register_event_handler(EventType.START_RUN, self._start)
        self.register_event_handler(EventType.END_RUN, self._end)

    def _start(self, event_type: str, fl_ctx: FLContext) -> None:
        self._authority = Path(fl_ctx.get_workspace().get_file_path_in_startup(AUTHORITY))
        self._centre = FQCN.join([FQCN.ROOT_SERVER, fl_ctx.get_job_id()])
        if not self._authority.exists():
            # Only the simulator has no kits; there, the server itself runs the fit.
            self._centre = FQCN.ROOT_SERVER
        self._ledger: Ledger | None = None
        self._checker: SealChecker | None = None
        try:
            self._handle = self._opened(fl_ctx)
        except Exception as error:
            # NVFLARE would carry on without us, and the centre would wait for an answer.
            self.log_exception(fl_ctx, "the site cannot answer")
            reason = CANNOT_RECORD if isinstance(error, StorageError) else CANNOT_START
            self._handle = lambda _: unrecorded_refusal(reason)
        fl_ctx.get_engine().get_cell().register_request_cb(CHANNEL, TOPIC, self._answer)

    def _opened(self, fl_ctx: FLContext) -> Callable[[bytes], bytes]:
        """Read the site's file, open its records and return the function that answers bundles."""
        self._site = fl_ctx.get_identity_name()
        self._rules = read_rules(os.environ[SITE_FILE].replace("{site}", self._site))
        run, self._records = fl_ctx.get_job_id(), self._rules.records
        self._ledger = Ledger(self._records / LEDGER, run)
        record_run(self._records, run, self._rules)
        if self._authority.exists():
            self._checker = SealChecker(self._authority, self._rules.centre, self._site, run)
        load = partial(load_site, self._rules, self._site)
        return Border(self._rules, load, self._ledger).handle

    def _answer(self, request: Message) -> Message:
        """Answer the centre and no one else who can reach this cell."""
        bundle, seal = bundle_of(request), request.get_header(SEAL)
        with self._one_at_a_time:
            is_centre = request.get_header(MessageHeaderKey.ORIGIN) == self._centre
            if not is_centre or (self._checker and not self._checker.accepts(seal, bundle)):
                return make_cell_reply(CellReturnCode.UNAUTHENTICATED)
            return make_cell_reply(CellReturnCode.OK, body=self._handle(bundle))

    def _end(self, event_type: str, fl_ctx: FLContext) -> None:
        with self._one_at_a_time:
            if self._ledger is None:
                return
            self._ledger.close()
            write_statement(self._site, self._records)

    def execute(
        self, task_name: str, shareable: Shareable, fl_ctx: FLContext, abort_signal: Signal
    ) -> Any:
        """Refuse NVFLARE's tasks; the centre never sends any."""
        return make_reply(ReturnCode.TASK_UNKNOWN)
