"""Work on the runs of a subject, one after another; one that fails leaves the others."""

import contextlib
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from notears_pfl.errors import ConfigError, MachineError, PflError, SignalError
from notears_pfl.io.batches import Files
from notears_pfl.io.machine import machine_cause
from notears_pfl.runs import joined_report, joined_series


class SubjectRuns:
    """Series and reports of a subject's runs.

    Parameters
    ----------
    names : sequence of str
        The runs to work on.
    lost : mapping of str to str
        Why other runs cannot be used, by name.
    """

    def __init__(self, names: Sequence[str], lost: Mapping[str, str] | None = None) -> None:
        self.names, self.failed = list(names), dict(lost or {})
        self._series: dict[str, pd.DataFrame] = {}
        self._reports: dict[str, Mapping[str, Any]] = {}

    def files(self, of_runs: Mapping[str, Any]) -> Iterator[tuple[str, Files]]:
        """Give the files of each run: of lists of files by kind, each run has one."""
        for place, name in enumerate(self.names):
            own = {k: v[place] if isinstance(v, list) else v for k, v in of_runs.items()}
            yield name, Files(own)

    @contextlib.contextmanager
    def attempt(self, name: str) -> Iterator[None]:
        """Record why a run fails; the only run of a subject fails as ever."""
        try:
            yield
        except (ConfigError, MachineError):
            raise
        except PflError as error:
            if len({*self.names, *self.failed}) == 1 or machine_cause(error, name, "made"):
                raise
            traceback.print_exc(file=sys.stderr)
            self.failed[name] = str(error)

    def add(self, name: str, series: pd.DataFrame, report: Mapping[str, Any]) -> None:
        """Add a finished run."""
        self._series[name], self._reports[name] = series, report

    def joined(self) -> tuple[pd.DataFrame, dict[str, Any]]:
        """Series and report of all finished runs; refuse a subject without one."""
        if not self._series:
            reasons = "; ".join(f"{name}: {why}" for name, why in self.failed.items())
            msg = f"none of {len(self.failed)} runs can be used. {reasons}"
            raise SignalError(msg)
        return joined_series(self._series), joined_report(self._reports, self.failed)
