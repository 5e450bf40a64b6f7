"""Several runs of a subject: their series one after another, and one report of them all.

Each run is cleaned by itself. A table of joined runs names the run of every volume in its first
column; whoever looks at successive volumes, or at their mean and scale, goes run by run.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

# Column with the run of every volume, in tables of several runs.
RUN = "run"
# How a figure of a subject follows from those of its runs; all others are means over the acquired
# volumes, censored ones among them.
SUMS = {"n_volumes", "n_censored", "degrees_of_freedom", "degrees_of_freedom_in_band"}
SMALLEST = {"bold_t1w_agreement", "brain_coverage", "coverage"}
LARGEST = {
    "dropout", "largest_rotation_deg", "largest_translation_mm", "n_regressors",
    "non_steady_volumes", "non_steady_kept",
}  # fmt: skip
RULES: tuple[tuple[set[str], Callable[[Any], Any]], ...] = (
    (SUMS, sum), (SMALLEST, min), (LARGEST, max),
)  # fmt: skip
# Positions of the volumes that scrubbing removed from a run.
CENSORED = "censored_volumes"
# Figures of a run that stay beside those of the subject.
OF_RUNS = ("n_volumes", "mean_fd_power_mm", "degrees_of_freedom")


def joined_series(runs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Join the series of runs, by name; those of a single run stay as they are."""
    if len(runs) == 1:
        return next(iter(runs.values()))
    joined = pd.concat(list(runs.values()), ignore_index=True)
    names = np.repeat(list(runs), [len(table) for table in runs.values()])
    joined.insert(0, RUN, names)
    return joined


def by_run(table: pd.DataFrame) -> pd.DataFrame:
    """Series with the run of every volume in the index, if there are several runs."""
    return table.set_index(RUN) if RUN in table else table


def run_parts(series: pd.DataFrame) -> list[pd.DataFrame]:
    """Split the series that ``by_run`` gives into runs; a single run is the series themselves."""
    if series.index.name != RUN:
        return [series]
    return [part for _, part in series.groupby(level=RUN, sort=False)]


def joined_report(
    reports: Mapping[str, Mapping[str, Any]], failed: Mapping[str, str]
) -> dict[str, Any]:
    """Report on a subject from those on its runs, by name.

    Counts add up; means are means over all volumes, also those that were censored; of agreements
    and coverage, the worst run counts.
    ``failed`` gives why runs were left out. A single run's report stays as it is.
    """
    if len(reports) == 1 and not failed:
        return dict(next(iter(reports.values())))
    acquired = [report["n_volumes"] + report.get("n_censored", 0) for report in reports.values()]
    names = list(dict.fromkeys(name for report in reports.values() for name in report))
    joined = {
        name: _joined(name, [report.get(name) for report in reports.values()], acquired)
        for name in names
    }
    if CENSORED in joined:
        joined[CENSORED] = _all_censored(list(reports.values()))
    joined["cautions"] = _all_cautions(reports, failed)
    if "methods" in joined:
        joined["methods"] = _all_methods(reports)
    joined["runs"] = {
        run: {"status": "ok"} | {key: report[key] for key in OF_RUNS if key in report}
        for run, report in reports.items()
    } | {run: {"status": "failed", "reason": reason} for run, reason in failed.items()}
    return joined


def _joined(name: str, values: Sequence[Any], acquired: Sequence[int]) -> Any:
    """One value for all runs, whose numbers of volumes weight means."""
    known = [(value, n) for value, n in zip(values, acquired, strict=True) if value is not None]
    found = [value for value, _ in known]
    if not found or (name not in SUMS and all(value == found[0] for value in found)):
        return found[0] if found else None
    if all(isinstance(value, Mapping) for value in found):
        keys = dict.fromkeys(key for value in found for key in value)
        return {key: _joined(name, [v.get(key) for v in found], [n for _, n in known])
                for key in keys}  # fmt: skip
    if all(isinstance(value, bool) for value in found):
        return all(found)
    if all(isinstance(value, list) for value in found):
        return list(dict.fromkeys(item for value in found for item in value))
    if not all(isinstance(value, int | float) for value in found):
        return "; ".join(dict.fromkeys(map(str, found)))
    for names, rule in RULES:
        if name in names:
            return rule(found)
    return float(np.average(found, weights=[n for _, n in known]))


def _all_censored(reports: Sequence[Mapping[str, Any]]) -> list[int]:
    """Positions of censored volumes among those of all runs, one run after another."""
    lengths = [report["n_volumes"] + len(report.get(CENSORED, [])) for report in reports]
    starts = np.cumsum([0, *lengths[:-1]]).tolist()
    return [
        start + volume
        for start, report in zip(starts, reports, strict=True)
        for volume in report.get(CENSORED, [])
    ]


def _all_cautions(reports: Mapping[str, Mapping[str, Any]], failed: Mapping[str, str]) -> list[str]:
    """Cautions of all runs; those that not every run has are named after their run."""
    own = {run: report.get("cautions", []) for run, report in reports.items()}
    shared = [
        text for text in next(iter(own.values())) if all(text in them for them in own.values())
    ]
    of_runs = [f"{run}: {t}" for run, them in own.items() for t in them if t not in shared]
    return [*shared, *of_runs, *(f"{run} was left out: {why}" for run, why in failed.items())]


def _all_methods(reports: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Sentences of methods by step; those that differ are named after their run."""
    sentences: dict[str, str] = {}
    for step in dict.fromkeys(step for report in reports.values() for step in report["methods"]):
        own = {run: report["methods"].get(step, "") for run, report in reports.items()}
        same = len(set(own.values())) == 1
        parts = [f"{run}: {text}" for run, text in own.items() if text]
        sentences[step] = next(iter(own.values())) if same else " ".join(parts)
    if len(reports) > 1:
        sentences["runs"] = (
            "Several runs of a subject were cleaned one by one and joined; each was centred and "
            "scaled by itself."
        )
    return sentences
