"""A site's gate: NVFLARE answers only the requests that a fit needs.

NVFLARE's client checks permissions only if the request's header asks it to. Without that header it
obeys anyone who can reach it: the centre, another site through the centre, or any user of the
site's own machine. The site therefore runs NVFLARE behind a gate that

- answers only the centre and the site's own processes;
- lets through only the channels and topics in ``FROM_CENTRE`` and, among administrative requests,
  only those in ``PROCESSORS``: no commands, no logs, no shutdown, no restart;
- opens no connection other than the one to the centre;
- records every request that it refuses in the ledger.

``python -m notears_pfl.federated.gate client|job`` starts NVFLARE's own modules behind the gate.
``tests/unit/federated/test_gate.py`` lists the NVFLARE internals that the gate relies on.
"""

import logging
import os
import re
import runpy
import sys
import threading
from collections.abc import Callable
from typing import Any

from nvflare.apis.fl_constant import ReservedTopic
from nvflare.app_common.job_launcher.client_process_launcher import ClientProcessJobLauncher
from nvflare.fuel.f3.cellnet.core_cell import CoreCell
from nvflare.fuel.f3.cellnet.defs import MessageHeaderKey, ReturnCode
from nvflare.fuel.f3.cellnet.fqcn import FQCN
from nvflare.fuel.f3.cellnet.utils import make_reply
from nvflare.fuel.f3.message import Message
from nvflare.fuel.f3.streaming.stream_const import (
    STREAM_ACK_TOPIC,
    STREAM_CHANNEL,
    STREAM_DATA_TOPIC,
    STREAM_ERROR_TOPIC,
    StreamHeaderKey,
)
from nvflare.private.admin_defs import Message as AdministrativeMessage
from nvflare.private.admin_defs import error_reply
from nvflare.private.defs import CellChannel, RequestHeader, TrainingTopic, new_cell_message
from nvflare.private.fed.client.admin import FedAdminAgent
from nvflare.private.fed.client.client_req_processors import ClientRequestProcessors
from nvflare.private.fed.client.scheduler_cmds import (
    CancelResourceProcessor,
    CheckResourceProcessor,
    StartJobProcessor,
)
from nvflare.private.fed.client.training_cmds import (
    AbortAppProcessor,
    ClientStatusProcessor,
    DeployProcessor,
    NotifyJobStatusProcessor,
)

from notears_pfl.errors import PflError
from notears_pfl.federated.ledger import Ledger
from notears_pfl.federated.run_records import LEDGER
from notears_pfl.federated.site_rules import read_rules

logger = logging.getLogger(__name__)

# The fit's bundles of requests, which the centre signs (``seal``).
CHANNEL, TOPIC = "notears_pfl", "bundle"
# Variable with the path of the site's file; {site} stands for the name in its certificate.
SITE_FILE = "NOTEARS_PFL_SITE_FILE"
MODULES = {
    "client": "nvflare.private.fed.app.client.client_train",
    "job": "nvflare.private.fed.app.client.worker_process",
}
# Requests that start, follow and end a fit's job.
PROCESSORS = (
    CheckResourceProcessor,
    CancelResourceProcessor,
    DeployProcessor,
    StartJobProcessor,
    ClientStatusProcessor,
    AbortAppProcessor,
    NotifyJobStatusProcessor,
)
ANY = "*"
# Channels and topics that the centre may use; administrative requests are checked again below.
FROM_CENTRE = {
    (CHANNEL, TOPIC),
    (CellChannel.CLIENT_MAIN, ANY),
    (CellChannel.AUX_COMMUNICATION, ReservedTopic.END_RUN),
    (CellChannel.RETURN_ONLY, ANY),
    (STREAM_CHANNEL, STREAM_ACK_TOPIC),
    (STREAM_CHANNEL, STREAM_ERROR_TOPIC),
}
# Number of refusals recorded one by one.
RECORDED_SINGLY = 1000
# Marks a message that arrived over one of the site's own loopback connections.
INSIDE = "notears_pfl_inside"
# Job names are used as folder names, so their form is checked.
JOB = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

# Records a refusal: who asked, in which run, for what, and the size in bytes.
Record = Callable[[str, str, str, int], None]


def is_allowed(here: str, is_inside: bool, message: Message) -> bool:
    """Whether the cell ``here`` may accept a request.

    Anyone who is connected can claim any name and any origin. A message is ``inside`` if it arrived
    over the site's own loopback connections. The site's own processes are trusted only inside;
    from outside, only the centre may send requests.
    """
    asker = FQCN.split(str(message.get_header(MessageHeaderKey.ORIGIN, "")))[0]
    if is_inside and asker == FQCN.split(here)[0]:
        return True
    return asker == FQCN.ROOT_SERVER and _is_fit_request(message)


def _is_fit_request(message: Message) -> bool:
    channel, topic = _asked_for(message)
    return not {(channel, topic), (channel, ANY)}.isdisjoint(FROM_CENTRE)


def is_job_request(message: Message) -> bool:
    """Whether an administrative request concerns a job and comes from the right sender.

    Only the centre may start, follow and end jobs; only the site's own process may report a job's
    status.
    """
    asked = message.payload
    if not isinstance(asked, AdministrativeMessage):
        return False
    job = asked.get_header(RequestHeader.JOB_ID)
    asker = FQCN.split(message.get_header(MessageHeaderKey.ORIGIN))[0]
    is_centre = asker == FQCN.ROOT_SERVER
    is_own_business = asked.topic == TrainingTopic.NOTIFY_JOB_STATUS
    return is_centre != is_own_business and (job is None or bool(JOB.fullmatch(str(job))))


def _asked_for(message: Message) -> tuple[str, str]:
    """Channel and topic of a request; for a stream, those of the message that it carries."""
    names = (MessageHeaderKey.CHANNEL, MessageHeaderKey.TOPIC)
    channel, topic = (str(message.get_header(name, "")) for name in names)
    if (channel, topic) == (STREAM_CHANNEL, STREAM_DATA_TOPIC):
        names = (StreamHeaderKey.CHANNEL, StreamHeaderKey.TOPIC)
        channel, topic = (str(message.get_header(name, "")) for name in names)
    return channel, topic


def close_gate(record: Record) -> None:
    """Put the gate in front of every cell that this process starts from now on."""
    kept = [p for p in ClientRequestProcessors.request_processors if isinstance(p, PROCESSORS)]
    ClientRequestProcessors.request_processors = kept
    start, receive = CoreCell.start, CoreCell._process_received_msg
    dispatch, client_command = FedAdminAgent._dispatch_request, ClientProcessJobLauncher.get_command

    def guarded_start(cell: Any) -> None:
        def refuse(message: Message) -> Message | None:
            if is_allowed(cell.get_fqcn(), message.get_prop(INSIDE), message):
                return None
            _refuse(record, message, "/".join(_asked_for(message)))
            return make_reply(ReturnCode.UNAUTHENTICATED, error="refused")

        # NVFLARE drops a request if the interceptor returns a reply or raises an exception.
        cell.set_message_interceptor(refuse)
        # A message may name an address to connect to, possibly one inside the hospital's network.
        cell._add_adhoc_connector = lambda to_cell, url: None
        start(cell)

    def marked_receive(cell: Any, endpoint: Any, connection: Any, message: Message) -> None:
        own = [c.handle for c in (cell.int_listener, cell.bb_int_connector) if c]
        message.set_prop(INSIDE, connection is None or connection.connector.handle in own)
        receive(cell, endpoint, connection, message)

    def guarded_dispatch(agent: Any, request: Message) -> Message:
        if is_job_request(request) and request.payload.topic in agent.processors:
            return dispatch(agent, request)
        _refuse(record, request, str(getattr(request.payload, "topic", "unreadable")))
        return new_cell_message({}, error_reply("refused"))

    def job_command(launcher: Any, job_meta: dict[str, Any], fl_ctx: Any) -> str:
        """Start the job's process behind the gate as well."""
        command = client_command(launcher, job_meta, fl_ctx)
        gated = command.replace(f"-m {MODULES['job']} ", f"-m {__spec__.name} job ", 1)
        assert gated != command, f"NVFLARE starts its jobs differently: {command}"
        return gated

    CoreCell.start, CoreCell._process_received_msg = guarded_start, marked_receive
    FedAdminAgent._dispatch_request = guarded_dispatch
    ClientProcessJobLauncher.get_command = job_command


def _refuse(record: Record, message: Message, what: str) -> None:
    asker = str(message.get_header(MessageHeaderKey.ORIGIN, ""))
    _, *below = FQCN.split(str(message.get_header(MessageHeaderKey.DESTINATION, "")))
    run = below[0] if below and JOB.fullmatch(below[0]) else ""
    size = message.get_header(MessageHeaderKey.PAYLOAD_LEN)
    record(asker, run, what, size if type(size) is int else 0)


class Refusals:
    """Records refusals in the site's ledger; a request is refused even if recording fails.

    After ``RECORDED_SINGLY`` refusals, only every doubling of their number is recorded and logged,
    so that a flood of requests cannot fill the site's disk.
    """

    def __init__(self) -> None:
        self._lock, self._count = threading.Lock(), 0

    def __call__(self, asker: str, run: str, what: str, size: int) -> None:
        """Record that ``asker`` was refused ``what``."""
        with self._lock:
            self._count += 1
            n = self._count
            if n > RECORDED_SINGLY and n & (n - 1):
                return
            logger.warning("refused %r to %r (%d refused so far)", what[:80], asker[:80], n)
            try:
                rules = read_rules(os.environ[SITE_FILE])
                ledger = Ledger(rules.records / LEDGER, run)
                ledger.refuse(asker, what, size, f" ({n} so far)" if n > RECORDED_SINGLY else "")
                ledger.close()
            except PflError:
                logger.exception("could not record a refusal")


if __name__ == "__main__":
    role = sys.argv.pop(1)
    close_gate(Refusals())
    runpy.run_module(MODULES[role], run_name="__main__", alter_sys=True)
