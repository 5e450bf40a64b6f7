"""A hostile centre and a hostile hospital, each with its own valid kit, over mutual TLS."""

import json
import os
import shutil
import sys
import time
from pathlib import Path

import pytest

from notears_pfl.federated.engine import SITE_FILE, site_command

PLAIN_CLIENT = ["-m", "nvflare.private.fed.app.client.client_train"]
ADMINISTRATIVE = ("admin", "admin")


def orders_of(attacker, hospitals, job):
    """List an attacker's requests to S0: read its files and state, stop it, redirect it."""
    subjects = hospitals.root / "S0/results/cohort/participants.tsv"
    key = hospitals.root / "kits/sites/S0/startup/client.key"
    shell = [f"cat {subjects}", f"head {key}", f"ls {hospitals.root}/S0", "pwd",
             f"grep -r sub {hospitals.root}/S0", f"tail {hospitals.root}/S0.out"]  # fmt: skip
    administrative = [
        *({"admin": "sys.shell", "body": command} for command in shell),
        {"admin": "sys.info"},
        {"admin": "sys.report_env"},
        {"admin": "sys.configure_site_log", "body": "DEBUG"},
        {"admin": "train.configure_job_log", "body": "DEBUG", "headers": {"job_id": job}},
        {"admin": "train.delete_run", "headers": {"job_id": job}},
        {"admin": "train.delete_run", "headers": {"job_id": "../../S0"}},
        {"admin": "train.deploy", "headers": {"job_id": "../../../escaped", "job_meta": {"a": 1}}},
        {"admin": "train.abort_task", "headers": {"job_id": job}},
        {"admin": "train.get_scopes"},
        {"admin": "train.restart"},
        {"admin": "train.shutdown"},
    ]
    orders = [{"target": "S0", "channel": "admin", "topic": "admin", **a} for a in administrative]
    # The same inside a bulk message, which NVFLARE unpacks after its own checks.
    orders += [{**order, "bulk": True} for order in (orders[0], orders[-1])]
    for channel, topic in [
        ("_net_manager", "config_vars"), ("_net_manager", "process_info"),
        ("_net_manager", "stop"), ("_net_manager", "stop_cell"), ("_net_manager", "change_root"),
        ("aux_communication", "__stop_cellnet__"), ("server_command", "get_task"),
    ]:  # fmt: skip
        orders.append({"target": "S0", "channel": channel, "topic": topic})
    for channel, topic in [
        ("client_command", "abort"), ("client_command", "configure_job_log"),
        ("client_command", "show_errors"), ("aux_communication", "__do_task__"),
        ("_net_manager", "stop_cell"), ("cellnet.channel", "bye"),
    ]:  # fmt: skip
        orders.append({"target": f"S0.{job}", "channel": channel, "topic": topic})
    shutdown = {"target": "S0", "channel": "admin", "topic": "admin", "admin": "train.shutdown"}
    # Posing as one of S0's own processes, or as the centre.
    orders.append({**shutdown, "origin": f"S0.{job}"})
    if attacker != "server":
        abort = {"admin": "train.abort", "headers": {"job_id": job}}
        orders.append({**shutdown, **abort, "origin": "server", "through": "server"})
    return orders


def send(orders, folder):
    """Have an attacker carry out its orders; return its report."""
    folder.mkdir()
    temporary = folder / "orders.writing"
    temporary.write_text(json.dumps(orders))
    temporary.replace(folder / "orders.json")
    report, deadline = folder / "orders.answers", time.monotonic() + 120
    while not report.exists():
        assert time.monotonic() < deadline, "the attacker never reported"
        time.sleep(0.1)
    return json.loads(report.read_text())


@pytest.fixture
def hostile(tmp_path):
    """Environment of a process that attacks as a named cell."""
    shutil.copy(Path(__file__).parent / "hostile.py", tmp_path / "sitecustomize.py")

    def variables(cell):
        return {
            "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]),
            "HOSTILE_CELL": cell,
            "HOSTILE_ORDERS": str(tmp_path / cell / "orders.json"),
        }

    return variables


def test_a_hostile_centre_and_a_hostile_hospital_get_nothing(hospitals, hostile, tmp_path):
    root = hospitals.root
    earlier = hospitals.runs("S0")
    # The hostile hospital runs unmodified NVFLARE, without our gate.
    hospitals.stop("S1")
    gated = site_command(root / "kits/sites/S1", "S1")
    plain = [sys.executable, "-u", *PLAIN_CLIENT, *gated[gated.index("-s") - 2 :]]
    site_file = {SITE_FILE: str(root / "S1/site.yaml")}
    hospitals.start("S1", plain, **site_file, **hostile("S1"))
    try:
        federation = hospitals.write_federation()
        with hospitals.centre("attacked", federation, **hostile("server")) as centre:
            hospitals.wait_for_rounds("attacked", 40)
            (job,) = hospitals.runs("S0") - earlier
            reports = {
                attacker: send(orders_of(attacker, hospitals, job), tmp_path / attacker)
                for attacker in ("server", "S1")
            }
            assert centre.wait(300) == 0, hospitals.said("centre")
    finally:
        hospitals.kill("S1")

    expected = hospitals.on_one_machine()
    assert hospitals.networks("attacked").tobytes() == expected.tobytes()
    refused = hospitals.ledger("S0").query("kind.str.startswith('refused ')")["kind"].tolist()
    statement = (root / "S0/records/statement.md").read_text()
    for attacker, report in reports.items():
        answered = [a for a in report if "code" in a]
        assert len(answered) > 25
        for answer in answered:
            assert "sub-S0" not in answer["body"], answer
            assert "PRIVATE KEY" not in answer["body"], answer
            assert answer["error"] == "refused" or answer["body"] == "refused", answer
        assert sum(f"from {attacker}" in kind for kind in refused) >= len(answered)
        for asked_for in ("sys.shell", "train.shutdown", "train.restart", "sys.configure_site_log"):
            if attacker == "server":
                assert f"refused {asked_for} from {attacker}" in refused
                assert f"{asked_for} from {attacker}" in statement
        assert f"from {attacker}" in statement
    assert not (root.parent / "escaped").exists()
    assert "S0" in hospitals.processes
    assert hospitals.processes["S0"].poll() is None
