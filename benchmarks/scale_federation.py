"""Costs of a federation against its sites and ROIs, and of one site on a slow line.

    OMP_NUM_THREADS=1 python benchmarks/scale_federation.py [messages|simulator|processes|line ...]

``messages``: all messages of whole fits, carried by the centre's courier to sites in the same
process: round trips, bytes, and the CPU time of the centre and of a site without any transport.
``simulator``: seconds of a round in NVFLARE's simulator. ``processes``: a centre and its sites as
processes with mutual TLS on loopback, CPU time and memory of each. ``line``: the same, with one
site behind a line of limited latency and bandwidth (slow_line.py).
"""

import contextlib
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
from federated_cost import (
    GROUP,
    SUBJECTS,
    free_port,
    make_series,
    run_between_hospitals,
    write_series,
)
from scaling import Row, exponent

from notears_pfl import NotearsPFL
from notears_pfl.cohort.samples import Samples, site_samples
from notears_pfl.federated.border import Border
from notears_pfl.federated.courier import Courier
from notears_pfl.federated.engine import simulate
from notears_pfl.federated.journal import Journal
from notears_pfl.federated.ledger import Ledger, read_ledger
from notears_pfl.federated.message_kinds import KINDS
from notears_pfl.federated.simulated_federation import (
    RANGES,
    simulated_federation,
    write_site_files,
)
from notears_pfl.federated.site_data import LoadedSite
from notears_pfl.federated.site_rules import SiteRules
from notears_pfl.model.federation import site_from_samples

# Sites and ROIs of whole fits, of which the messages are counted.
WHOLE = [*((K, 56) for K in (2, 5, 10, 25, 50)), *((K, 116) for K in (2, 10, 50))]
# The same, of which only the first rounds are run.
FIRST_ROUNDS, FEW = [(2, 56), (2, 116), *((K, 400) for K in (2, 10, 50))], 20
SIMULATED = [(2, 56), (10, 56), (25, 56), (50, 56), (5, 116), (5, 400)]
PROCESSES = [(2, 56), (5, 56), (10, 56), (25, 56)]
# Latency there and back, in seconds, and bits per second of the slow line of one of three sites.
LINES = [(0.0, 1e9), (0.05, 1e9), (0.2, 1e9), (0.0, 10e6), (0.05, 10e6)]
# The same of a line between hospitals.
WIDE_AREA = (0.05, 100e6)
# No automatic selection: a few hundred rounds.
QUICK = {"lambda1": 0.0, "lambda2": 0.3, "kappa": 1.0}
CENTRE, SITE = "the centre's computation per round", "a site's computation per round"
LOOK_S, MB = 0.1, 1e6


def n_volumes(d: int) -> int:
    """Give volumes per subject that determine the moments of d ROIs."""
    return max(100, d // 4)


class EnoughError(Exception):
    """The rounds that were to be run are over."""


@dataclass
class SitesHere:
    """Sites behind their borders in this process, and the CPU seconds that they take."""

    folder: Path
    names: Sequence[str]
    rois: Sequence[str]
    samples: Sequence[Samples]
    most: int
    site_s: float = 0.0
    n: int = 0

    def __post_init__(self) -> None:
        """Open every site."""
        rules = SiteRules(
            centre="localhost", participants="", series="", records=self.folder, groups=(GROUP,),
            rois=tuple(self.rois), scales=("subject",), minimum_subjects=1,
            minimum_fold_subjects=0, ranges=RANGES, messages=KINDS, noise=None,
        )  # fmt: skip
        self.borders = {}
        for name, own in zip(self.names, self.samples, strict=True):
            site = site_from_samples(own.x, demean=True, subjects=own.subjects, runs=own.runs)
            counts = {"subjects": own.n_subjects, "samples": len(own.x),
                      "effective_samples": own.n_effective, "noise": None}  # fmt: skip
            loaded, ledger = LoadedSite(site, counts), Ledger(self.folder / f"{name}.tsv", "run")
            self.borders[name] = Border(rules, lambda _, loaded=loaded: loaded, ledger)

    def exchange(self, bundles: Mapping[str, bytes]) -> dict[str, bytes]:
        """Answer the bundles of a round, if it is not one too many."""
        if self.n == self.most:
            raise EnoughError
        self.n += 1
        began = time.process_time()
        answers = {name: self.borders[name].handle(data) for name, data in bundles.items()}
        self.site_s += time.process_time() - began
        return answers


def of_messages(K: int, d: int, most: int = sys.maxsize) -> dict[str, float]:
    """Fit in this process; return bytes, rounds and CPU seconds."""
    with tempfile.TemporaryDirectory() as name:
        names, rois, tables = make_series(K, d, n_volumes(d))
        samples = [site_samples(series, "subject") for series in tables.values()]
        sites = SitesHere(Path(name), names, rois, samples, most)
        plan = {"group": GROUP, "rois": rois, "scale": "subject", "estimator": {}}
        began = time.process_time()
        courier = Courier(sites.exchange, names, plan, Journal(Path(name) / "journal", plan), 0.0)
        with contextlib.suppress(EnoughError):
            NotearsPFL(progress=False).fit_over(courier.sites)
        cpu_s = time.process_time() - began
        steps = read_ledger(Path(name) / f"{names[0]}.tsv").query("kind == 'step'")
    return {
        "trips": sites.n,
        "up": courier.bytes_in[names[0]],
        "down": courier.bytes_out[names[0]],
        "step": steps["bytes"].mean(),
        "centre_s": (cpu_s - sites.site_s) / sites.n,
        "site_s": sites.site_s / sites.n / K,
    }


def named(line: tuple[float, float]) -> str:
    """Name a line's latency and bandwidth."""
    latency_s, bits_per_s = line
    return f"{1e3 * latency_s:.0f} ms and {bits_per_s / 1e6:.0f} Mbit/s"


def messages() -> Iterator[Row]:
    """Give the rows about messages."""
    found = {(K, d): of_messages(K, d) for K, d in WHOLE}
    part = {(K, d): of_messages(K, d, FEW) for K, d in FIRST_ROUNDS}
    for (K, d), one in found.items():
        size = ("federation", K, K * SUBJECTS, d)
        yield Row(*size, "round trips of a group's fit", one["trips"], "")
        yield Row(*size, "sent by a site", one["up"] / MB, "MB")
        yield Row(*size, "received by a site", one["down"] / MB, "MB")
        both = K * (one["up"] + one["down"])
        yield Row(*size, "through the centre", both / MB, "MB", "sites × bytes of one")
        latency_s, bits_per_s = WIDE_AREA
        computed = one["trips"] * (one["centre_s"] + one["site_s"] + latency_s)
        yield Row(*size, f"a group's fit at {named(WIDE_AREA)} of the centre",
                  (computed + 8 * both / bits_per_s) / 60, "min",
                  "round trips × (computation + latency) + bytes / bandwidth")  # fmt: skip
    for sizes, how in ((found, "measured"), (part, f"measured in the first {FEW} rounds")):
        for (K, d), one in sizes.items():
            size = ("federation", K, K * SUBJECTS, d)
            yield Row(*size, "a message of a round", one["step"] / 1e3, "kB", how)
            yield Row(*size, CENTRE, 1e3 * one["centre_s"], "CPU ms", how)
            yield Row(*size, SITE, 1e3 * one["site_s"], "CPU ms", how)
    for what, key in (("round trips", "trips"), (CENTRE, "centre_s")):
        yield exponent_in_sites(what, {pair: one[key] for pair, one in found.items()})
    for what, key in ((CENTRE, "centre_s"), (SITE, "site_s")):
        values = {d: one[key] for (K, d), one in part.items() if K == 2}
        yield Row("federation", 2, None, None, f"exponent in ROIs of {what}",
                  exponent(values, values.values()), "", f"the first {FEW} rounds")  # fmt: skip


def exponent_in_sites(what: str, values: Mapping[tuple[int, int], float]) -> Row:
    """Exponent in the number of sites at 56 ROIs."""
    at_56 = {K: value for (K, d), value in values.items() if d == 56}
    power = exponent(at_56, at_56.values())
    name = f"exponent in sites of {what}"
    return Row("federation", None, None, 56, name, power, "", f"{', '.join(map(str, at_56))} sites")


class Watch(threading.Thread):
    """Looks at the processes that this one started, while a fit runs in them.

    CPU seconds are those of the rounds alone: from the first look after ten rounds to the last one
    before the fit's last round.
    """

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        super().__init__(daemon=True)
        self._ledger = folder / f"sites/{names[0]}/ledger.tsv"
        self._places = {name: f"kits/sites/{name}" for name in names} | {"centre": "kits/centre"}
        self.looks: list[tuple[int, dict[str, float]]] = []
        self.memory: dict[str, float] = {}
        self._over = threading.Event()

    def run(self) -> None:
        """Look until the fit is over."""
        while not self._over.wait(LOOK_S):
            if self._rounds() > 10:
                with contextlib.suppress(psutil.Error):
                    self._look()

    def end(self) -> None:
        """Stop looking."""
        self._over.set()
        self.join()
        self._n_rounds = self._rounds()

    def _rounds(self) -> int:
        try:
            return self._ledger.read_text().count("\tout\tstep\t")
        except OSError:
            return 0

    def _look(self) -> None:
        if not self.memory:
            self.memory = self._sums(lambda process: process.memory_full_info().pss)
        rounds = self._rounds()
        self.looks.append((rounds, self._sums(lambda process: sum(process.cpu_times()[:2]))))

    def _sums(self, of: Callable[[psutil.Process], float]) -> dict[str, float]:
        """Sum a number over the processes of the centre and of each site."""
        sums = dict.fromkeys(self._places, 0.0)
        for process in psutil.Process().children(recursive=True):
            command = " ".join(process.cmdline()) + " "
            for who, place in self._places.items():
                if f"{place} " in command or f"{place}/" in command:
                    sums[who] += of(process)
        return sums

    def cpu_ms_per_round(self, who: str) -> float:
        """CPU time of the centre, or of a site, per round."""
        # After the last round, processes end and take their CPU seconds with them.
        during = [look for look in self.looks if look[0] < self._n_rounds]
        (first, before), (last, after) = during[0], during[-1]
        return 1e3 * (after[who] - before[who]) / (last - first)


def seconds_per_round(ledger: Path) -> float:
    """Mean time from one step to the next, by a site's ledger."""
    steps = read_ledger(ledger).query("kind == 'step' and direction == 'in'")
    times = pd.to_datetime(steps["time"])
    return (times.iloc[-1] - times.iloc[0]).total_seconds() / (len(times) - 1)


def simulator() -> Iterator[Row]:
    """Give the rows about NVFLARE's simulator."""
    found = {}
    for K, d in SIMULATED:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            names, rois, tables = make_series(K, d, n_volumes(d))
            write_series(folder, tables)
            federation = simulated_federation(names, [GROUP], rois, "subject", QUICK)
            series, cohort = folder / "{participant_id}.tsv", folder / "participants.tsv"
            files = write_site_files(federation, str(cohort), str(series), SUBJECTS, folder)
            simulate(federation, files, folder / "out")
            found[K, d] = seconds_per_round(folder / f"sites/{names[0]}/ledger.tsv")
        how = "measured on two shared cores"
        yield Row("federation", K, K * SUBJECTS, d, "a round in NVFLARE's simulator",
                  1e3 * found[K, d], "ms", how)  # fmt: skip
    yield exponent_in_sites("a round in NVFLARE's simulator", found)


def processes() -> Iterator[Row]:
    """Give the rows about a centre and its sites as processes."""
    found = {}
    for K, d in PROCESSES:
        size = ("federation", K, K * SUBJECTS, d)
        with tempfile.TemporaryDirectory() as name:
            watch, seconds, _ = fit_in_processes(Path(name), K, d, {})
        found[K, d] = centre = watch.cpu_ms_per_round("centre")
        site = float(np.mean([watch.cpu_ms_per_round(f"S{k}") for k in range(K)]))
        yield Row(*size, "the centre's processes per round", centre, "CPU ms")
        yield Row(*size, "a site's processes per round", site, "CPU ms")
        yield Row(*size, "a round of all on this machine", 1e3 * seconds, "ms",
                  "measured on two shared cores")  # fmt: skip
        gib = {who: pss / 2**30 for who, pss in watch.memory.items()}
        yield Row(*size, "memory of the centre's processes", gib["centre"], "GiB")
        sites = [gib[f"S{k}"] for k in range(K)]
        yield Row(*size, "memory of a site's processes", float(np.mean(sites)), "GiB")
    yield exponent_in_sites("the centre's processes per round", found)


def fit_in_processes(
    folder: Path, K: int, d: int, estimator: Mapping[str, float],
    slow: tuple[float, float] | None = None,
):  # fmt: skip
    """Fit; return what was watched, the seconds of a round and the bytes of a message."""
    names, rois, tables = make_series(K, d, n_volumes(d))
    write_series(folder, tables)
    federation = simulated_federation(names, [GROUP], rois, "subject", estimator)
    federation = replace(federation, port=free_port(), patience_s=300.0)
    watch = Watch(folder, names)
    with line_to(federation.port, slow) as port:
        watch.start()
        # What the centre says is no part of the table.
        with contextlib.redirect_stdout(sys.stderr):
            run_between_hospitals(folder, federation, {names[-1]: port} if port else {})
        watch.end()
    ledger = folder / f"sites/{names[0]}/ledger.tsv"
    step = read_ledger(ledger).query("kind == 'step'")["bytes"].mean()
    return watch, seconds_per_round(ledger), step


@contextlib.contextmanager
def line_to(port: int, slow: tuple[float, float] | None) -> Iterator[int | None]:
    """Run a line to the centre; give the port at which it begins."""
    if slow is None:
        yield None
        return
    latency_s, bits_per_s = slow
    program = Path(__file__).with_name("slow_line.py")
    settings = [str(port), str(latency_s / 2), str(bits_per_s / 8)]
    command = [sys.executable, str(program), *settings]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.terminate()


def line(d: int = 116) -> Iterator[Row]:
    """Give the rows about one of three sites on a slow line."""
    size, base = ("federation", 3, 3 * SUBJECTS, d), 0.0
    for slow in LINES:
        latency_s, bits_per_s = slow
        with tempfile.TemporaryDirectory() as name:
            _, seconds, step = fit_in_processes(Path(name), 3, d, QUICK, slow)
        base = base or seconds
        quantity = f"a round with one site at {named(slow)}"
        yield Row(*size, quantity, 1e3 * seconds, "ms",
                  "measured on two shared cores")  # fmt: skip
        expected = base + latency_s + 2 * 8 * step / bits_per_s
        yield Row(*size, quantity, 1e3 * expected, "ms",
                  "fast round + latency + bytes both ways / bandwidth")  # fmt: skip


PARTS = {"messages": messages, "simulator": simulator, "processes": processes, "line": line}


def rows() -> Iterator[Row]:
    """Give the rows of the table."""
    for part in PARTS.values():
        yield from part()


if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        for row in PARTS[part]():
            print(*row, sep="\t", flush=True)
