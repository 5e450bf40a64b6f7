r"""CPU time of NOTEARS-PFL on real series: beside an earlier version, and beside NOTEARS.

    OMP_NUM_THREADS=1 python benchmarks/estimator_real_cost.py series.npz participants.tsv \
        [--before COMMIT] [--sites NYU UM_1 …]

The archive holds one array (volumes × ROIs) per participant_id, the table their site and group.
Versions take turns, in processes of their own, on the controls of the named sites; a version that
knows no subjects takes each site's rows as one series. NOTEARS (L-BFGS) fits every site alone.
"""

import argparse
import inspect
import time
import warnings

import numpy as np
import pandas as pd
from versions import rows_of, source_of

from notears_pfl import NotearsPFL
from notears_pfl.baselines import notears

FITS = {"automatic": {}, "given κ": {"kappa": 0.0}}
TURNS = 3


def site_samples(arguments):
    """Stack the samples of every site, each subject in its own units; say whose they are."""
    series = np.load(arguments.series)
    table = pd.read_csv(arguments.participants, sep="\t")
    table = table[table["group"] == arguments.group]
    columns = np.flatnonzero(pd.read_csv(arguments.rois, sep="\t")["selected"])
    samples, subjects = [], []
    for site in arguments.sites or sorted(table["site"].unique()):
        parts = [
            series[name][:, columns] for name in table["participant_id"][table["site"] == site]
        ]
        parts = [x - x.mean(axis=0) for x in parts if x.std(axis=0).all()]
        samples.append(np.vstack([x / np.sqrt((x**2).mean()) for x in parts]))
        subjects.append(np.repeat(range(len(parts)), [len(x) for x in parts]))
    return samples, subjects


def measure(arguments):
    """Print the CPU seconds of the fits of the version on the path, and of NOTEARS if asked."""
    warnings.simplefilter("ignore")
    samples, subjects = site_samples(arguments)
    known = "subjects" in inspect.signature(NotearsPFL.fit).parameters
    for name, settings in FITS.items():
        started = time.process_time()
        model = NotearsPFL(progress=False, **settings)
        model.fit(samples, **({"subjects": subjects} if known else {}))
        print(name, time.process_time() - started, sep="\t", flush=True)
    if arguments.notears:
        started = time.process_time()
        for x in samples:
            notears(x)
        print("NOTEARS", time.process_time() - started, sep="\t", flush=True)


def main(arguments, given):
    """Let the versions take turns and print the least time of each, and the ratios."""
    rows = []
    with source_of(None) as now, source_of(arguments.before) as before:
        versions = {"now": now, **({"before": before} if arguments.before else {})}
        for turn in range(TURNS):
            for version, source in versions.items():
                more = ["--notears"] if version == "now" and turn == 0 else []
                found = rows_of(source, __file__, "--worker", *more, *given)
                rows += [(version, fit, float(seconds)) for fit, seconds in found]
    table = pd.DataFrame(rows, columns=["version", "fit", "cpu_s"])
    least = table.groupby(["fit", "version"], sort=False)["cpu_s"].min().unstack()
    print(least.round(2).to_string(), "\n")
    for fit in FITS:
        if arguments.before:
            print(f"{fit}: {least['now'][fit] / least['before'][fit]:.2f} times the version before")
        print(
            f"{fit}: NOTEARS takes {least['now']['NOTEARS'] / least['now'][fit]:.1f} times as long"
        )


if __name__ == "__main__":
    import sys

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("series")
    parser.add_argument("participants")
    parser.add_argument("--before", metavar="COMMIT", help="an earlier version to measure too")
    parser.add_argument("--group", default="TC")
    parser.add_argument("--sites", nargs="+")
    parser.add_argument("--rois", default="config/rois.tsv")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--notears", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        measure(arguments)
    else:
        main(arguments, sys.argv[1:])
