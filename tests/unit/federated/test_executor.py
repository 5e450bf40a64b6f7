"""Whom a site's process answers."""

import pytest
from nvflare.fuel.f3.cellnet.defs import MessageHeaderKey, ReturnCode
from nvflare.fuel.f3.message import Message as CellMessage

from notears_pfl.federated.executor import SiteExecutor, bundle_of
from notears_pfl.federated.ledger import read_ledger
from notears_pfl.federated.messages import Message, decode, encode


@pytest.fixture
def executor(hospitals):
    executor = SiteExecutor()
    executor._centres, executor._border = {"server.run-1", "server"}, hospitals.borders["S0"]
    return executor


def asked(origin, payload):
    return CellMessage({MessageHeaderKey.ORIGIN: origin}, payload)


def code(reply):
    return reply.get_header(MessageHeaderKey.RETURN_CODE)


def test_the_centre_of_this_run_is_answered(executor, hospitals):
    plan = encode(Message("plan", 0, 1, (hospitals.plan,)))

    reply = executor._answer(asked("server.run-1", memoryview(plan)))

    ((answer, _),) = decode(bundle_of(reply))
    assert code(reply) == ReturnCode.OK
    assert answer.kind == "answer"


@pytest.mark.parametrize("origin", ["S1.run-1", "server.run-0", None])
def test_nobody_else_is_answered(executor, hospitals, origin):
    plan = encode(Message("plan", 0, 1, (hospitals.plan,)))

    reply = executor._answer(asked(origin, plan))

    assert code(reply) == ReturnCode.UNAUTHENTICATED
    assert reply.payload is None
    assert read_ledger(hospitals.folder / "S0.tsv").empty


@pytest.mark.parametrize("payload", [b"", None, {"bundle": b"x"}])
def test_a_message_that_asks_nothing_gets_an_empty_answer(executor, payload):
    reply = executor._answer(asked("server.run-1", payload))

    assert (code(reply), bundle_of(reply)) == (ReturnCode.OK, b"")
