"""The gate in front of NVFLARE: who may request what, and the NVFLARE parts it relies upon."""

import hashlib
import inspect

import pytest
from nvflare.app_common.job_launcher.client_process_launcher import ClientProcessJobLauncher
from nvflare.fuel.f3.cellnet.cell import Adapter
from nvflare.fuel.f3.cellnet.core_cell import CoreCell
from nvflare.fuel.f3.cellnet.defs import MessageHeaderKey
from nvflare.fuel.f3.message import Message
from nvflare.fuel.f3.sfm.conn_manager import ConnManager
from nvflare.fuel.f3.streaming.byte_receiver import ByteReceiver
from nvflare.fuel.f3.streaming.stream_const import StreamHeaderKey
from nvflare.private.admin_defs import Message as Administrative
from nvflare.private.fed.app.client import client_train, worker_process
from nvflare.private.fed.client.admin import FedAdminAgent
from nvflare.private.fed.client.client_req_processors import ClientRequestProcessors
from nvflare.utils.job_launcher_utils import generate_client_command

from notears_pfl.federated import gate
from notears_pfl.federated.ledger import read_ledger
from notears_pfl.federated.run_records import LEDGER

JOB = "0a761c9c-f44c-404c-9f3d-5ef4d37f8779"
# NVFLARE's code for receiving, dispatching and starting, as it was when the gate was written. If
# one of these has changed, read it and ``gate.py`` again, run
# tests/workflow/federated/test_federated_attacks.py, and only then enter the new digest.
RELIED_UPON = [
    (CoreCell.start, "627d734bdda7"),
    (CoreCell.set_message_interceptor, "29d3a1704571"),
    (CoreCell._process_received_msg, "04cc7fbf2641"),
    (CoreCell._process_request, "9fd9dacabcf6"),
    (CoreCell._add_adhoc_connector, "c4224c8a179e"),
    (CoreCell._try_cb, "8e62d8dd26d9"),
    (Adapter.call, "6f7f93e4dbf9"),
    (ByteReceiver._data_handler, "cfa9781542a0"),
    (ConnManager.update_endpoint, "a52c5747b52f"),
    (FedAdminAgent, "24b700d69a24"),
    (ClientRequestProcessors, "13ed003d856b"),
    (ClientProcessJobLauncher, "6495955692cf"),
    (generate_client_command, "e5c5d90bb72a"),
    (client_train, "c7dd013e70e5"),
    (worker_process, "2555f5b3c722"),
]


def asked(origin, channel, topic, carried=None):
    """Build a request as a cell receives it, or a stream that carries one."""
    names = {MessageHeaderKey.CHANNEL: channel, MessageHeaderKey.TOPIC: topic}
    if carried:
        names |= dict(zip((StreamHeaderKey.CHANNEL, StreamHeaderKey.TOPIC), carried, strict=True))
    return Message({MessageHeaderKey.ORIGIN: origin, **names})


@pytest.mark.parametrize(("part", "digest"), RELIED_UPON, ids=lambda p: getattr(p, "__name__", ""))
def test_nvflare_is_what_the_gate_was_written_for(part, digest):
    found = hashlib.sha256(inspect.getsource(part).encode()).hexdigest()[:12]

    assert found == digest, f"{part} has changed: see the comment on RELIED_UPON"


@pytest.mark.parametrize(("channel", "topic", "carried"), [
    ("notears_pfl", "bundle", None),
    ("admin", "admin", None),
    ("aux_communication", "__end_run__", None),
    ("sm__STREAM", "sm__ACK", None),
    ("sm__STREAM", "sm__DATA", ("return_only", "task:get_task")),
    ("sm__STREAM", "sm__DATA", ("aux_communication", "__end_run__")),
])  # fmt: skip
def test_requests_that_a_fit_needs_pass_only_from_the_centre(channel, topic, carried):
    def is_allowed(origin, is_inside):
        return gate.is_allowed(f"S0.{JOB}", is_inside, asked(origin, channel, topic, carried))

    assert is_allowed(f"server.{JOB}", is_inside=False)
    assert is_allowed("server", is_inside=True)  # passed on by the site's own parent process
    assert not is_allowed("S1", is_inside=False)
    assert not is_allowed(f"S0.{JOB}", is_inside=False)
    assert not is_allowed("_admin_x", is_inside=False)
    assert not is_allowed("", is_inside=True)


@pytest.mark.parametrize(("channel", "topic", "carried"), [
    ("_net_manager", "stop", None),
    ("_net_manager", "change_root", None),
    ("cellnet.channel", "bulk", None),
    ("client_command", "abort", None),
    ("aux_communication", "__do_task__", None),
    ("sm__STREAM", "sm__DATA", ("aux_communication", "__do_task__")),
    ("sm__STREAM", "sm__DATA", None),
    ("sm__STREAM", "*", None),
    ("notears_pfl", "*", None),
    ("*", "*", None),
])  # fmt: skip
def test_all_other_requests_pass_only_from_the_sites_own_processes(channel, topic, carried):
    request = asked("server", channel, topic, carried)
    own = asked(f"S0.{JOB}", channel, topic, carried)

    assert not gate.is_allowed("S0", False, request)
    assert not gate.is_allowed("S0", True, request)
    assert gate.is_allowed("S0", True, own)


@pytest.mark.parametrize(("origin", "topic", "job", "expected"), [
    ("server", "train.deploy", JOB, True),
    ("server", "train.check_status", None, True),
    ("server", "train.deploy", "../../escaped", False),
    ("server", "train.deploy", f"{JOB}/..", False),
    ("server", "train.notify_job_status", JOB, False),
    (f"S0.{JOB}", "train.notify_job_status", JOB, True),
    (f"S0.{JOB}", "train.deploy", JOB, False),
])  # fmt: skip
def test_only_the_centre_runs_jobs_and_only_the_site_reports_their_status(
    origin, topic, job, expected
):
    request = asked(origin, "admin", "admin")
    request.payload = Administrative(topic, "")
    if job:
        request.payload.set_header("job_id", job)

    assert gate.is_job_request(request) is expected


def test_a_malformed_administrative_request_is_refused():
    request = asked("server", "admin", "admin")
    request.payload = {"topic": "sys.shell"}

    assert not gate.is_job_request(request)


@pytest.fixture
def refusals(tmp_path, monkeypatch, rules):
    monkeypatch.setattr(gate, "read_rules", lambda path: rules)
    monkeypatch.setenv(gate.SITE_FILE, "site.yaml")
    return gate.Refusals()


def test_a_refusal_is_recorded_in_plain_characters(refusals, tmp_path):
    refusals("S1\n\tx", JOB, "sys.shell\x1b[2J" + 500 * "a", 77)

    ledger = read_ledger(tmp_path / LEDGER)
    assert len(ledger) == 1
    (line,) = ledger.itertuples()
    assert line.kind.startswith("refused sys.shell??2J")
    assert line.kind.endswith(" from S1??x")
    assert len(line.kind) < 150
    assert (line.run, line.bytes, line.direction) == (JOB, 77, "in")


def test_a_flood_of_requests_does_not_fill_the_disk(refusals, tmp_path, monkeypatch):
    monkeypatch.setattr(gate, "RECORDED_SINGLY", 10)

    for _ in range(1100):
        refusals("server", "", "sys.shell", 5)

    kinds = read_ledger(tmp_path / LEDGER)["kind"]
    assert len(kinds) == 10 + 7
    assert kinds.iloc[-1] == "refused sys.shell from server (1024 so far)"
