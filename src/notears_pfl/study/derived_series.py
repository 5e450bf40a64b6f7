"""ROI series that XCP-D and giga_connectome have made: found by their names, censored volumes out.

XCP-D calls the atlas ``atlas-`` (up to 0.6, and from 26 on) or ``seg-`` (between), and adds
``stat-mean`` from 0.7 on; beside the series are ``…_outliers.tsv`` and ``…_motion.tsv`` of the run,
both with a column ``framewise_displacement``. Censored volumes are left out of the series, or, in
the modes abcd and hbcd, interpolated. giga_connectome names no regions, and its sidecars may give
the mean framewise displacement.
"""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd

from notears_pfl.errors import MachineError, PflError, SignalError
from notears_pfl.io.bids_tree import NOT_OF_RUNS, BidsFile, BidsTree
from notears_pfl.io.series_files import RunTables
from notears_pfl.study.scans import choose_runs

# Framewise displacement above which a volume counts as moved, mm.
MOVED_MM = 0.5
FD = "framewise_displacement"
# Name of a run where file names give none.
ONLY_RUN = "run"
# The programs, by ``source.layout``, as sentences of methods name them.
PROGRAMS = {"xcpd": "XCP-D", "giga_connectome": "giga_connectome"}

# Name of a run, and its files: ``series`` and, if any, ``outliers``, ``motion``, ``sidecars``.
RunFiles = Mapping[str, Any]


def find_series(
    tree: BidsTree, folder: str, source: Mapping[str, Any]
) -> tuple[list[RunFiles], list[str]]:
    """Find the series of a subject's runs, in order; also return the problems."""
    tables = tree.files(folder, "func", "timeseries", (".tsv",))
    kept = [t for t in tables if t.entities.get("stat", "mean") == "mean"]
    single = [table for table in kept if not _joins_others(table, kept)]
    try:
        runs = choose_runs(single, source["bold"], source.get("runs", "all"), "table of series")
        return [_files_of(tree, run) for run in runs], []
    except MachineError:
        raise
    except PflError as error:
        return [], [str(error)]


def _joins_others(table: BidsFile, tables: list[BidsFile]) -> bool:
    """Whether a table without a run joins runs that have tables of their own."""
    return "run" not in table.entities and any(
        "run" in other.entities and _without(other, {"run", "dir"}) == table.entities
        for other in tables
    )


def _without(file: BidsFile, entities: Collection[str]) -> dict[str, str]:
    return {key: label for key, label in file.entities.items() if key not in entities}


def _files_of(tree: BidsTree, run: BidsFile) -> RunFiles:
    """Files of a run whose series are known."""
    name = run.run_name or ONLY_RUN
    files: dict[str, Any] = {"name": name, "series": run.path, "sidecars": tree.sidecars(run)}
    for suffix in ("outliers", "motion"):
        for file in tree.beside(run, suffix):
            if file.extension == ".tsv" and _without(file, {"desc"}) == _without(run, NOT_OF_RUNS):
                files[suffix] = file.path
    return files


def files_beside(run: RunFiles) -> list[str]:
    """Files that a run has beside its series."""
    tables = [run[name] for name in ("outliers", "motion") if name in run]
    return [*tables, *run.get("sidecars", [])]


def usable_series(own: RunTables, layout: str) -> pd.DataFrame | np.ndarray:
    """Series of a run without censored volumes; values alone if its columns are only counted."""
    if not layout or not isinstance(own.series, pd.DataFrame):
        return own.series
    series = without_censored(own.series, own.outliers)
    # giga_connectome names no regions.
    counted = all(str(name).isdigit() for name in series.columns)
    return series.to_numpy(dtype=float) if counted else series


def run_report(run: RunFiles, own: RunTables, n_volumes: int, layout: str) -> dict[str, Any]:
    """Report on a run whose series are usable."""
    report = {
        "status": "ok",
        "sources": [run[name] for name in ("series", "outliers", "motion") if name in run],
        "n_volumes": n_volumes,
    }
    if not layout:
        return report
    text = (
        f"ROI series were extracted and cleaned by {PROGRAMS[layout]} (see the methods text of its "
        "own report); censored volumes were left out."
    )
    # The program may have left censored volumes out of the series, but not out of the other tables.
    tables = (own.series, own.outliers, own.motion)
    acquired = max(len(table) for table in tables if table is not None)
    return (
        report
        | {"n_censored": acquired - n_volumes}
        | motion_figures(own.motion, own.sidecar)
        | {"methods": {"series": text}}
    )


def without_censored(series: pd.DataFrame, outliers: pd.DataFrame | None) -> pd.DataFrame:
    """Leave out volumes that are censored: marked as outliers, or without any number.

    ``outliers`` has a row for every volume before censoring; XCP-D may have left them out.
    """
    if outliers is not None:
        good = _column(outliers, "outliers") == 0
        if len(series) == len(good):
            series = series[good.to_numpy()]
        elif len(series) != int(good.sum()):
            msg = (
                f"the series have {len(series)} volumes, but {len(good)} were acquired and "
                f"{int(good.sum())} of them are not censored. Series and outliers are of different "
                "runs: copy both again."
            )
            raise SignalError(msg)
    return series.dropna(how="all").reset_index(drop=True)


def motion_figures(motion: pd.DataFrame | None, sidecar: Mapping[str, Any]) -> dict[str, float]:
    """Mean framewise displacement of a run, and the share of volumes above 0.5 mm, if known."""
    if motion is not None:
        fd = _column(motion, "motion").to_numpy()
        # The first volume has no predecessor.
        moved = np.nan_to_num(fd, nan=0.0)
        return {
            "mean_fd_power_mm": float(moved.mean()),
            "share_fd_power_mm_above_0.5": float((moved > MOVED_MM).mean()),
        }
    mean = sidecar.get("MeanFramewiseDisplacement")
    if isinstance(mean, int | float) and np.isfinite(mean):
        return {"mean_fd_power_mm": float(mean)}
    return {}


def _column(table: pd.DataFrame, what: str) -> pd.Series:
    if FD not in table or not pd.api.types.is_numeric_dtype(table[FD]):
        msg = (
            f"the table of {what} has no column of numbers {FD}; it has "
            f"{', '.join(map(str, table.columns))}. Copy it from XCP-D again."
        )
        raise SignalError(msg)
    return table[FD]
