"""Faults in a federation: a centre and three hospitals as processes, with mutual TLS on loopback.

The three hospitals keep running for the whole file, as they would; each test starts its own centre.
"""

import os
import signal
import time

import numpy as np
import psutil

from notears_pfl.federated.engine import site_command

SITES = ("S0", "S1", "S2")
QUICK = {"lambda1": 0.0, "lambda2": 0.3, "kappa": 1.0}
# A tampered site, which sends NaN weights.
TAMPERED = """
import numpy as np
from notears_pfl.federated import border
from notears_pfl.federated.messages import Message, decode, encode

handle = border.Border.handle

def poisoned(self, data):
    messages = [message for message, _ in decode(handle(self, data))]
    for last in messages[-1:]:
        if isinstance(last.values[0], tuple):
            W, loss = last.values[0]
            messages[-1] = Message(last.kind, last.round, last.basis, ((W * np.nan, loss),))
    return b"".join(map(encode, messages))

border.Border.handle = poisoned
"""


def wait_for_text(path, text):
    deadline = time.monotonic() + 120
    while not path.exists() or text not in path.read_text():
        assert time.monotonic() < deadline, f"{text!r} never appeared in {path}"
        time.sleep(0.2)


def test_a_dropout_and_intruders_change_nothing(hospitals):
    root = hospitals.root
    foreign = root / "foreign_kits/sites/S2"
    with hospitals.centre("dropout", hospitals.write_federation()) as centre:
        hospitals.wait_for_rounds("dropout", 40)
        listening = [
            connection.laddr.ip
            for member in hospitals.family("centre")
            for connection in member.net_connections("tcp")
            if connection.status == psutil.CONN_LISTEN
        ]
        hospitals.kill("S2")
        # One intruder has the right name but a certificate from another authority; the other has
        # a certificate from this authority, but of another site.
        hospitals.start_site("intruder", foreign)
        hospitals.start("impostor", site_command(root / "stolen", "S2"))
        wait_for_text(foreign / "site.log", "CERTIFICATE_VERIFY_FAILED")
        wait_for_text(root / "dropout/state/server.log", "authenticated as 'S1' but claimed")
        hospitals.stop("intruder")
        hospitals.stop("impostor")
        hospitals.start_site("S2")
        assert centre.wait(300) == 0, hospitals.said("centre")

    assert {ip.removeprefix("::ffff:") for ip in listening} <= {"127.0.0.1", "::1"}
    assert "no answer from S2" in hospitals.said("centre")
    found, expected = hospitals.networks("dropout"), hospitals.on_one_machine()
    assert np.count_nonzero(expected) > 10
    assert found.tobytes() == expected.tobytes()


def test_sites_do_not_answer_a_centre_of_another_authority(hospitals):
    before = {site: hospitals.runs(site) for site in SITES}
    with hospitals.centre("rogue", hospitals.write_federation(), "foreign_kits"):
        for site in SITES:
            log = hospitals.root / "kits/sites" / site / "site.log"
            wait_for_text(log, "CERTIFICATE_VERIFY_FAILED")

    assert {site: hospitals.runs(site) for site in SITES} == before


def test_a_killed_centre_resumes_from_its_state(hospitals):
    federation = hospitals.write_federation()
    before = hospitals.runs("S0")
    with hospitals.centre("killed", federation):
        hospitals.wait_for_rounds("killed", 60)  # round trips, some of them preparations
        hospitals.kill("centre")
    n_saved = hospitals.steps("S0", but=before)
    with hospitals.centre("killed", federation) as centre:
        assert centre.wait(300) == 0, hospitals.said("centre")

    assert hospitals.networks("killed").tobytes() == hospitals.on_one_machine().tobytes()
    # Answered requests are not repeated after the kill, except for the interrupted round.
    assert n_saved >= 40
    assert hospitals.steps("S0", but=before) - hospitals.steps_of_a_fit() in (0, 1)


def test_ledgers_add_up_to_what_the_centre_counted(hospitals):
    runs = {site: hospitals.runs(site) for site in SITES}
    with hospitals.centre("ledger", hospitals.write_federation(estimator=QUICK)) as centre:
        assert centre.wait(300) == 0, hospitals.said("centre")

    report = hospitals.report("ledger")
    for site in SITES:
        ledger = hospitals.ledger(site)
        total = ledger[~ledger["run"].isin(runs[site])].groupby("direction")["bytes"].sum()
        assert total["in"] == report["BytesToSites"][site]
        assert total["out"] == report["BytesFromSites"][site]
        statement = (hospitals.root / site / "records/statement.md").read_text()
        assert "The exact covariance matrix of the regions" in statement
    expected = hospitals.on_one_machine(**QUICK)
    assert hospitals.networks("ledger").tobytes() == expected.tobytes()


def test_a_site_that_never_answers_is_left_out_if_so_agreed(hospitals):
    agreed = {"without": "continue", "patience_s": 45}
    with hospitals.centre("without", hospitals.write_federation(**agreed)) as centre:
        hospitals.wait_for_rounds("without", 20)
        hospitals.signal("S2", signal.SIGSTOP)
        try:
            assert centre.wait(300) == 0, hospitals.said("centre")
        finally:
            hospitals.kill("S2")

    assert hospitals.report("without")["SitesLeftOut"] == ["S2"]
    expected = hospitals.on_one_machine(SITES[:2])
    assert hospitals.networks("without", SITES[:2]).tobytes() == expected.tobytes()


def test_a_poisoned_answer_ends_the_fit_and_names_the_site(hospitals):
    """S2 is away at first, so the centre stops. Then S2 returns, but has been tampered with."""
    hospitals.kill("S2")
    federation = hospitals.write_federation(estimator=QUICK, patience_s=2)
    with hospitals.centre("poisoned", federation) as centre:
        assert centre.wait(300) == 1
    assert "S2 did not answer for 2 s. The state is saved" in hospitals.said("centre")

    folder = hospitals.root / "tampered"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(TAMPERED)
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    hospitals.start_site("S2", PYTHONPATH=path)
    with hospitals.centre("poisoned", hospitals.write_federation(estimator=QUICK)) as centre:
        assert centre.wait(300) == 1
    hospitals.kill("S2")

    said = "site S2: answer to 'step': W must be finite; found NaN or infinite values."
    assert said in hospitals.said("centre")
    assert not list((hospitals.root / "poisoned").glob("*_relmat.tsv"))
