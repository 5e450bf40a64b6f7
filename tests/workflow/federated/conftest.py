"""A centre and three hospitals as separate processes, with mutual TLS on loopback."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pytest
import yaml

from notears_pfl import NotearsPFL
from notears_pfl.cohort.samples import site_samples
from notears_pfl.federated.journal import saved_records
from notears_pfl.federated.ledger import read_ledger
from notears_pfl.model.federation import LocalSites, Site
from notears_pfl.model.problem import second_moments

SITES, ROIS = ("S0", "S1", "S2"), [f"R{i}" for i in range(8)]


@dataclass
class Hospitals:
    """Folders and processes of a federation on this machine."""

    root: Path
    port: int
    processes: dict = field(default_factory=dict)

    def series(self, site):
        """Read the site's series by subject."""
        folder = self.root / site / "results/timeseries"
        paths = sorted(folder.glob("*.tsv"))
        return {path.stem: pd.read_csv(path, sep="\t") for path in paths}

    def command(self, *arguments):
        """Command line of an action."""
        return [sys.executable, "-m", "notears_pfl", "federated", *map(str, arguments)]

    def write_federation(self, **changes):
        """Write the federation file with some changes to the defaults."""
        file = self.root / "federation.yaml"
        waiting = {"answer_s": 5, "patience_s": 300, "without": "stop", "minimum_sites": 2}
        file.write_text(
            yaml.safe_dump(
                {
                    "name": "study",
                    "centre": {"host": "localhost", "port": self.port},
                    "sites": list(SITES),
                    "groups": ["MDD"],
                    "rois": ROIS,
                    "scale": "subject",
                    "estimator": changes.pop("estimator", {}),
                    "waiting": {**waiting, **changes},
                }
            )
        )
        return file

    def start(self, name, command, **variables):
        """Start a process whose output goes to a file with its name."""
        environment = {**os.environ, **variables, "OMP_NUM_THREADS": "1"}
        with (self.root / f"{name}.out").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                command, env=environment, stdout=log, stderr=log
            )

    def start_site(self, name, kit=None, **variables):
        """Start a site, or an intruder with someone else's kit."""
        kit = kit or self.root / "kits/sites" / name
        site_file = self.root / kit.name / "site.yaml"
        self.start(name, self.command("site", kit, site_file), **variables)

    def family(self, name):
        """All processes of a command, including its jobs."""
        leader = psutil.Process(self.processes[name].pid)
        return [leader, *leader.children(recursive=True)]

    def signal(self, name, number):
        """Send a signal to all processes of a command."""
        for member in self.family(name):
            member.send_signal(number)

    def kill(self, name):
        """Kill a command and all that it started, as a power cut would."""
        self.signal(name, signal.SIGKILL)
        self.processes.pop(name).wait()

    def stop(self, name):
        """Stop a command as its user would."""
        process = self.processes.pop(name)
        process.terminate()
        process.wait(60)

    @contextmanager
    def centre(self, out, federation, kits="kits", **variables):
        """Run a centre; stop it when the block ends."""
        kit = self.root / kits / "centre"
        command = self.command("centre", kit, federation, self.root / out)
        self.start("centre", command, **variables)
        try:
            yield self.processes["centre"]
        finally:
            if "centre" in self.processes:
                self.stop("centre")

    def said(self, name):
        """Return what a command has printed so far."""
        return (self.root / f"{name}.out").read_text()

    def wait_for_rounds(self, out, n_rounds):
        """Wait until the centre has saved ``n_rounds`` rounds."""
        journal = self.root / out / "state/group-MDD.journal"
        deadline = time.monotonic() + 240
        # The first record says what is fitted.
        while len(saved_records(journal)) <= n_rounds:
            assert time.monotonic() < deadline, self.said("centre")
            assert self.processes["centre"].poll() is None, self.said("centre")
            time.sleep(0.05)

    def networks(self, out, sites=SITES):
        """Read the centre's networks, (K, d, d)."""
        paths = [self.root / out / f"group-MDD_site-{site}_relmat.tsv" for site in sites]
        tables = [pd.read_csv(path, sep="\t", index_col=0) for path in paths]
        return np.stack([table.to_numpy() for table in tables])

    def on_one_machine(self, sites=SITES, **settings):
        """Fit the same data in this process."""
        samples = [site_samples(self.series(site), "subject") for site in sites]
        subjects = [site.subjects for site in samples]
        fit = NotearsPFL(progress=False, **settings)
        return fit.fit([site.x for site in samples], subjects=subjects).weights_

    def steps_of_a_fit(self):
        """Count the steps of a site in an undisturbed fit."""
        samples = [site_samples(self.series(site), "subject") for site in SITES]
        steps = []

        class CountingSite(Site):
            def step(self, V, rho):
                steps.append(rho)
                return super().step(V, rho)

        sites = []
        for site in samples:
            moments = second_moments(site.x, demean=True)
            told = {"subjects": site.subjects, "n_effective": site.n_effective}
            sites.append(CountingSite(moments, site.x, **told))
        NotearsPFL(progress=False).fit_over(LocalSites(sites))
        return len(steps) // len(SITES)

    def report(self, out):
        """Read the centre's report."""
        return json.loads((self.root / out / "group-MDD_fit.json").read_text())

    def ledger(self, site):
        """Read a site's ledger."""
        return read_ledger(self.root / site / "records/ledger.tsv")

    def runs(self, site):
        """Name the runs that the site has seen so far."""
        exists = (self.root / site / "records/ledger.tsv").exists()
        return set(self.ledger(site)["run"]) if exists else set()

    def steps(self, site, but=()):
        """Count the steps that the site has answered so far, excluding some runs."""
        ledger = self.ledger(site)
        steps = ledger[(ledger["kind"] == "step") & (ledger["direction"] == "out")]
        return int((~steps["run"].isin(but)).sum())


def write_site(folder, site, rng):
    """Write the workflow's files at a hospital, and the hospital's own file."""
    (folder / "results/timeseries").mkdir(parents=True)
    (folder / "results/cohort").mkdir()
    W = np.triu(rng.uniform(size=(8, 8)) < 0.3, k=1) * rng.uniform(0.5, 0.8, size=(8, 8))
    names = [f"sub-{site}{i}" for i in range(6)]
    for name in names:
        x = rng.normal(size=(120, 8)) @ np.linalg.inv(np.eye(8) - W)
        path = folder / f"results/timeseries/{name}.tsv"
        pd.DataFrame(x, columns=ROIS).to_csv(path, sep="\t", index=False)
    rows = [(name, site, "MDD", "discovery") for name in names]
    cohort = pd.DataFrame(rows, columns=["participant_id", "site", "group", "split"])
    cohort.to_csv(folder / "results/cohort/participants.tsv", sep="\t", index=False)
    allow = {
        "groups": ["MDD"], "rois": ROIS, "scales": ["subject"], "minimum_subjects": 5,
        "minimum_fold_subjects": 2,
        "lambda": [0, 10], "kappa": [0, 10], "rho": [0.001, 100],
        "messages": ["plan", "describe", "split", "begin", "step", "score"],
    }  # fmt: skip
    content = {
        "centre": "localhost",
        "participants": "results/cohort/participants.tsv",
        "series": "results/timeseries/{participant_id}.tsv",
        "records": "records",
        "allow": allow,
    }
    (folder / "site.yaml").write_text(yaml.safe_dump(content))


@pytest.fixture(scope="module")
def started_hospitals(tmp_path_factory):
    """Give three hospitals, started once; all processes in their folders are killed at the end."""
    root = tmp_path_factory.mktemp("hospitals")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    hospitals = Hospitals(root, port)
    rng = np.random.default_rng(20230)
    for site in SITES:
        write_site(root / site, site, rng)
    for kits in ("kits", "foreign_kits"):
        command = hospitals.command("provision", hospitals.write_federation(), root / kits)
        subprocess.run(command, check=True, capture_output=True, timeout=120)
    shutil.copytree(root / "kits/sites/S1", root / "stolen")
    try:
        yield hospitals
    finally:
        for process in psutil.process_iter(["cmdline"]):
            if any(str(root) in argument for argument in process.info["cmdline"] or []):
                process.kill()


@pytest.fixture
def hospitals(started_hospitals):
    """Give three running hospitals; those that an earlier test stopped are restarted."""
    for site in SITES:
        if site not in started_hospitals.processes:
            started_hospitals.start_site(site)
    return started_hospitals
