"""How long a centre waits for its sites."""

import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from notears_pfl.errors import FederatedError
from notears_pfl.federated import centre
from notears_pfl.federated.simulated_federation import simulated_federation


class Session:
    """A server to which all sites stay connected, except those away."""

    def __init__(self, sites, away=()):
        self._sites = [site for site in sites if site not in away]

    def get_system_info(self):
        """Report when each site last connected."""
        heard = [SimpleNamespace(name=s, last_connect_time=time.time() + 1) for s in self._sites]
        return SimpleNamespace(client_info=heard)


@pytest.fixture
def agreed(monkeypatch):
    monkeypatch.setattr(centre, "POLL_S", 0.01)
    agreed = simulated_federation(["A", "B", "C"], ["G"], ["R0", "R1"], "subject", {})
    return replace(agreed, answer_s=0.05, patience_s=0.3)


@pytest.fixture
def jobs(monkeypatch, tmp_path):
    """Run fits in which some sites never answer; return the sites of every fit."""
    run = []

    def fits(never=(), progress=lambda n: 0):
        def run_job(session, federation, sites, out):
            run.append(list(sites))
            (out / "state/group-G.journal").write_bytes(b"x" * progress(len(run)))
            time.sleep(federation.answer_s)
            named = [site for site in sites if site in never]
            state = "silent" if named else "finished"
            return {"state": state, "message": f"no answer from {named}.", "sites": named}

        monkeypatch.setattr(centre, "_run_job", run_job)
        (tmp_path / "state").mkdir()
        return run

    return fits


def test_the_centre_gives_up_on_a_connected_site_that_never_answers(agreed, jobs, tmp_path):
    run = jobs(never="B")

    with pytest.raises(FederatedError, match=r"B did not answer for 0\.3 s\. The state is saved"):
        centre._fit_until_done(Session("ABC"), agreed, tmp_path)

    assert 2 <= len(run) <= 10


def test_the_centre_continues_without_a_silent_site_if_so_agreed(agreed, jobs, tmp_path):
    run = jobs(never="B")

    centre._fit_until_done(Session("ABC"), replace(agreed, without="continue"), tmp_path)

    assert run[0] == ["A", "B", "C"]
    assert run[-1] == ["A", "C"]


def test_progress_of_the_fit_restarts_the_waiting_time(agreed, jobs, tmp_path):
    run = jobs(never="B", progress=lambda n: min(n, 12))

    with pytest.raises(FederatedError, match="B did not answer"):
        centre._fit_until_done(Session("ABC"), agreed, tmp_path)

    assert len(run) > 12


def test_time_spent_waiting_for_one_site_does_not_count_for_the_next(agreed, jobs, tmp_path):
    run = jobs(never="BC")
    agreed = replace(agreed, without="continue", minimum_sites=1, sites=("A", "B", "C"))

    centre._fit_until_done(Session("ABC", away="B"), agreed, tmp_path)

    assert run[-1] == ["A"]
    assert run.count(["A", "C"]) >= 2


def test_the_centre_gives_up_on_a_site_that_is_away(agreed, jobs, tmp_path):
    run = jobs()

    with pytest.raises(FederatedError, match=r"A, C did not answer for 0\.3 s"):
        centre._fit_until_done(Session("ABC", away="AC"), agreed, tmp_path)

    assert run == []
