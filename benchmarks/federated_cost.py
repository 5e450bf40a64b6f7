"""Cost of a fit between hospitals: a centre and K sites as processes, mutual TLS on loopback.

OMP_NUM_THREADS=1 python benchmarks/federated_cost.py
"""

import argparse
import contextlib
import json
import socket
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from notears_pfl import NotearsPFL
from notears_pfl.cohort.samples import site_samples
from notears_pfl.federated.centre import run_centre
from notears_pfl.federated.engine import running
from notears_pfl.federated.federated_study import Federation
from notears_pfl.federated.kits import provision
from notears_pfl.federated.simulated_federation import simulated_federation, write_site_files
from notears_pfl.io.networks import read_networks
from notears_pfl.seeds import stream
from notears_pfl.simulate.sites import GraphOptions, Setting, simulate_sites

SUBJECTS, GROUP, WAN_S = 10, "MDD", 0.05


def make_series(K, d, n_volumes):
    """Give sites, labels of the ROIs and, by site, the series of ten subjects."""
    rng = stream(1, "benchmark", "federated", str(K), str(d))
    options = GraphOptions(edges_per_variable=1.0, perturbation="edges")
    setting = Setting(d, K, K * SUBJECTS * n_volumes, perturbation=0.1)
    simulated = simulate_sites(rng, setting, "per_site", options)
    sites, rois = [f"S{k}" for k in range(K)], [f"R{i}" for i in range(d)]
    tables = {
        site: {
            f"sub-{site}x{i}": pd.DataFrame(part, columns=rois)
            for i, part in enumerate(np.array_split(x, SUBJECTS))
        }
        for site, x in zip(sites, simulated.samples, strict=True)
    }
    return sites, rois, tables


def write_series(folder, tables):
    """Write the series and the cohort's table."""
    rows = []
    for site, series in tables.items():
        for who, table in series.items():
            table.to_csv(folder / f"{who}.tsv", sep="\t", index=False, float_format="%.17g")
            rows.append((who, site, GROUP, "discovery"))
    cohort = pd.DataFrame(rows, columns=["participant_id", "site", "group", "split"])
    cohort.to_csv(folder / "participants.tsv", sep="\t", index=False)


def free_port() -> int:
    """Give a port of this machine that nothing uses now."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def connect_through(kit: Path, port: int) -> None:
    """Have a site connect to its centre at another port of this machine."""
    path = kit / "startup/fed_client.json"
    content = json.loads(path.read_text())
    content["servers"][0]["service"]["target"] = f"localhost:{port}"
    path.write_text(json.dumps(content))


def run_between_hospitals(folder, federation: Federation, lines=None) -> float:
    """Run a centre and its sites, some of them over lines at other ports; return the seconds."""
    provision(federation, folder / "kits")
    series = str(folder / "{participant_id}.tsv")
    cohort = str(folder / "participants.tsv")
    files = write_site_files(federation, cohort, series, 5, folder)
    for site, port in (lines or {}).items():
        connect_through(folder / f"kits/sites/{site}", port)
    with contextlib.ExitStack() as stack:
        for site in federation.sites:
            command = [sys.executable, "-m", "notears_pfl", "federated", "site"]
            command += [str(folder / f"kits/sites/{site}"), files.replace("{site}", site)]
            stack.enter_context(running(command, {}, folder / f"{site}.log"))
        started = time.perf_counter()
        run_centre(folder / "kits/centre", federation, folder / "out")
        return time.perf_counter() - started


def read_fit(folder, federation: Federation):
    """Read the networks, the report and the seconds that the rounds took, by the first ledger."""
    keys = [(GROUP, site) for site in federation.sites]
    paths = [folder / f"out/group-{g}_site-{s}_relmat.tsv" for g, s in keys]
    networks = np.stack([table.to_numpy() for table in read_networks(paths, keys).values()])
    report = json.loads((folder / f"out/group-{GROUP}_fit.json").read_text())
    first = pd.read_csv(folder / f"sites/{federation.sites[0]}/ledger.tsv", sep="\t")
    times = pd.to_datetime(first["time"])
    return networks, report, (times.iloc[-1] - times.iloc[0]).total_seconds()


def main():
    """Fit on one machine and between hospitals, and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sites", type=int, default=5)
    parser.add_argument("--rois", type=int, default=56)
    parser.add_argument("--volumes", type=int, default=200)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sites, rois, tables = make_series(options.sites, options.rois, options.volumes)
        write_series(folder, tables)
        federation = simulated_federation(sites, [GROUP], rois, "subject", {})
        federation = replace(federation, port=free_port(), patience_s=300.0)
        started = time.perf_counter()
        samples = [site_samples(series, "subject") for series in tables.values()]
        subjects = [site.subjects for site in samples]
        fit = NotearsPFL(progress=False).fit([site.x for site in samples], subjects=subjects)
        here = fit.weights_
        alone = time.perf_counter() - started
        total = run_between_hospitals(folder, federation)
        there, report, rounds_s = read_fit(folder, federation)
    trips = report["RoundTrips"]
    sent, received = report["BytesFromSites"]["S0"], report["BytesToSites"]["S0"]
    print(f"K = {options.sites}, d = {options.rois}, automatic selection and refit included")
    print(f"equal bit for bit: {there.tobytes() == here.tobytes()}, {np.count_nonzero(here)} edges")
    print(f"one machine: {alone:.1f} s, {1e3 * alone / trips:.1f} ms per round")
    print(f"between processes: {rounds_s:.1f} s in {trips} round trips, "
          f"{1e3 * rounds_s / trips:.1f} ms each; {total:.1f} s with start and end")  # fmt: skip
    print(f"bytes per site: {sent / 1e6:.1f} MB sent, {received / 1e6:.1f} MB received")
    print(f"a WAN with {1e3 * WAN_S:.0f} ms would add {WAN_S * trips:.0f} s (computed)")


if __name__ == "__main__":
    main()
