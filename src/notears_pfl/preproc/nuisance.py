"""Nuisance regressors: named strategies of denoising, and the columns that each regresses out.

A strategy is a model of head motion, mean signals of tissues or of the whole brain, and components
of noise; or, for fMRIPrep's confounds, a set of their columns that nilearn chooses. Needs numpy
and pandas alone, as does ``clean``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from notears_pfl.acquisition import MOTION
from notears_pfl.errors import SignalError

Floats = NDArray[np.floating]

FRISTON_24 = tuple(
    f"{name}{suffix}" for suffix in ("", "_lag1", "_sq", "_lag1_sq") for name in MOTION
)
TISSUES = ("csf", "white_matter")
GLOBAL = "global_signal"
# Columns with the principal components of each tissue (aCompCor).
COMPONENTS = {
    "csf": tuple(f"c_comp_cor_{number:02}" for number in range(5)),
    "white_matter": tuple(f"w_comp_cor_{number:02}" for number in range(5)),
}
# Name of the set of columns that holds them, which fMRIPrep's versions name differently.
ACOMPCOR = "acompcor"
SIX = "the six head-motion parameters"
SPOKEN = {"csf": "CSF", "white_matter": "white matter", GLOBAL: "the whole brain (global signal)"}


def friston24(motion: Floats) -> Floats:
    """[R_t, R_{t-1}, R_t², R_{t-1}²] of ``motion`` (volumes, 6); Friston et al. 1996.

    The lag of the first volume, which has no predecessor, is zero, as in DPARSF.
    """
    lagged = np.vstack([np.zeros((1, motion.shape[1])), motion[:-1]])
    return np.hstack([motion, lagged, motion**2, lagged**2])


def with_derivatives(signals: pd.DataFrame) -> pd.DataFrame:
    """Add the temporal derivatives, under fMRIPrep's names; that of the first volume is zero."""
    change = signals - signals.shift(fill_value=0)
    change.iloc[:1] = 0
    return signals.join(change.add_suffix("_derivative1"))


def with_squares(signals: pd.DataFrame) -> pd.DataFrame:
    """Add the squares of all columns, under fMRIPrep's names."""
    return signals.join((signals**2).add_suffix("_power2"))


def _friston24(motion: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(friston24(motion.to_numpy()), columns=list(FRISTON_24))


def _satterthwaite(signals: pd.DataFrame) -> pd.DataFrame:
    return with_squares(with_derivatives(signals))


# Regressors of a model of head motion, and how the model is described.
MOTION_MODELS: Mapping[str, tuple[Callable[[pd.DataFrame], pd.DataFrame], str]] = {
    "none": (lambda motion: motion.iloc[:, :0], ""),
    "six": (pd.DataFrame.copy, SIX),
    "derivatives": (with_derivatives, f"{SIX} and their temporal derivatives"),
    "friston24": (_friston24, "the Friston 24-parameter model of head motion"),
    "satterthwaite": (
        _satterthwaite,
        f"{SIX}, their temporal derivatives, and the squares of both",
    ),
}


@dataclass(frozen=True)
class Strategy:
    """What a strategy regresses out.

    Parameters
    ----------
    motion : str
        One of ``MOTION_MODELS``.
    signals : tuple of str
        Mean signals: columns of the confounds.
    expanded : bool
        Whether these come with their temporal derivatives and the squares of both.
    chosen : str
        Set of columns that was chosen for the run when its confounds were written.
    """

    motion: str = "none"
    signals: tuple[str, ...] = ()
    expanded: bool = False
    chosen: str = ""


# Ciric et al. 2017 compare these; 36P and 32P are Satterthwaite et al. 2013, with and without the
# global signal.
STRATEGIES = {
    "none": Strategy(),
    "6P": Strategy("six"),
    "24P": Strategy("friston24"),
    "26P": Strategy("friston24", TISSUES),
    "32P": Strategy("satterthwaite", TISSUES, expanded=True),
    "36P": Strategy("satterthwaite", (*TISSUES, GLOBAL), expanded=True),
    "acompcor": Strategy("derivatives", chosen=ACOMPCOR),
    "acompcor_global": Strategy("derivatives", (GLOBAL,), chosen=ACOMPCOR),
}
# nilearn's strategies for fMRIPrep's confounds: how each is described.
NILEARN = {
    "simple": "head-motion parameters, their derivatives and the squares of both, mean signals of "
    "CSF and white matter, and cosines of slow drifts",
    "scrubbing": "head-motion parameters and mean signals of CSF and white matter, their "
    "derivatives and the squares of both, and cosines of slow drifts",
    "compcor": "head-motion parameters, their derivatives and the squares of both, the anatomical "
    "CompCor components that fMRIPrep retained, and cosines of slow drifts",
    "ica_aroma": "the components that ICA-AROMA marked as motion, mean signals of CSF and white "
    "matter, and cosines of slow drifts",
}
# Volumes that a strategy of nilearn removes.
EARLY = "volumes that fMRIPrep marked as before the steady state"
CENSORS = dict.fromkeys(NILEARN, EARLY) | {
    "scrubbing": "volumes with a framewise displacement above 0.5 mm or a standardised DVARS above "
    f"1.5, remaining segments of fewer than five volumes, and {EARLY} (nilearn)"
}
STRATEGIES |= {name: Strategy(chosen=name) for name in NILEARN}


@dataclass(frozen=True)
class Nuisance:
    """Nuisance regressors (volumes, p), and how they are described.

    ``censored`` are the volumes that the strategy itself removes, ``censors`` says which.
    """

    table: pd.DataFrame
    words: str
    censored: Sequence[int] = ()
    censors: str = ""


def strategy_of(section: Mapping[str, Any]) -> Strategy:
    """Strategy from the settings under ``preproc.clean``: motion and tissues replace its own."""
    strategy = STRATEGIES[section["strategy"]]
    if section["motion"] != "strategy":
        strategy = replace(strategy, motion=section["motion"])
    if section["tissues"] != "strategy":
        kept = tuple(name for name in strategy.signals if name not in TISSUES)
        strategy = replace(strategy, signals=(*section["tissues"], *kept))
    return strategy


def nuisance_regressors(
    motion: pd.DataFrame,
    confounds: pd.DataFrame,
    section: Mapping[str, Any],
    chosen: Mapping[str, Mapping[str, Any]],
) -> Nuisance:
    """Build the regressors of a run.

    Parameters
    ----------
    motion : DataFrame of shape (volumes, 6)
        Columns ``MOTION``.
    confounds : DataFrame
        A row per volume: mean signals, components and, for fMRIPrep's runs, all its columns.
    section : mapping
        The settings under ``preproc.clean``.
    chosen : mapping
        The run's own sets of columns by name: ``columns`` and ``censored`` volumes, or why there
        are none (``unavailable``).
    """
    strategy = strategy_of(section)
    six = motion[list(MOTION)]
    make, words = MOTION_MODELS[strategy.motion]
    signals = _columns(confounds, strategy.signals)
    if strategy.expanded:
        signals = _satterthwaite(signals)
    own = _chosen(strategy.chosen, chosen)
    everything = six.join(confounds[[name for name in confounds if name not in six]])
    named = _columns(everything, [*own.get("columns", ()), *section["columns"]])
    table = pd.concat([make(six), signals, named], axis=1)
    parts = [words, _signal_words(strategy), _chosen_words(strategy.chosen, own)]
    parts += [f"the columns {', '.join(section['columns'])}"] if section["columns"] else []
    return Nuisance(
        table.loc[:, ~table.columns.duplicated()],
        "; ".join(part for part in parts if part) or "none",
        own.get("censored", ()) if strategy.chosen in CENSORS else (),
        CENSORS.get(strategy.chosen, ""),
    )


def _chosen(name: str, sets: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    if not name:
        return {}
    found = sets.get(name, {"unavailable": "the run's report does not list them."})
    if "unavailable" in found:
        msg = (
            f"preproc.clean.strategy needs the confounds of {name}, which this run lacks: "
            f"{found['unavailable']} Choose another strategy or leave this subject out."
        )
        raise SignalError(msg)
    return found


def _columns(table: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Columns by name. What fMRIPrep cannot know of the first volume is that of the second."""
    absent = [name for name in names if name not in table]
    if absent:
        msg = (
            f"The confounds have no {', '.join(absent)} among their {table.shape[1]} columns. "
            "Choose another preproc.clean.strategy (or columns), or leave this subject out."
        )
        raise SignalError(msg)
    columns = table[list(dict.fromkeys(names))].apply(pd.to_numeric, errors="coerce")
    columns.iloc[:2] = columns.iloc[:2].bfill()
    unknown = [name for name in columns if not np.isfinite(columns[name]).all()]
    if unknown:
        msg = (
            f"No values of {', '.join(unknown)} in every volume: a mean signal or component has "
            "none if the subject has no pure voxels of its tissue. Choose another "
            "preproc.clean.strategy (or tissues, columns), or leave this subject out."
        )
        raise SignalError(msg)
    return columns


def _signal_words(strategy: Strategy) -> str:
    if not strategy.signals:
        return ""
    spoken = [SPOKEN[name] for name in strategy.signals]
    listed = " and ".join([", ".join(spoken[:-1]), spoken[-1]] if len(spoken) > 1 else spoken)
    if not strategy.expanded:
        return f"the mean signal{'s' if len(spoken) > 1 else ''} of {listed}"
    return f"the mean signals of {listed}, their temporal derivatives, and the squares of both"


def _chosen_words(name: str, own: Mapping[str, Any]) -> str:
    if name == ACOMPCOR:
        # Ten in all; fMRIPrep may have retained fewer of a tissue.
        number = "five" if sum("comp_cor" in c for c in own["columns"]) == 10 else "up to five"
        drifts = ", cosines of slow drifts" if any("cosine" in c for c in own["columns"]) else ""
        return f"the first {number} principal components each of CSF and white matter{drifts}"
    return f"nilearn's strategy {name} for fMRIPrep: {NILEARN[name]}" if name else ""
