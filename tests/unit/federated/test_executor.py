"""A site's process answers only its centre."""

from functools import partial
from types import SimpleNamespace

import pytest
from nvflare.apis.fl_constant import ReservedKey
from nvflare.apis.fl_context import FLContext
from nvflare.fuel.f3.cellnet.defs import MessageHeaderKey, ReturnCode
from nvflare.fuel.f3.message import Message as CellMessage

from notears_pfl.federated.executor import SEAL, SITE_FILE, SiteExecutor, bundle_of
from notears_pfl.federated.ledger import read_ledger
from notears_pfl.federated.messages import Message, decode, encode
from notears_pfl.federated.seal import AUTHORITY


@pytest.fixture
def executor(hospitals):
    executor = SiteExecutor()
    executor._checker = None
    executor._centre, executor._handle = "server.run-1", hospitals.borders["S0"].handle
    return executor


def asked(origin, payload, seal=None):
    return CellMessage({MessageHeaderKey.ORIGIN: origin, SEAL: seal}, payload)


def code(reply):
    return reply.get_header(MessageHeaderKey.RETURN_CODE)


def test_the_centre_of_this_run_is_answered(executor, hospitals):
    plan = encode(Message("plan", 0, 1, (hospitals.plan,)))

    reply = executor._answer(asked("server.run-1", memoryview(plan)))

    ((answer, _),) = decode(bundle_of(reply))
    assert code(reply) == ReturnCode.OK
    assert answer.kind == "answer"


@pytest.mark.parametrize("origin", ["S1.run-1", "server.run-0", "server", None])
def test_nobody_else_is_answered(executor, hospitals, origin):
    plan = encode(Message("plan", 0, 1, (hospitals.plan,)))

    reply = executor._answer(asked(origin, plan))

    assert code(reply) == ReturnCode.UNAUTHENTICATED
    assert reply.payload is None
    assert read_ledger(hospitals.folder / "S0.tsv").empty


def test_an_impostor_of_the_centre_is_not_answered(executor, hospitals):
    plan = encode(Message("plan", 0, 1, (hospitals.plan,)))
    executor._checker = SimpleNamespace(accepts=lambda seal, bundle: (seal, bundle) == ("S", plan))

    forged = executor._answer(asked("server.run-1", plan, "T"))
    genuine = executor._answer(asked("server.run-1", plan, "S"))

    assert [code(forged), code(genuine)] == [ReturnCode.UNAUTHENTICATED, ReturnCode.OK]
    assert len(read_ledger(hospitals.folder / "S0.tsv")) == 2


@pytest.mark.parametrize("payload", [b"", None, {"bundle": b"x"}])
def test_a_message_without_a_request_gets_an_empty_answer(executor, payload):
    reply = executor._answer(asked("server.run-1", payload))

    assert (code(reply), bundle_of(reply)) == (ReturnCode.OK, b"")


def start(tmp_path, monkeypatch, has_kit):
    """Start a site's executor on a fake NVFLARE; return its answering and ending functions."""
    monkeypatch.setenv(SITE_FILE, str(tmp_path / "{site}.yaml"))
    registered = {}
    cell = SimpleNamespace(register_request_cb=lambda *where: registered.update(answer=where[-1]))
    if has_kit:
        (tmp_path / AUTHORITY).touch()
    workspace = SimpleNamespace(get_file_path_in_startup=lambda name: tmp_path / name)
    engine = SimpleNamespace(get_cell=lambda: cell, get_workspace=lambda: workspace)
    context = FLContext()
    known = {ReservedKey.ENGINE: engine, ReservedKey.IDENTITY_NAME: "S0"}
    for key, value in {**known, ReservedKey.RUN_NUM: "run-1"}.items():
        context.set_prop(key, value, private=True, sticky=False)
    executor = SiteExecutor()
    executor._start("", context)
    return registered["answer"], partial(executor._end, "", context)


@pytest.mark.parametrize(("has_kit", "origin"), [(True, "server.run-1"), (False, "server")])
@pytest.mark.parametrize("content", [b"centre: [", None], ids=["unreadable", "missing"])
def test_a_site_that_cannot_start_tells_the_centre(tmp_path, monkeypatch, content, has_kit, origin):
    """NVFLARE swallows exceptions at the start; silence would keep the centre waiting."""
    if content is not None:
        (tmp_path / "S0.yaml").write_bytes(content)

    answer_to, end = start(tmp_path, monkeypatch, has_kit)
    reply = answer_to(asked(origin, b""))
    end()

    ((answer, _),) = decode(bundle_of(reply))
    assert answer.kind == "refusal"
    assert answer.values == ("the site cannot start; see the site's log.",)


@pytest.mark.parametrize(
    ("has_kit", "origin"), [(True, "server"), (False, "server.run-1"), (False, "S1")]
)
def test_without_a_kit_only_the_simulators_server_is_answered(
    tmp_path, monkeypatch, has_kit, origin
):
    answer_to, _ = start(tmp_path, monkeypatch, has_kit)

    assert code(answer_to(asked(origin, b""))) == ReturnCode.UNAUTHENTICATED
