"""Costs against size: what a row of the table "How far it scales" is, and how it is measured."""

import resource
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).parents[1]


class Row(NamedTuple):
    """A cost at a size; None where the cost does not depend on that number.

    ``how`` is "measured" if the whole was run, else how the value was worked out.
    """

    part: str
    sites: int | None
    subjects: int | None
    rois: int | None
    quantity: str
    value: float
    unit: str
    how: str = "measured"


class Cost(NamedTuple):
    """CPU seconds of a command and of all that it started, and the peak memory of one process."""

    cpu_s: float
    peak_gib: float
    output: str


def cost_of(command: Sequence[str], **options: object) -> Cost:
    """Run a command in a process of its own; if it fails, stop with what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    # A process between, so that the peak is that of this command and not of an earlier one.
    code = (
        "import resource, subprocess, sys\n"
        "done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, stderr=sys.stderr)\n"
        "sys.stdout.buffer.write(done.stdout)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
        "sys.exit(done.returncode)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *command],
        check=False,
        capture_output=True,
        text=True,
        **options,
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr[-3000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    output, _, kilobytes = done.stdout.rstrip("\n").rpartition("\n")
    return Cost(seconds, int(kilobytes) / 2**20, output)


def exponent(sizes: Iterable[float], costs: Iterable[float]) -> float:
    """Slope of the line through the logarithms: how a cost grows with a size."""
    return float(np.polyfit(np.log([*sizes]), np.log([*costs]), 1)[0])
