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


def write_series(folder, K, d, n_volumes):
    """Write the series of ten subjects per site; return the sites' samples as the fit sees them."""
    rng = stream(1, "benchmark", "federated", str(K), str(d))
    options = GraphOptions(edges_per_variable=1.0, perturbation="edges")
    setting = Setting(d, K, K * SUBJECTS * n_volumes, perturbation=0.1)
    simulated = simulate_sites(rng, setting, "per_site", options)
    sites, rois, rows, samples = [f"S{k}" for k in range(K)], [f"R{i}" for i in range(d)], [], []
    for site, x in zip(sites, simulated.samples, strict=True):
        tables = {}
        for i, part in enumerate(np.array_split(x, SUBJECTS)):
            tables[f"sub-{site}{i}"] = table = pd.DataFrame(part, columns=rois)
            table.to_csv(folder / f"sub-{site}{i}.tsv", sep="\t", index=False, float_format="%.17g")
            rows.append((f"sub-{site}{i}", site, GROUP, "discovery"))
        samples.append(site_samples(tables, "subject").x)
    cohort = pd.DataFrame(rows, columns=["participant_id", "site", "group", "split"])
    cohort.to_csv(folder / "participants.tsv", sep="\t", index=False)
    return sites, rois, samples


def fit_between_hospitals(folder, federation: Federation):
    """Run a centre and its sites; return the networks, the report and the times in seconds."""
    provision(federation, folder / "kits")
    series = str(folder / "{participant_id}.tsv")
    cohort = str(folder / "participants.tsv")
    files = write_site_files(federation, cohort, series, 5, folder)
    with contextlib.ExitStack() as stack:
        for site in federation.sites:
            command = [sys.executable, "-m", "notears_pfl", "federated", "site"]
            command += [str(folder / f"kits/sites/{site}"), files.replace("{site}", site)]
            stack.enter_context(running(command, {}, folder / f"{site}.log"))
        started = time.perf_counter()
        run_centre(folder / "kits/centre", federation, folder / "out")
        seconds = time.perf_counter() - started
    keys = [(GROUP, site) for site in federation.sites]
    paths = [folder / f"out/group-{g}_site-{s}_relmat.tsv" for g, s in keys]
    networks = np.stack([table.to_numpy() for table in read_networks(paths, keys).values()])
    report = json.loads((folder / f"out/group-{GROUP}_fit.json").read_text())
    first = pd.read_csv(folder / "sites/S0/ledger.tsv", sep="\t")
    times = pd.to_datetime(first["time"])
    return networks, report, seconds, (times.iloc[-1] - times.iloc[0]).total_seconds()


def main():
    """Fit on one machine and between hospitals, and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sites", type=int, default=5)
    parser.add_argument("--rois", type=int, default=56)
    parser.add_argument("--volumes", type=int, default=200)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sites, rois, samples = write_series(folder, options.sites, options.rois, options.volumes)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        federation = simulated_federation(sites, [GROUP], rois, "subject", {})
        federation = replace(federation, port=port, patience_s=300.0)
        started = time.perf_counter()
        here = NotearsPFL(progress=False).fit(samples).weights_
        alone = time.perf_counter() - started
        there, report, total, rounds_s = fit_between_hospitals(folder, federation)
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
