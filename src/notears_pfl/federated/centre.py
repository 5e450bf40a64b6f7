"""Run the centre: start the server, fit the study, and wait for sites that are away."""

import contextlib
import io
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from nvflare.fuel.flare_api.api_spec import NoConnection
from nvflare.fuel.flare_api.flare_api import Session, new_secure_session

from notears_pfl.errors import FederatedError
from notears_pfl.federated.engine import running, server_command, write_job
from notears_pfl.federated.federated_study import Federation, read_status
from notears_pfl.federated.kits import certified_name, refuse_expired, set_server_paths

START_S = 120
POLL_S = 0.3
# How long to wait for the server of a killed centre to exit.
FREE_S = 10
# How long to wait for NVFLARE to end a job whose fit has finished.
END_S = 5
MAX_FAILURES = 3


def run_centre(kits: Path, federation: Federation, out: Path) -> None:
    """Serve the sites, fit the study with them and write the results to ``out``.

    If a site disconnects, or is connected but never answers, the centre waits for up to
    ``patience_s``. It then either stops and keeps its saved state or starts the fit again without
    that site, as agreed in the federation file. When restarted, it resumes from the saved state.
    """
    _refuse_other_centre(kits, federation)
    _check_expiry(kits)
    _refuse_taken_port(federation)
    out.mkdir(parents=True, exist_ok=True)
    log = out / "state/server.log"
    set_server_paths(kits / "server")
    with running(server_command(kits / "server"), {}, log) as server:
        session = _session(kits / "operator", federation, server, log)
        try:
            _fit_until_done(session, federation, out, partial(_check_expiry, kits))
        finally:
            session.close()


def _fit_until_done(
    session: Session, federation: Federation, out: Path, look: Callable[[], None] = lambda: None
) -> None:
    sites, since, progress, failures = list(federation.sites), 0.0, -1, 0
    # Sites that did not answer in the last fit, with the time at which each fell silent.
    silent: dict[str, float] = {}
    while True:
        look()
        late = _wait_for(session, sites, since, silent, federation.patience_s)
        if late:
            sites, since, silent = sites_left(federation, sites, late), 0.0, {}
            continue
        _say(f"fitting with {', '.join(sites)}")
        began = time.monotonic()
        status = _run_job(session, federation, sites, out)
        if status["state"] == "finished":
            return
        failures = failures + 1 if status["state"] == "not run" else 0
        if status["state"] == "failed" or failures == MAX_FAILURES:
            raise FederatedError(status["message"])
        _say(f"{status['message']} Waiting for them.")
        since = time.time()
        saved = sum(path.stat().st_size for path in (out / "state").glob("*.journal"))
        # Progress of the fit restarts the waiting time.
        if saved != progress:
            progress, silent = saved, {}
        if status["state"] == "silent":
            fell_silent = max(began, time.monotonic() - federation.answer_s)
            silent = {site: silent.get(site, fell_silent) for site in status["sites"]}


def sites_left(federation: Federation, sites: Sequence[str], absent: Sequence[str]) -> list[str]:
    """Sites to continue with when some are absent; raises an error if the centre must stop."""
    left, named = [site for site in sites if site not in absent], ", ".join(absent)
    if federation.without == "stop":
        msg = (
            f"{named} did not answer for {federation.patience_s:g} s. The state is saved; run the "
            "centre again to resume."
        )
        raise FederatedError(msg)
    if len(left) < federation.minimum_sites:
        msg = (
            f"{named} did not answer for {federation.patience_s:g} s. The number of sites left "
            f"({len(left)}) is below waiting.minimum_sites ({federation.minimum_sites}). Run the "
            "centre again later."
        )
        raise FederatedError(msg)
    _say(f"continuing without {named}; all groups are fitted again from the start")
    return left


def _wait_for(
    session: Session,
    sites: Sequence[str],
    since: float,
    silent: Mapping[str, float],
    patience_s: float,
) -> list[str]:
    """Wait until every site has connected after ``since``; return the sites to give up on.

    A site's process may stay connected although its fit never answers; ``silent`` holds the time
    since which each such site has been silent.
    """
    began = time.monotonic()
    while True:
        seen = {c.name: c.last_connect_time for c in session.get_system_info().client_info}
        absent = [site for site in sites if seen.get(site, -1.0) <= since]
        waiting = {**dict.fromkeys(absent, began), **silent}
        late = [site for site in waiting if time.monotonic() - waiting[site] > patience_s]
        if late or not absent:
            return late
        time.sleep(POLL_S)


def _run_job(
    session: Session, federation: Federation, sites: Sequence[str], out: Path
) -> dict[str, Any]:
    """Run one fit on NVFLARE until it ends; return its status."""
    (out / "state/status.json").unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        job = session.submit_job(str(write_job(Path(folder) / "job", federation, sites, out)))
    while (status := read_status(out)) is None:
        if _has_ended(session, job) and read_status(out) is None:
            # A site that disconnected since the last poll cannot be given the job.
            log = out / "state/server.log"
            return {"state": "not run", "message": f"NVFLARE could not run the fit; see {log}."}
        time.sleep(POLL_S)
    deadline = time.monotonic() + END_S
    while not _has_ended(session, job) and time.monotonic() < deadline:
        time.sleep(POLL_S)
    if not _has_ended(session, job):
        # NVFLARE waits longer than we do for a site that is gone.
        with contextlib.suppress(Exception):
            session.abort_job(job)
    return status


def _has_ended(session: Session, job: str) -> bool:
    return str(session.get_job_meta(job)["status"]).startswith("FINISHED")


def _session(
    kit: Path, federation: Federation, server: "subprocess.Popen[bytes]", log: Path
) -> Session:
    """Log in as the operator as soon as the server answers."""
    name = certified_name(kit, "client.crt")
    deadline = time.monotonic() + START_S
    while server.poll() is None and time.monotonic() < deadline:
        if _is_served(federation):
            with contextlib.suppress(NoConnection), contextlib.redirect_stdout(io.StringIO()):
                return new_secure_session(name, str(kit.resolve()))
        time.sleep(POLL_S)
    msg = f"the server did not start; see {log}."
    raise FederatedError(msg)


def _refuse_other_centre(kits: Path, federation: Federation) -> None:
    found = certified_name(kits / "server", "server.crt")
    if found != federation.host:
        msg = (
            f"{kits}: this kit belongs to the centre {found!r}, but the federation's centre is "
            f"{federation.host!r}. Use the right kit, or provision new ones."
        )
        raise FederatedError(msg)


def _check_expiry(kits: Path) -> None:
    """Stop if the centre's kits have expired, and warn beforehand; all kits expire together."""
    refuse_expired(kits / "operator", "client.crt")
    if warning := refuse_expired(kits / "server", "server.crt"):
        _say(warning)


def _refuse_taken_port(federation: Federation) -> None:
    deadline = time.monotonic() + FREE_S
    while _is_served(federation):
        if time.monotonic() > deadline:
            msg = (
                f"{federation.host}:{federation.port}: another program already uses this port, "
                "perhaps a centre that is still running. Stop it, or change centre.port and "
                "provision new kits."
            )
            raise FederatedError(msg)
        time.sleep(POLL_S)


def _is_served(federation: Federation) -> bool:
    with contextlib.suppress(OSError):
        socket.create_connection((federation.host, federation.port), timeout=1).close()
        return True
    return False


def _say(message: str) -> None:
    print(f"Centre: {message}", flush=True)
