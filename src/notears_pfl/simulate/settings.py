"""The settings of the three experiments of section 4."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import pandas as pd

Experiment = Literal["variables", "sites", "perturbation"]
EXPERIMENTS: tuple[Experiment, ...] = get_args(Experiment)


@dataclass(frozen=True)
class Setting:
    """One point of an experiment."""

    n_variables: int
    n_sites: int
    n_samples: int
    perturbation: float


def setting_of(experiment: Experiment, value: int) -> Setting:
    """Give the setting of ``experiment`` at ``value``: d, K, or the perturbation in percent."""
    match experiment:
        case "variables":
            return Setting(value, n_sites=10, n_samples=3 * value, perturbation=0.1)
        case "sites":
            return Setting(50, n_sites=value, n_samples=256, perturbation=0.1)
        case "perturbation":
            return Setting(30, n_sites=10, n_samples=90, perturbation=value / 100)


def list_runs(preset: Mapping[str, Any], designs: Sequence[str]) -> pd.DataFrame:
    """List the runs of a preset, one row each: experiment, value, weights, run (from 1).

    ``preset`` holds the values of each experiment and the number of ``runs`` at each of them.
    """
    return pd.DataFrame(
        [
            (experiment, value, design, run)
            for experiment in EXPERIMENTS
            for value in preset[experiment]
            for design in designs
            for run in range(1, preset["runs"] + 1)
        ],
        columns=["experiment", "value", "weights", "run"],
    )
