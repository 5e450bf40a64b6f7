"""Run NVFLARE: at a site, at the centre, or as a simulation of both on one machine."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import FrameType

import psutil

from notears_pfl.errors import FederatedError
from notears_pfl.federated import gate
from notears_pfl.federated.federated_study import Federation, read_status
from notears_pfl.federated.gate import SITE_FILE
from notears_pfl.federated.kits import (
    CLASSES,
    ORGANISATION,
    centre_of,
    certified_name,
    refuse_expired,
)
from notears_pfl.federated.run_records import LEDGER
from notears_pfl.federated.site_rules import read_rules
from notears_pfl.federated.statement import write_statement
from notears_pfl.io.sidecars import write_json

PACKAGE_PARENT = Path(__file__).parents[2]
STOP_S = 10
DAY_S = 86400
STOPPING = (signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def running(
    command: Sequence[str], environment: Mapping[str, str], log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process; stop it and all its children when the block ends."""
    log.parent.mkdir(parents=True, exist_ok=True)
    variables = {**os.environ, **environment}
    # One thread each, so that sums in linear algebra do not depend on the number of cores.
    variables |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    # A new Python does not inherit sys.path, and conda environments do not install the package.
    paths = [str(PACKAGE_PARENT), variables.get("PYTHONPATH")]
    variables["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    with log.open("ab") as output:
        process = subprocess.Popen(
            command, env=variables, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    family: list[psutil.Process] = []

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    # A closed terminal also stops us, except under nohup, which makes us ignore that signal.
    heeded = [n for n in STOPPING if signal.getsignal(n) != signal.SIG_IGN]
    before = {number: signal.signal(number, stop) for number in heeded}
    try:
        yield process
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        with contextlib.suppress(psutil.NoSuchProcess):
            family = psutil.Process(process.pid).children(recursive=True)
        process.terminate()
        for member in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                member.terminate()
        _, alive = psutil.wait_procs(family, timeout=STOP_S)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_S)
        process.kill()
        process.wait()
        for member in alive:
            with contextlib.suppress(psutil.NoSuchProcess):
                member.kill()


def _arguments(kind: str, kit: Path, *settings: str) -> list[str]:
    """Arguments of NVFLARE's own start command, as in NVFLARE's start.sh."""
    values = ("secure_train=true", f"org={ORGANISATION}", "config_folder=config", *settings)
    return ["-m", str(kit.resolve()), "-s", f"fed_{kind}.json", "--set", *values]


def server_command(kit: Path) -> list[str]:
    """Command that starts the centre's server."""
    module = "nvflare.private.fed.app.server.server_train"
    return [sys.executable, "-u", "-m", module, *_arguments("server", kit)]


def site_command(kit: Path, name: str) -> list[str]:
    """Command that starts a site's client; the centre accepts only the name in its certificate."""
    arguments = _arguments("client", kit, f"uid={name}")
    return [sys.executable, "-u", "-m", gate.__name__, "client", *arguments]


def run_site(kit: Path, site_file: Path) -> int:
    """Run a site until it is stopped; return its exit code."""
    rules, name = read_rules(site_file), certified_name(kit, "client.crt")
    if centre_of(kit) != rules.centre:
        msg = (
            f"{kit}: connects to the centre {centre_of(kit)!r}, but {site_file} allows only "
            f"{rules.centre!r}. Ask who sent the kit, or correct 'centre'."
        )
        raise FederatedError(msg)
    refuse_expired(kit, "client.crt")
    environment = {SITE_FILE: str(site_file.resolve())}
    log = kit / "site.log"
    try:
        with running(site_command(kit, name), environment, log) as process:
            print(f"Site {name} is waiting for the centre {rules.centre}; log: {log}", flush=True)
            while process.poll() is None:
                if warning := refuse_expired(kit, "client.crt"):
                    print(f"Site {name}: {warning}", flush=True)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(DAY_S)
        return process.returncode
    finally:
        # Include requests refused since the last run.
        if (rules.records / LEDGER).exists():
            write_statement(name, rules.records)


def write_job(folder: Path, federation: Federation, sites: Sequence[str], out: Path) -> Path:
    """Write an NVFLARE job: which class runs at the centre and at which sites."""
    shutil.rmtree(folder, ignore_errors=True)
    config = {"format_version": 2, "task_data_filters": [], "task_result_filters": []}
    settings = {"federation": asdict(federation), "sites": [*sites], "folder": str(out.resolve())}
    workflow = {"id": "fit", "path": CLASSES["centre"], "args": settings}
    executor = {"path": CLASSES["site"], "args": {}}
    write_json(
        {
            "name": federation.name,
            "resource_spec": {},
            "deploy_map": {"centre": ["server"], "site": [*sites]},
            "min_clients": len(sites),
            "mandatory_clients": [*sites],
        },
        folder / "meta.json",
    )
    server = {**config, "workflows": [workflow]}
    client = {**config, "executors": [{"tasks": ["*"], "executor": executor}]}
    write_json({**server, "components": []}, folder / "centre/config/config_fed_server.json")
    write_json({**client, "components": []}, folder / "site/config/config_fed_client.json")
    return folder


def simulate(federation: Federation, site_files: str, out: Path) -> None:
    """Fit a federation in NVFLARE's simulator; ``site_files`` is a path that contains {site}."""
    (out / "state/status.json").unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        job = write_job(Path(folder) / "job", federation, federation.sites, out)
        sites, n_sites = ",".join(federation.sites), str(len(federation.sites))
        workspace = Path(folder) / "workspace"
        allowed = {"class_allow_list": list(CLASSES.values())}
        write_json(allowed, workspace / "local/resources.json")
        command = [sys.executable, "-m", "nvflare.cli", "simulator", str(job), "-w", str(workspace),
                   "-c", sites, "-n", n_sites, "-t", n_sites]  # fmt: skip
        log = out / "state/simulator.log"
        # NVFLARE changes the working directory.
        variables = {SITE_FILE: str(Path(site_files).resolve())}
        with running(command, variables, log) as process:
            while process.poll() is None:
                time.sleep(0.2)
    status = read_status(out)
    if status is None or status["state"] != "finished":
        reason = status["message"] if status else "the simulator ended before the fit was finished."
        msg = f"{reason} See {log}."
        raise FederatedError(msg)
