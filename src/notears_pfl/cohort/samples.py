"""Samples of a site and group: its subjects' series, scaled and concatenated."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from notears_pfl.autocorrelation import effective_sample_size
from notears_pfl.errors import CohortError
from notears_pfl.lazy import Lazy
from notears_pfl.runs import run_parts

Scale = Literal["subject", "roi"]

# A series is constant if its standard deviation is below this share of the subject's largest.
CONSTANT = 1e-10


@dataclass(frozen=True)
class Samples:
    """The samples that one site contributes to a fit.

    Parameters
    ----------
    x : ndarray of shape (n_samples, d)
        Concatenated series, centred per run and scaled.
    subjects : ndarray of shape (n_samples,)
        Whose volume each row is, counted from 0.
    runs : ndarray of shape (n_samples,)
        Of which run each row is, counted from 0 over all subjects.
    n_subjects : int
        Number of subjects.
    n_effective : float
        Number of independent samples that would estimate a correlation as precisely (mean over
        ROIs).
    """

    x: np.ndarray
    subjects: np.ndarray
    runs: np.ndarray
    n_subjects: int
    n_effective: float


def site_samples(series: Mapping[str, pd.DataFrame], scale: Scale) -> Samples:
    """Concatenate the series of a site's subjects.

    Parameters
    ----------
    series : mapping of str to DataFrame of shape (n_volumes, d)
        Clean series by subject, columns labelled by ROI. If a subject has several runs, the index
        names the run of every volume (``runs.by_run``): each is centred and scaled by itself, so
        that neither a step between runs nor another gain counts as signal, and no sample of one
        is a neighbour of another's.
    scale : {"subject", "roi"}
        ``subject`` divides each subject by one number, its root mean square over all ROIs: this
        removes scanner gain and keeps the ROIs' relative variances. ``roi`` gives every ROI of
        every subject unit variance. The directions of edges depend on this choice: report it.
    """
    parts, n_effective = [], 0.0
    own: list[int] = []
    for number, (subject, table) in enumerate(series.items()):
        for run in run_parts(table):
            x = run.to_numpy(dtype=float)
            x = x - x.mean(axis=0)
            sd = x.std(axis=0)
            _refuse_constant(subject, run.columns, sd)
            parts.append(x / (sd if scale == "roi" else np.sqrt(np.mean(sd**2))))
            n_effective += effective_sample_size(x)
            own.append(number)
    lengths = [len(part) for part in parts]
    return Samples(
        x=np.concatenate(parts),
        subjects=np.repeat(own, lengths),
        runs=np.repeat(np.arange(len(parts)), lengths),
        n_subjects=len(series),
        n_effective=n_effective,
    )


def run_series(series: Mapping[str, pd.DataFrame], scale: Scale) -> list[np.ndarray]:
    """Series of every run, centred and scaled as by ``site_samples``."""
    samples = site_samples(series, scale)
    return [samples.x[samples.runs == run] for run in np.unique(samples.runs)]


def scaled_series(series: Mapping[str, pd.DataFrame], scale: Scale) -> Mapping[str, pd.DataFrame]:
    """Series of every subject, each run centred and scaled as by ``site_samples``."""

    def scaled(name: str) -> pd.DataFrame:
        table = series[name]
        return pd.DataFrame(site_samples({name: table}, scale).x, columns=table.columns)

    return Lazy(series, scaled)


def _refuse_constant(subject: str, rois: pd.Index, sd: np.ndarray) -> None:
    flat = rois[~(sd > CONSTANT * np.max(sd, initial=0))]
    if len(flat):
        msg = (
            f"{subject}: the series of {', '.join(flat[:5])}{' …' if len(flat) > 5 else ''} "
            f"({len(flat)} of {len(rois)} ROIs) are constant, but must vary. "
            "Exclude the subject, or deselect the ROI."
        )
        raise CohortError(msg)
